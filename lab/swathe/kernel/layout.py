# SPDX-License-Identifier: GPL-2.0-only
"""Lines that a semantic patch adds, laid out as they are written in it.

spatch breaks and indents them in its own way. A rule that begins its lines with "+" and a tab, or
a label, means them as they stand: lines that follow each other are a block, which is looked for in
the result without regard to blanks, and put there as it is. Lines that begin with "+ " are left to
spatch.
"""

import difflib
import re
from collections.abc import Iterator

BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")


def blocks(rule: str) -> Iterator[str]:
    """Return the blocks of lines that are meant as they stand."""
    found: list[str] = []
    for line in [*rule.splitlines(), ""]:
        if line.startswith("+") and not line.startswith("+ "):
            found.append(line[1:])
        elif found:
            yield "\n".join(found)
            found = []


def squeezed(text: str) -> tuple[str, list[int]]:
    """Return text without blanks, and where each of its characters was."""
    places = [place for place, char in enumerate(text) if not char.isspace()]
    return "".join(text[place] for place in places), places


def added(before: str, after: str) -> list[tuple[int, int]]:
    """Return where the lines are that after has and before has not."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    begins = [0]
    for line in new:
        begins.append(begins[-1] + len(line))
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(begins[c], begins[d]) for tag, _, _, c, d in codes if tag != "equal" and d > c]


def places(block: str, before: str, after: str) -> Iterator[tuple[int, int]]:
    """Return where a block is among what was added, the last first."""
    wanted, _ = squeezed(block)
    text, where = squeezed(after)
    new = added(before, after)
    end = len(text)
    while wanted and (at := text.rfind(wanted, 0, end)) >= 0:
        first, last = where[at], where[at + len(wanted) - 1] + 1
        if any(first < there[1] and last > there[0] for there in new):
            yield first, last
        end = at


def as_written(rule: str, before: str, after: str) -> str:
    """Return the result of a rule with its blocks as the rule has them."""
    for block in blocks(rule):
        for first, last in list(places(block, before, after)):
            head, tail = after[:first].rstrip(" \t"), after[last:].lstrip(" \t")
            after = f"{above(head, block)}{block}{below(tail, block)}"
    return after


def above(text: str, block: str) -> str:
    """Return what precedes a block: a blank line that begins the block is the only one."""
    if block.startswith("\n"):
        return f"{text.rstrip()}\n"
    return text if not text or text.endswith("\n") else f"{text}\n"


def below(text: str, block: str) -> str:
    """Return what follows a block: a blank line that ends the block is the only one."""
    if block.endswith("\n"):
        return "\n" + BLANK_LINES.sub("", text)
    return text if not text or text.startswith("\n") else f"\n{text}"
