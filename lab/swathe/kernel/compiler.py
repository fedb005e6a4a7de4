# SPDX-License-Identifier: GPL-2.0-only
"""Compile the programs for a guest; a binary is reused until its source changes."""

import contextlib
import functools
import hashlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from swathe.base import parallel, process
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, OVERLAY, ROOT, SELFTESTS

MAIN = re.compile(r"^int main\(|^TEST_HARNESS_MAIN", re.MULTILINE)
FLAGS = ("-O2", "-Wall", "-Wextra")
NATIVE = "gcc"
# Headers shared by several directories: if one changes, all programs are recompiled.
SHARED = (ROOT / "include", "*.h"), (OVERLAY / SELFTESTS / "lib", "swap_area.h")
# Where the files of programs lie in their directory; in PARTS each program has its own.
PARTS = "parts"
PLACES = ".", "lib", f"{PARTS}/*"


@functools.cache
def version(compiler: str) -> str:
    """Return the first line of the compiler's --version."""
    return process.run([compiler, "--version"], quiet=True).output.splitlines()[0]


def compile_program(
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    headers: Sequence[Path] = (),
    compiler: str = NATIVE,
    libraries: Sequence[str] = (),
) -> Path:
    """Compile C files into a static program named like the first; headers count as source, too."""
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
    """Compile C files; the result is kept in a directory named by a hash of their content."""
    words = [version(compiler), *FLAGS, *flags, *libraries]
    digest = hashlib.sha256(" ".join(words).encode())
    for path in [*sources, *sorted(headers), *shared_headers()]:
        digest.update(path.read_bytes())
    program = BUILD / "bin" / digest.hexdigest()[:16] / name
    if program.is_file():
        return program
    with partial(program) as unfinished:
        argv = [compiler, *FLAGS, *flags, "-o", str(unfinished), *map(str, sources), *libraries]
        done = process.run(argv, timeout=1200)
        if not done.ok:
            errors = [line for line in done.output.splitlines() if " error: " in line]
            reason = errors[0] if errors else process.last_line(done.output)
            raise CheckFailed(f"{sources[0].name} does not compile: {reason}")
    return program


def shared_headers() -> list[Path]:
    return [path for home, pattern in SHARED for path in sorted(home.glob(pattern))]


@contextlib.contextmanager
def partial(program: Path) -> Iterator[Path]:
    """Yield a temporary path to be renamed to program: others may compile it at the same time."""
    program.parent.mkdir(parents=True, exist_ok=True)
    unfinished = program.with_name(f"{program.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        yield unfinished
        unfinished.rename(program)
    finally:
        unfinished.unlink(missing_ok=True)


def plugin(directory: Path, api: int, shared: Sequence[Path] = ()) -> Path:
    """Compile a directory's C files, and shared ones of others, into a QEMU plugin for one version
    of the plugin API.
    """
    files = [*sorted(directory.glob("*.c")), *shared]
    headers = [path for home in {file.parent for file in files} for path in home.glob("*.h")]
    flags = ("-shared", "-fPIC", "-fvisibility=hidden", f"-DPLUGIN_API={api}")
    return compile_c(files, flags, sorted(headers), f"{directory.name}.so")


def programs(directory: Path, flags: Sequence[str] = (), compiler: str = NATIVE) -> dict[str, Path]:
    """Compile every program of a directory: each C file with a main() makes one.

    Every program is linked with the files of lib/, and with its other parts: see parts().
    """
    files = in_places(directory, "*.c")
    mains = [path for path in files if MAIN.search(path.read_text())]
    headers = in_places(directory, "*.h")

    def make(main: Path) -> Path:
        return compile_program(parts(main, mains, files), flags, headers, compiler)

    made = parallel.each(make, mains)
    return {main.stem: program for main, program in zip(mains, made, strict=True)}


def in_places(directory: Path, pattern: str) -> list[Path]:
    return sorted(path for place in PLACES for path in directory.glob(f"{place}/{pattern}"))


def parts(main: Path, mains: Sequence[Path], files: Sequence[Path]) -> list[Path]:
    """Return a program's files: NAME.c, all NAME_*.c and parts/NAME/*.c, and the files of no
    other program.
    """
    others = [path for path in mains if path != main]

    def belongs_elsewhere(path: Path) -> bool:
        if path.parent.parent.name == PARTS:
            return path.parent.name != main.stem
        return any(path.stem.startswith(f"{other.stem}_") for other in others)

    rest = [path for path in files if path not in mains and not belongs_elsewhere(path)]
    return [main, *rest]
