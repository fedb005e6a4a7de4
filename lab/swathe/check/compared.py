# SPDX-License-Identifier: GPL-2.0-only
"""Whether a flavor's options are those of a distribution's kernel.

The rule: every option that the named Kconfig files define has the distribution's value, unless
configurations.toml says why not. A module of the distribution may be missing or built in.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from swathe.base.errors import CheckFailed

DEFINED = re.compile(r"^\s*(?:menu)?config\s+(\w+)", re.MULTILINE)
MODULE, NO = "m", "n"
Options = Mapping[str, str]


class Exemption(Struct, frozen=True, forbid_unknown_fields=True):
    """Options that have another value, and why; "*" stands for any letters."""

    why: str
    options: tuple[str, ...]


class ComparedEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A flavor and the configuration that it is compared with, as configurations.toml has them."""

    name: str
    arch: str
    start: str
    why: str
    kconfig: tuple[str, ...]
    exempt: tuple[Exemption, ...] = ()

    @property
    def patterns(self) -> list[str]:
        return [f"CONFIG_{name}" for each in self.exempt for name in each.options]


@dataclass(frozen=True)
class Findings:
    """How many options were compared, how many are exempt, and what is wrong."""

    compared: int
    exempt: int
    wrong: tuple[str, ...]


def defined(tree: Path, places: Iterable[str]) -> set[str]:
    """Return the options that Kconfig files define; a place is a file, or a directory of them."""
    found: set[str] = set()
    for place in places:
        files = kconfig_files(tree / place)
        if not files:
            raise CheckFailed(f"{tree.name} has no Kconfig file {place}")
        for path in files:
            found |= {f"CONFIG_{name}" for name in DEFINED.findall(path.read_text())}
    return found


def kconfig_files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [path for path in sorted(place.rglob("Kconfig*")) if path.is_file()]


def differing(ours: Options, theirs: Options, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return their and our value of each option that has different ones."""
    pairs = {name: (theirs.get(name, NO), ours.get(name, NO)) for name in sorted(names)}
    return {name: pair for name, pair in pairs.items() if pair[0] not in (MODULE, pair[1])}


def compare(entry: ComparedEntry, tree: Path, ours: Options, theirs: Options) -> Findings:
    """Compare all options that the rule is for."""
    names = defined(tree, entry.kconfig)
    found = differing(ours, theirs, names)
    other = {name: pair for name, pair in found.items() if not matches(name, entry.patterns)}
    wrong = [
        f"{name} is {mine} here and {distros} there" for name, (distros, mine) in other.items()
    ]
    wrong += unused_exemptions(entry.patterns, found)
    return Findings(len(names), len(found) - len(other), tuple(wrong))


def matches(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def unused_exemptions(patterns: Iterable[str], found: Iterable[str]) -> list[str]:
    """Exemptions that exempt nothing are mistakes, or have become so."""
    return [
        f"{pattern} is exempt, but has the same value"
        for pattern in patterns
        if not any(fnmatchcase(name, pattern) for name in found)
    ]
