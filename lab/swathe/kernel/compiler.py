# SPDX-License-Identifier: GPL-2.0-only
"""Compile the programs that go into a guest, once for each content."""

import contextlib
import functools
import hashlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from swathe.base import process
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, OVERLAY, ROOT, SELFTESTS

MAIN = re.compile(r"^int main\(|^TEST_HARNESS_MAIN", re.MULTILINE)
FLAGS = ("-O2", "-Wall", "-Wextra")
NATIVE = "gcc"
# What programs of several directories include: a change of one makes all programs anew.
SHARED = (ROOT / "include", "*.h"), (OVERLAY / SELFTESTS, "swap_area.h")


@functools.cache
def version(compiler: str) -> str:
    """The compiler's own first line about itself."""
    return process.run([compiler, "--version"], quiet=True).output.splitlines()[0]


def compile_program(
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    headers: Sequence[Path] = (),
    compiler: str = NATIVE,
    libraries: Sequence[str] = (),
) -> Path:
    """The static program made from C files, named like the first; headers are what they include."""
    name = sources[0].stem
    return compile_c(sources, ("-static", *flags), headers, name, compiler, libraries)


def compile_c(
    sources: Sequence[Path],
    flags: Sequence[str],
    headers: Sequence[Path],
    name: str,
    compiler: str = NATIVE,
    libraries: Sequence[str] = (),
) -> Path:
    """What these C files make, kept under its name in a directory for their content."""
    words = [version(compiler), *FLAGS, *flags, *libraries]
    digest = hashlib.sha256(" ".join(words).encode())
    for path in [*sources, *sorted(headers), *shared_headers()]:
        digest.update(path.read_bytes())
    program = BUILD / "bin" / digest.hexdigest()[:16] / name
    if program.is_file():
        return program
    with partial(program) as unfinished:
        argv = [compiler, *FLAGS, *flags, "-o", str(unfinished), *map(str, sources), *libraries]
        done = process.run(argv, timeout=120)
        if not done.ok:
            errors = [line for line in done.output.splitlines() if " error: " in line]
            reason = errors[0] if errors else process.last_line(done.output)
            raise CheckFailed(f"{sources[0].name} does not compile: {reason}")
    return program


def shared_headers() -> list[Path]:
    return [path for home, pattern in SHARED for path in sorted(home.glob(pattern))]


@contextlib.contextmanager
def partial(program: Path) -> Iterator[Path]:
    """What is to become this program: two processes, or two threads, may make it at a time."""
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"{program.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    yield unfinished
    unfinished.rename(program)


def plugin(directory: Path, api: int) -> Path:
    """The QEMU plugin made from a directory's C files, for one version of the interface."""
    files = sorted(directory.glob("*.c"))
    flags = ("-shared", "-fPIC", "-fvisibility=hidden", f"-DPLUGIN_API={api}")
    return compile_c(files, flags, sorted(directory.glob("*.h")), f"{directory.name}.so")


def programs(directory: Path, flags: Sequence[str] = (), compiler: str = NATIVE) -> dict[str, Path]:
    """Every program of a directory: a C file with a main(), and those that it is linked with.

    Files of lib/ are linked with every program.
    """
    files = sorted([*directory.glob("*.c"), *directory.glob("lib/*.c")])
    mains = [path for path in files if MAIN.search(path.read_text())]
    headers = sorted([*directory.glob("*.h"), *directory.glob("lib/*.h")])
    return {
        main.stem: compile_program(parts(main, mains, files), flags, headers, compiler)
        for main in mains
    }


def parts(main: Path, mains: Sequence[Path], files: Sequence[Path]) -> list[Path]:
    """A program's files: NAME.c, all NAME_*.c, and what no other program owns."""
    others = [path for path in mains if path != main]

    def belongs_elsewhere(path: Path) -> bool:
        return any(path.stem.startswith(f"{other.stem}_") for other in others)

    rest = [path for path in files if path not in mains and not belongs_elsewhere(path)]
    return [main, *rest]
