# SPDX-License-Identifier: GPL-2.0-only
"""The figures of real machines as tables: one machine by itself, or several side by side."""

from collections.abc import Iterator, Sequence

from swathe.base import table
from swathe.base.table import Cell, Column, Table, Tone
from swathe.measure.field_blocks import (
    CHANGE,
    COUNTS,
    EVENT_NAMES,
    EVENTS,
    HIGH,
    LOW,
    SCALED,
    TIME_OFF,
    TIME_ON,
    TIMES,
    FieldBlock,
)

# What explains the block is not about the machine.
LEGEND = ("units",)
NONE = "–"
ESTIMATE = f"{SCALED} scaled up: the event shared a counter"
NOISE = "~ changed no more than chance explains, or too few pairs"


def tables(blocks: Sequence[FieldBlock]) -> Iterator[Table]:
    yield machines(blocks)
    if len(blocks) == 1:
        yield times(blocks[0])
        yield counts(blocks[0])
        if blocks[0].tables[EVENTS]:
            yield events(blocks[0])
    else:
        yield side_by_side(blocks)


def union(lists: Iterator[list[str]]) -> list[str]:
    """All entries once, in the order they come."""
    return list(dict.fromkeys(entry for entries in lists for entry in entries))


def machines(blocks: Sequence[FieldBlock]) -> Table:
    """What each block says of its machine."""
    keys = union([key for key, _ in block.heads if key not in LEGEND] for block in blocks)
    rows = [[key, *(said(block, key) for block in blocks)] for key in keys]
    return table.make("", ["", *(block.name for block in blocks)], rows)


def said(block: FieldBlock, key: str) -> str:
    return "\n".join(text for name, text in block.heads if name == key) or NONE


def number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.1f}"


def time(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def change(block: FieldBlock, row: str) -> Cell:
    """In per cent; marked where it may be noise."""
    value = block.value(TIMES, row, CHANGE)
    if value is None:
        return Cell(NONE, Tone.QUIET)
    if not block.beyond(row):
        return Cell(f"~{value:+.1f} %", Tone.QUIET)
    return Cell(f"{value:+.1f} %", Tone.GOOD if value < 0 else Tone.BAD)


def interval(block: FieldBlock, row: str) -> str:
    low, high = (block.value(TIMES, row, column) for column in (LOW, HIGH))
    return NONE if low is None or high is None else f"{low:+.1f} … {high:+.1f}"


def columns(*names: str) -> list[Column]:
    return [Column("row", False), *map(Column, names)]


def times(block: FieldBlock) -> Table:
    rows: list[list[Cell | str]] = [
        [
            row,
            *(time(block.value(TIMES, row, column)) for column in range(TIME_ON + 2)),
            change(block, row),
            interval(block, row),
        ]
        for row in block.rows
    ]
    heads = columns("ns a page", "±", "on", "±", "change", "99 %")
    return table.make(f"Time, off and on. {NOISE}", heads, rows)


def counts(block: FieldBlock) -> Table:
    heads = columns("pages", "TLB", "on", "calls", "on", "VmPTE kB", "on")
    return plain(block, COUNTS, "Interrupts of all CPUs, and page tables left", heads)


def events(block: FieldBlock) -> Table:
    """Off → on of each event; there is none where the machine did not count it."""
    rows = [
        [row, *(event(block, row, 2 * nth) for nth in range(len(EVENT_NAMES)))]
        for row in block.tables[EVENTS]
    ]
    heads = columns("cycles", "instructions", "L1D", "L2", "LLC", "dTLB loads", "stores")
    return table.make(f"Cycles, instructions and misses a page, off → on. {ESTIMATE}", heads, rows)


def event(block: FieldBlock, row: str, off: int) -> str:
    alone = block.value(TIMES, row, TIME_ON) is None
    counted = [amount(block, row, column) for column in (off, off + 1)]
    return counted[0] if alone or counted == [NONE, NONE] else " → ".join(counted)


def amount(block: FieldBlock, row: str, column: int) -> str:
    """Three digits: misses can be few."""
    value = block.value(EVENTS, row, column)
    if value is None:
        return NONE
    mark = SCALED if (row, column) in block.scaled else ""
    return mark + (f"{value:.0f}" if value >= 100 else f"{value:.3g}")


def plain(block: FieldBlock, kind: str, caption: str, heads: list[Column]) -> Table:
    rows = [[row, *map(number, values)] for row, values in block.tables[kind].items()]
    return table.make(caption, heads, rows)


def side_by_side(blocks: Sequence[FieldBlock]) -> Table:
    """A column a machine: time off and on, and the change."""
    rows: list[list[Cell | str]] = [
        [row, *(cell(block, row) for block in blocks)]
        for row in union(block.rows for block in blocks)
    ]
    heads = columns(*(block.name for block in blocks))
    return table.make(f"Time in ns a page, off → on. {NOISE}", heads, rows)


def cell(block: FieldBlock, row: str) -> Cell:
    off, on = (block.value(TIMES, row, column) for column in (TIME_OFF, TIME_ON))
    if off is None:
        return Cell(NONE, Tone.QUIET)
    if on is None:
        return Cell(time(off))
    found = change(block, row)
    return Cell(f"{time(off)} → {time(on)}  {found.text}", found.tone)
