# SPDX-License-Identifier: GPL-2.0-only
"""What a report consists of, whatever it is written as.

Text may have `code` in it and no other markup.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from swathe.base.table import Column, Table, make


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Note:
    """Small print below a table."""

    text: str


class Quote(Struct, frozen=True, forbid_unknown_fields=True):
    """Figures of a mailing list thread, in their own shape, with their source.

    Columns and the cells of each row are parted by |; link is the message's address.
    """

    text: str
    source: str
    caption: str
    columns: str
    rows: tuple[str, ...]
    link: str = ""

    @property
    def table(self) -> Table:
        first, *others = map(str.strip, self.columns.split("|"))
        rows = ([cell.strip() for cell in row.split("|")] for row in self.rows)
        return make(self.caption, [first, *map(Column, others)], rows)


@dataclass(frozen=True)
class Command:
    """How to get the figures above again."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """Lines whose indentation means something."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """What this run does not have, and how to get it."""

    what: str
    command: str


@dataclass(frozen=True)
class Bar:
    """Goal is on the same scale as share."""

    config: str
    share: float
    label: str
    goal: float | None = None


@dataclass(frozen=True)
class BarGroup:
    """The bars of one case; on the scale of their shares 1 is stock."""

    name: str
    bars: tuple[Bar, ...]
    verdict: str = ""


@dataclass(frozen=True)
class Bars:
    groups: tuple[BarGroup, ...]


@dataclass(frozen=True)
class Curve:
    config: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Lines:
    """Ticks are the x values that are named; without any, the axis chooses."""

    curves: tuple[Curve, ...]
    x_label: str
    y_label: str
    log: bool = True
    ticks: Mapping[float, str] | None = None


@dataclass(frozen=True)
class Layer:
    """One function's part of each column, in the columns' order."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Stack:
    columns: tuple[str, ...]
    layers: tuple[Layer, ...]
    y_label: str


@dataclass(frozen=True)
class Plot:
    """The description says in words what is seen."""

    name: str
    title: str
    description: str
    drawing: Bars | Lines | Stack


@dataclass(frozen=True)
class Beside:
    """A thread's figures and, beside them where there is room, ours."""

    quote: Quote
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Plots:
    """Small plots, side by side where there is room."""

    plots: tuple[Plot, ...]


@dataclass(frozen=True)
class Pair:
    """Two columns where there is room."""

    left: "tuple[Block, ...]"
    right: "tuple[Block, ...]"


@dataclass(frozen=True)
class Folded:
    """What few want to see: shown when asked for."""

    title: str
    blocks: "tuple[Block, ...]"


@dataclass(frozen=True)
class Heading:
    text: str


Block = Text | Note | Table | Beside | Pair | Command | Listing | Missing | Plots | Folded | Heading


@dataclass(frozen=True)
class Chapter:
    """The short name is for the table of contents."""

    key: str
    title: str
    short: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    title: str
    lead: tuple[str, ...]
    sections: tuple[Chapter, ...]

    def plots(self) -> tuple[Plot, ...]:
        return tuple(p for section in self.sections for b in section.blocks for p in plots_in(b))


def plots_in(block: Block) -> tuple[Plot, ...]:
    """The plots of a block, however deep."""
    if isinstance(block, Plots):
        return block.plots
    if isinstance(block, Beside | Folded):
        return tuple(plot for inner in block.blocks for plot in plots_in(inner))
    if isinstance(block, Pair):
        return tuple(p for inner in (*block.left, *block.right) for p in plots_in(inner))
    return ()
