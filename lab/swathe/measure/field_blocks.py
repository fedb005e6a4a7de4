# SPDX-License-Identifier: GPL-2.0-only
"""Read the blocks of text that swathe-field prints, as they come in mails.

Quoting, other line ends and other white space do no harm: the checksum is that of the
words. A block that lost a line, or in which a figure was changed, is refused.
"""

import math
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base.errors import CheckFailed, UsageError

VERSION = 3
QUOTES = re.compile(r"^[\s>|]*")
BEGIN = re.compile(r"----- swathe-field (\d+): from here .* -----$")
END = re.compile(r"----- swathe-field \d+: end -----$")
CHECKSUM = re.compile(r"checksum: ([0-9a-f]{8})$")
HEAD = re.compile(r"([a-z][a-z ]*): (.*)")
MORE = "+ "
ROW, ROWS = "row", "rows"
TIMES, COUNTS, EVENTS = "times", "counts", "events"
# What processors count, by the names that the figures have.
EVENT_NAMES = ("cycles", "instructions", "l1d", "l2", "llc", "dtlb", "dtlb_store")
# What the figures of a row are called, in the order of a table's columns.
KEYS = {
    TIMES: ("off", "off_mad", "on", "on_mad", "change", "from", "to"),
    COUNTS: ("pages_off", "tlb_off", "tlb_on", "calls_off", "calls_on", "vmpte_off", "vmpte_on"),
    EVENTS: tuple(f"{name}_{state}" for name in EVENT_NAMES for state in ("off", "on")),
}
# A figure with this mark was scaled up: the event shared a counter with others.
SCALED = "~"
# What stands in no table.
UNSHOWN = {"pages_on"}
KNOWN = UNSHOWN.union(*KEYS.values())
# The only state of a machine whose switch cannot be flipped stands where off does.
ALONE, FIRST = "now", "off"
# Columns of TIMES and COUNTS.
TIME_OFF, TIME_ON, CHANGE, LOW, HIGH = 0, 2, 4, 5, 6
VMPTE_OFF, VMPTE_ON = 5, 6
Values = tuple[float | None, ...]


@dataclass(frozen=True)
class FieldBlock:
    """What one machine's block says: heads in their order, and rows by table and name.

    TIMES: off, its deviation, on, its deviation, change, and the bounds of its interval;
    COUNTS: pages, and off and on of flush interrupts, call interrupts and VmPTE;
    EVENTS: off and on of each of EVENT_NAMES; scaled holds row and column of estimates.
    """

    name: str
    heads: tuple[tuple[str, str], ...]
    tables: Mapping[str, Mapping[str, Values]]
    scaled: frozenset[tuple[str, int]] = frozenset()

    @property
    def rows(self) -> list[str]:
        return list(self.tables[TIMES])

    def value(self, table: str, row: str, column: int) -> float | None:
        values = self.tables[table].get(row)
        return values[column] if values else None

    def beyond(self, row: str) -> bool:
        """Whether a row's change is more than noise: 0 is not in its interval."""
        low, high = (self.value(TIMES, row, column) for column in (LOW, HIGH))
        return low is not None and high is not None and (low > 0 or high < 0)


def of_text(text: str, name: str) -> list[FieldBlock]:
    """Return the blocks of a text; messages about it begin with the name."""
    found = list(blocks(text.splitlines(), name))
    if not found:
        raise CheckFailed(f"{name} holds no block of swathe-field")
    return [parse(lines, name) for lines in found]


def read(paths: Sequence[Path]) -> list[FieldBlock]:
    """Return the blocks of all files; each has the name of its file."""
    return [block for path in paths for block in read_file(path)]


def read_file(path: Path) -> list[FieldBlock]:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    found = of_text(path.read_text(encoding="utf-8", errors="surrogateescape"), str(path))
    names = [path.stem] if len(found) == 1 else [f"{path.stem} {n + 1}" for n in range(len(found))]
    return [replace(block, name=name) for block, name in zip(found, names, strict=True)]


def unquoted(line: str) -> str:
    """The line without marks of quoting; HTML mails have other spaces."""
    return QUOTES.sub("", line.replace("\N{NO-BREAK SPACE}", " ")).rstrip()


def blocks(lines: Sequence[str], where: str) -> Iterator[list[str]]:
    """The lines of each block, from its first to its checksum."""
    block: list[str] = []
    for line in map(unquoted, lines):
        if BEGIN.search(line):
            if block:
                raise cut(where)
            block = [line]
        elif block and END.search(line):
            yield block
            block = []
        elif block and line:
            block.append(line)
    if block:
        raise cut(where)


def cut(where: str) -> CheckFailed:
    return CheckFailed(f"{where}: a block of swathe-field has no end: ask for all of it")


def checksum(lines: Sequence[str]) -> int:
    """The CRC-32 of the words, with a space after each."""
    words = " ".join(lines).encode("utf-8", "surrogateescape").split()
    return zlib.crc32(b"".join(word + b" " for word in words))


def parse(lines: Sequence[str], where: str) -> FieldBlock:
    """Check one block, and read it."""
    begin = BEGIN.search(lines[0])
    if begin and int(begin[1]) != VERSION:
        raise CheckFailed(f"{where}: its block is of version {begin[1]}, and not {VERSION}")
    said = CHECKSUM.fullmatch(lines[-1])
    # A quoted first line was cut off before the mark only.
    body = [begin[0] if begin else lines[0], *lines[1:-1]]
    if not said or int(said[1], 16) != checksum(body):
        raise CheckFailed(f"{where}: its block was cut or changed: the checksum does not fit")
    return interpret(body[1:], where)


def interpret(lines: Sequence[str], where: str) -> FieldBlock:
    """Read the lines; those that begin with no key continue the one before, as after folding."""
    heads: list[tuple[str, str]] = []
    for line in lines:
        head = HEAD.fullmatch(line)
        if head and not line.startswith(MORE):
            heads.append((head[1], head[2]))
        elif heads:
            heads[-1] = (heads[-1][0], f"{heads[-1][1]} {line.removeprefix(MORE)}")
        else:
            raise CheckFailed(f"{where}: not understood: {line}")
    rows = [text.split() for key, text in heads if key == ROW]
    said = next((text for key, text in heads if key == ROWS), "none")
    if said != str(len({row[0] for row in rows})) or len(rows) != int(said):
        raise CheckFailed(f"{where}: {len(rows)} rows instead of {said}: its lines were joined")
    tables: dict[str, dict[str, Values]] = {name: {} for name in KEYS}
    scaled: set[tuple[str, int]] = set()
    for name, *words in rows:
        found, marked = figures(words, where)
        scaled.update((name, KEYS[EVENTS].index(key)) for key in marked)
        for table, keys in KEYS.items():
            if not found.keys().isdisjoint(keys):
                tables[table][name] = tuple(found.get(key) for key in keys)
    others = tuple(one for one in heads if one[0] not in (ROW, ROWS))
    return FieldBlock(where, others, tables, frozenset(scaled))


def figures(words: Sequence[str], where: str) -> tuple[dict[str, float], set[str]]:
    """The figures of a row, by their keys, and the keys of those that were scaled up."""
    parts = [word.partition("=") for word in words if word != MORE.strip()]
    texts = {key.replace(ALONE, FIRST): value for key, _, value in parts}
    marked = {key for key, value in texts.items() if value.startswith(SCALED)}
    try:
        found = {key: float(value.removeprefix(SCALED)) for key, value in texts.items()}
    except ValueError as error:
        raise CheckFailed(f"{where}: not figures: {' '.join(words)}") from error
    odd = [key for key, value in found.items() if key not in KNOWN or not math.isfinite(value)]
    if odd or len(found) < len(parts) or not marked.issubset(KEYS[EVENTS]):
        raise CheckFailed(f"{where}: not figures: {' '.join(words)}")
    return found, marked
