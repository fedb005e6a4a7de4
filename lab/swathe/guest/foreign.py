# SPDX-License-Identifier: GPL-2.0-only
"""Debian's packages of an architecture whose programs the host cannot run.

Guests run programs from them, and the kernel's own tests are linked with their libraries.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import process
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import BUILD, locked, scratch
from swathe.kernel import apt
from swathe.kernel.arch import Arch

NEEDED = re.compile(r"\(NEEDED\) +Shared library: \[(.+)\]")
LOADER = re.compile(r"\[Requesting program interpreter: (/.+)\]")
# Where the C library's loader looks last, on Debian, too.
IN_GUEST = Path("/lib")


@dataclass(frozen=True)
class Root:
    """A directory in which packages are unpacked: what a linker calls a sysroot."""

    path: Path
    target: Arch

    def find(self, name: str) -> Path:
        """Return a file of this name from the directories of libraries."""
        for top in (self.path / "lib", self.path / "usr" / "lib"):
            for directory in (top, *sorted(top.glob("*-linux-gnu*"))):
                if (directory / name).exists():
                    return (directory / name).resolve()
        raise EnvironmentLacks(f"no package for {self.target.name} has {name}")

    def libraries(self, program: Path) -> dict[str, Path]:
        """Return what a program is loaded with, by its place in the guest."""
        found: dict[str, Path] = {}
        waiting = [program]
        while waiting:
            done = process.run(["readelf", "-W", "-d", "-l", str(waiting.pop())], quiet=True)
            for place in LOADER.findall(done.output):
                found[place] = self.find(Path(place).name)
            for name in NEEDED.findall(done.output):
                if name not in {Path(place).name for place in found}:
                    found[str(IN_GUEST / name)] = self.find(name)
                    waiting.append(self.find(name))
        return found


def root(target: Arch, packages: Sequence[str]) -> Root:
    """Return a directory with these packages; they are fetched once."""
    kept = BUILD / "foreign" / target.name / "_".join(packages)
    with locked(f"foreign-{target.name}"):
        if not kept.is_dir():
            with scratch("foreign") as directory:
                made = directory / "root"
                made.mkdir()
                apt.unpack_foreign(packages, target.name, made)
                kept.parent.mkdir(parents=True, exist_ok=True)
                made.rename(kept)
    return Root(kept, target)
