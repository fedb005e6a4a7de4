# SPDX-License-Identifier: GPL-2.0-only
"""What a hook changes in a file: the number of places and lines, and the functions."""

import difflib
import re
from dataclasses import dataclass

# The head or declaration of a function: it starts in column 0 with a name and a
# parenthesis. Labels, macros and comments do not match.
HEAD = re.compile(r"^(?!#|/|\s)[A-Za-z_][\w\s*]*?\b(\w+)\s*\(")
# A function's head whose return type is in the line before.
TYPE = re.compile(r"^[A-Za-z_][\w\s*]*$")
NAME = re.compile(r"^(\w+)\(")
PREFIX = "stock_"


@dataclass(frozen=True)
class Change:
    """One added or removed line, and the function it is in."""

    added: bool
    text: str
    function: str


@dataclass(frozen=True)
class Shape:
    """All changes between two versions of one file."""

    changes: tuple[Change, ...]
    places: int

    def repeats(self, before: str) -> bool:
        """Whether every added line is already in the same function of before, and stays there."""
        lines = before.splitlines()
        there = {(line.strip(), name) for line, name in zip(lines, owners(lines), strict=True)}
        there -= {(gone.text.strip(), gone.function) for gone in self.changes if not gone.added}
        new = [change for change in self.changes if change.added]
        return bool(new) and all((change.text.strip(), change.function) in there for change in new)

    @property
    def added(self) -> int:
        return sum(change.added for change in self.changes)

    @property
    def removed(self) -> int:
        return len(self.changes) - self.added

    def outside(self, functions: tuple[str, ...]) -> list[Change]:
        """The changes outside these functions; #include and blank lines do not count."""
        return [
            change
            for change in self.changes
            if change.function.removeprefix(PREFIX) not in functions
            and not change.text.startswith("#include")
            and change.text.strip()
        ]


def owners(lines: list[str]) -> list[str]:
    """Return for each line the function it is in, judged by its layout."""
    found: list[str] = []
    current = before = ""
    for line in lines:
        split = TYPE.match(before) and NAME.match(line)
        match = HEAD.match(line) or split
        if match:
            current = match[1]
        if split:
            found[-1] = current
        found.append(current)
        before = line
    return found


def compare(before: str, after: str) -> Shape:
    """Return the lines that differ between the texts; adjacent ones count as one place."""
    old, new = before.splitlines(), after.splitlines()
    old_owner, new_owner = owners(old), owners(new)
    changes: list[Change] = []
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    places = [code[1:] for code in codes if code[0] != "equal"]
    for a, b, c, d in places:
        changes += [Change(False, old[i], old_owner[i]) for i in range(a, b)]
        changes += [Change(True, new[i], new_owner[i]) for i in range(c, d)]
    return Shape(tuple(changes), len(places))
