# SPDX-License-Identifier: GPL-2.0-only
"""Which of the kernel's own tests are run, and which fail in stock: kselftests.toml."""

import functools
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct, field, structs

from swathe.base import reading
from swathe.base.errors import CheckFailed
from swathe.kernel.version import Version, in_range

FILE = Path(__file__).with_name("kselftests.toml")
PART = "kselftests"
SETS = ("default", "full")


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """One program with its arguments, as kselftests.toml has it."""

    program: str
    limit: int
    args: tuple[str, ...] = ()
    set: str = "default"
    prepare: str = ":"
    include: str = ""
    max: str = ""
    polls: bool = False

    @property
    def name(self) -> str:
        return " ".join([self.program, *self.args])

    def given(self, patience: int) -> "Entry":
        """The same where tests take so many times as long."""
        return structs.replace(self, limit=self.limit * patience)

    def is_for(self, kernel: str) -> bool:
        return in_range(Version.parse(kernel), "", self.max)


class Known(Struct, frozen=True, forbid_unknown_fields=True):
    """A failure in stock, and its reason."""

    test: str
    case: str
    reason: str
    unsteady: bool = False
    arch: str = ""

    def means(self, test: str, case: str) -> bool:
        return self.test == test and fnmatchcase(case, self.case)


class Catalogue(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of kselftests.toml."""

    entries: tuple[Entry, ...] = field(name="test")
    known: tuple[Known, ...] = ()

    def chosen(self, names: Iterable[str], full: bool) -> tuple[Entry, ...]:
        """The entries that names mean: a program, or the whole part. The slow ones come last."""
        wanted = set(names)
        sets = SETS if full else SETS[:1]
        found = [
            entry for entry in self.entries
            if entry.program in wanted or (PART in wanted and entry.set in sets)
        ]  # fmt: skip
        return tuple(sorted(found, key=lambda entry: SETS.index(entry.set)))

    def on(self, arch: str) -> "Catalogue":
        """The same with the failures of one architecture."""
        known = tuple(item for item in self.known if item.arch in ("", arch))
        return structs.replace(self, known=known)

    def reason(self, test: str, case: str) -> Known | None:
        return next((known for known in self.known if known.means(test, case)), None)


def parse(text: str) -> Catalogue:
    """Unknown keys are errors: a misspelt one would do nothing."""
    found = reading.convert(reading.toml(text, FILE.name), Catalogue, FILE.name)
    names = [entry.name for entry in found.entries]
    for name in [*names, *(item.test for item in found.known)]:
        if names.count(name) != 1:
            raise CheckFailed(f"{FILE.name}: {name!r} is there {names.count(name)} times")
    for entry in found.entries:
        if entry.set not in SETS:
            raise CheckFailed(f"{FILE.name}: {entry.name}: no set is called {entry.set!r}")
    return found


@functools.cache
def load() -> Catalogue:
    return parse(FILE.read_text())


def programs() -> list[str]:
    """The programs that can be named."""
    return list(dict.fromkeys(entry.program for entry in load().entries))
