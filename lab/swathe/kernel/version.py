# SPDX-License-Identifier: GPL-2.0-only
"""Kernel versions and half-open ranges of them."""

import re
from dataclasses import dataclass
from pathlib import Path

from swathe.base.errors import UsageError


@dataclass(frozen=True, order=True)
class Version:
    """6.12.117 as three numbers; 6.12 means 6.12.0."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> "Version":
        match = re.fullmatch(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if not match:
            raise UsageError(f"{text!r} is not a kernel version such as 6.12 or 6.12.117")
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    @property
    def series(self) -> str:
        """The series, such as 6.12 for 6.12.117."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def in_range(version: Version, low: str, high: str) -> bool:
    """Whether low <= version < high; an empty one means no limit."""
    if low and version < Version.parse(low):
        return False
    return not high or version < Version.parse(high)


def of_tree(tree: Path) -> Version:
    """Return the version that a kernel tree's Makefile declares."""
    makefile = tree / "Makefile"
    if not makefile.is_file() or not (tree / "mm" / "rmap.c").is_file():
        raise UsageError(f"{tree} is not a Linux source tree (no Makefile or no mm/rmap.c)")
    head = makefile.read_text(errors="replace")[:2000]
    found = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE))
    if not {"VERSION", "PATCHLEVEL"} <= found.keys():
        raise UsageError(f"{makefile} does not declare a kernel version")
    return Version(int(found["VERSION"]), int(found["PATCHLEVEL"]), int(found.get("SUBLEVEL", "0")))
