# SPDX-License-Identifier: GPL-2.0-only
"""Build the kernel's own selftests, unchanged, outside its tree.

Their makefiles write beside their sources. So what is built is a copy: the
directories of the wanted targets and the files they share are copied, all
else of the tree is there as links.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import parallel, process, ui
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import BUILD, locked, scratch
from swathe.kernel import compiler
from swathe.kernel.arch import X86_64, Arch

SELFTESTS = Path("tools/testing/selftests")
# What the tests include beside the kernel's own headers, and the package that has it.
HEADERS = {"numa.h": "libnuma-dev", "sys/capability.h": "libcap-dev"}
INCLUDE = Path("usr/include")


@dataclass(frozen=True)
class Tree:
    """A kernel tree, its installed user-space headers, and the targets that are wanted.

    target: what the programs are compiled for; system: where its own headers and libraries are
    """

    path: Path
    headers: Path
    targets: tuple[str, ...]
    target: Arch = X86_64
    system: Path = Path("/")

    def words(self) -> list[str]:
        """What make is told beside the goals."""
        if not self.target.foreign:
            return []
        return [*self.target.make, f"CC={self.target.compiler} --sysroot={self.system}"]


def target(program: str) -> str:
    """The directory below tools/testing/selftests that a program comes from."""
    return program.split("/")[0]


def require_headers(system: Path) -> None:
    """Without these a test would not compile, and nobody would notice that it is missing."""
    include = system / INCLUDE
    lacking = [package for name, package in HEADERS.items() if not (include / name).is_file()]
    if lacking:
        raise EnvironmentLacks(
            f"{' '.join(lacking)} must be installed to build the kernel's own tests; "
            f"./swathe installs it when run as root"
        )


def copied(tree: Tree) -> Iterator[Path]:
    """The files that are copied, relative to the tree: those of the targets, and the shared."""
    top = tree.path / SELFTESTS
    found = [path for path in top.iterdir() if path.is_file()]
    for name in tree.targets:
        found += [path for path in (top / name).rglob("*") if path.is_file()]
    yield from sorted(path.relative_to(tree.path) for path in found)


def digest(tree: Tree, extra: Mapping[str, str]) -> str:
    """A checksum of all that the programs are made from, as far as it can change."""
    made = [compiler.version(tree.target.compiler), *tree.words(), str(tree.headers)]
    words = [*made, *map(str, sorted(extra.items()))]
    found = hashlib.sha256(" ".join(words).encode())
    found.update((tree.headers / "linux" / "version.h").read_bytes())
    for path in copied(tree):
        found.update(str(path).encode() + b"\0" + (tree.path / path).read_bytes())
    return found.hexdigest()[:16]


def link_siblings(source: Path, copy: Path, inside: Path) -> None:
    """Beside each part of the path inside, links to what the tree has there."""
    for directory in [Path(), *reversed(inside.parents[:-1]), inside]:
        (copy / directory).mkdir(parents=True, exist_ok=True)
        for entry in (source / directory).iterdir():
            here = copy / directory / entry.name
            if not here.exists() and not inside.is_relative_to(directory / entry.name):
                here.symlink_to(entry)


def lay_out(tree: Tree, copy: Path) -> None:
    """Make the copy."""
    for path in copied(tree):
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree.path / path, copy / path)
    link_siblings(tree.path, copy, SELFTESTS)


def log(name: str) -> Path:
    """What make said of a target."""
    return BUILD / "log" / f"selftests-{name}.log"


def make(tree: Tree, copy: Path, name: str, more: Iterable[str] = ()) -> str:
    """Make a target's programs, or those of them that are named; those that do not compile miss.

    Return what make said.
    """
    home = copy / SELFTESTS / name
    jobs = parallel.processors()
    argv = ["make", "-k", f"-j{jobs}", "-C", str(home), f"OUTPUT={home}", *tree.words()]
    done = process.run([*argv, f"KHDR_INCLUDES=-isystem {tree.headers}", *more], timeout=1200)
    log(name).parent.mkdir(parents=True, exist_ok=True)
    with log(name).open("a" if more else "w") as file:
        file.write(done.output)
    return done.output


def programs_in(copy: Path, targets: Iterable[str]) -> dict[str, Path]:
    """What was made, as TARGET/NAME."""
    found = {}
    for name in targets:
        for path in sorted((copy / SELFTESTS / name).iterdir()):
            if path.is_file() and path.read_bytes()[:4] == b"\x7fELF" and os.access(path, os.X_OK):
                found[f"{name}/{path.name}"] = path
    return found


def build(tree: Tree, extra: Mapping[str, str]) -> dict[str, Path]:
    """All programs of the targets. extra names headers that a program forgets to include."""
    require_headers(tree.system)
    home = BUILD / "selftests" / digest(tree, extra)
    with locked("selftests"):
        if not home.is_dir():
            ui.note(f"building the kernel's own tests: {' '.join(tree.targets)}")
            with scratch("selftests") as directory:
                # The final name is in no program: only make looks at paths.
                copy = directory / "tree"
                lay_out(tree, copy)
                make_all(tree, copy, extra)
                home.parent.mkdir(parents=True, exist_ok=True)
                copy.rename(home)
    return programs_in(home, tree.targets)


def build_single(tree: Tree, programs: Sequence[str], copy: Path) -> str:
    """Build single programs of the targets in a copy of their own; return what make said."""
    require_headers(tree.system)
    lay_out(tree, copy)
    home = copy / SELFTESTS
    return "".join(make(tree, copy, target(name), [str(home / name)]) for name in programs)


def make_all(tree: Tree, copy: Path, extra: Mapping[str, str]) -> None:
    for name in tree.targets:
        make(tree, copy, name)
    for program, header in extra.items():
        path = copy / SELFTESTS / program
        if path.with_name(f"{path.name}.c").is_file() and not path.is_file():
            flag = f"EXTRA_CFLAGS=-include {copy / SELFTESTS / header}"
            make(tree, copy, target(program), [flag, str(path)])
