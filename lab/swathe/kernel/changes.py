# SPDX-License-Identifier: GPL-2.0-only
"""What a hook changes in a file: the number of places and lines, and the functions."""

import difflib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

# The head or declaration of a function: it starts in column 0 with a name and a
# parenthesis. Labels, macros and comments do not match.
HEAD = re.compile(r"^(?!#|/|\s)[A-Za-z_][\w\s*]*?\b(\w+)\s*\(")
# A function's head whose return type is in the line before.
TYPE = re.compile(r"^[A-Za-z_][\w\s*]*$")
NAME = re.compile(r"^(\w+)\(")
PREFIX = "stock_"
CONTEXT = 3
LONGEST_HEAD = 80
NO_NEWLINE = "\\ No newline at end of file"
# What SequenceMatcher says of two stretches: same or not, and their limits in both texts.
Opcode = tuple[str, int, int, int, int]


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
        """Whether every added line is already in the same function of before."""
        lines = before.splitlines()
        there = {(line.strip(), name) for line, name in zip(lines, owners(lines), strict=True)}
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
    found, current, before = [], "", ""
    for line in lines:
        match = HEAD.match(line) or (TYPE.match(before) and NAME.match(line))
        if match:
            current = match[1]
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


def diff(path: str, before: str, after: str) -> str:
    """Return a unified diff that "patch -p1" accepts."""
    changed = hunks(before, after)
    return f"--- a/{path}\n+++ b/{path}\n{changed}" if changed else ""


def hunks(before: str, after: str) -> str:
    """Return the hunks of a unified diff; their heads name functions, as those of git do."""
    old, new = split(before), split(after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return "".join(hunk(group, old, new) for group in matcher.get_grouped_opcodes(CONTEXT))


def split(text: str) -> list[str]:
    """Return the lines with their ends. Form feeds end no line, as in diff and patch."""
    return io.StringIO(text).readlines()


def hunk(group: Sequence[Opcode], old: list[str], new: list[str]) -> str:
    """Return one hunk: its head, and its lines with what each of them is."""
    first, last = group[0], group[-1]
    head = f"@@ -{span(first[1], last[2])} +{span(first[3], last[4])} @@"
    lines = [f"{head}{enclosing(old[: first[1]])}\n"]
    for tag, a, b, c, d in group:
        if tag == "equal":
            lines += [marked(" ", line) for line in old[a:b]]
        else:
            lines += [marked("-", line) for line in old[a:b]]
            lines += [marked("+", line) for line in new[c:d]]
    return "".join(lines)


def span(start: int, end: int) -> str:
    """Return lines start to end, counted from 0, as the head of a hunk names them."""
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def enclosing(above: list[str]) -> str:
    """Return the last line above a hunk that begins a function, to follow the hunk's head."""
    heads = (line for line in reversed(above) if HEAD.match(line) or NAME.match(line))
    found = next(heads, "").rstrip()
    return f" {found[:LONGEST_HEAD]}" if found else ""


def marked(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{NO_NEWLINE}\n"
