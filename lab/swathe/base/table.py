# SPDX-License-Identifier: GPL-2.0-only
"""Tables, and how each is written: for a terminal, as GitHub's Markdown, as HTML.

Text may have `code` in it and no other markup.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import rich.table
from markupsafe import Markup, escape
from rich import box
from rich.console import JustifyMethod
from rich.markup import escape as unstyled

LONGEST_PINNED = 20
SPECIAL = re.compile(r"([\\*\[\]<>|#]|(?<!\w)_|_(?!\w))")
UNITS = re.compile(r"(?<=\d) (?=%|[KMG]iB|kB|†)")


class Tone(Enum):
    """How a cell is to be read; its text says the same."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    QUIET = "quiet"


@dataclass(frozen=True)
class Cell:
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Column:
    name: str
    numeric: bool = True


@dataclass(frozen=True)
class Table:
    """The first cell of each row is its name."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def make(
    caption: str, heads: Iterable[Column | str], rows: Iterable[Iterable[Cell | str]]
) -> Table:
    """A head that is a mere string is one of text; a cell that is one is plain."""
    columns = tuple(head if isinstance(head, Column) else Column(head, False) for head in heads)
    body = (tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows)
    return Table(caption, columns, tuple(body))


def of_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Columns that hold numbers alone are set to the right."""
    numeric = [
        bool(rows) and all(row[i].replace(".", "").isdigit() or not row[i] for row in rows)
        for i in range(len(header))
    ]
    return make("", map(Column, header, numeric), rows)


def terminal(table: Table, wrap: bool = False, padding: int = 1) -> rich.table.Table:
    """For rich; padding is what is left free at the right of each cell."""
    made = rich.table.Table(
        box=box.SIMPLE_HEAD, title=table.caption or None, title_justify="left",
        padding=(0, padding, 0, 1),
    )  # fmt: skip
    for column in table.columns:
        justify: JustifyMethod = "right" if column.numeric else "left"
        made.add_column(unstyled(column.name), justify=justify, no_wrap=not wrap)
    for row in table.rows:
        made.add_row(*(unstyled(cell.text) for cell in row))
    return made


def escaped(text: str) -> str:
    """Plain text with `code` in it, as Markdown that shows just that."""
    parts = " ".join(text.splitlines()).split("`")
    if len(parts) % 2 == 0:
        return SPECIAL.sub(r"\\\1", text.replace("`", "'"))
    return "".join(
        f"`{part.replace('|', '¦')}`" if index % 2 else SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )


def as_it_is(text: str) -> str:
    """Text that is Markdown already; only a | would end its cell."""
    return text.replace("|", r"\|")


def markdown(table: Table, written: Callable[[str], str] = escaped) -> str:
    rule = "|".join("---:" if column.numeric else "---" for column in table.columns)
    heads = [column.name for column in table.columns]
    body = [[cell.text for cell in row] for row in table.rows]
    first, *rest = (f"| {' | '.join(map(written, texts))} |" for texts in (heads, *body))
    caption = [f"{escaped(table.caption)}:", ""] if table.caption else []
    return "\n".join([*caption, first, f"|{rule}|", *rest])


def code(text: str) -> Markup:
    """A long name may break after its underscores."""
    return Markup("<code>{}</code>").format(Markup("_<wbr>").join(text.split("_")))


def marked(text: str) -> Markup:
    """Text with `code` in it as HTML; a number is not parted from its unit."""
    text = UNITS.sub("\N{NO-BREAK SPACE}", text)
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        code(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def html(table: Table) -> Markup:
    """The first column stays in sight when a telephone scrolls, if it is not too wide for that."""
    longest = max((len(row[0].text) for row in table.rows), default=0)
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">\n<table{}>\n'
        "<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>"
    ).format(
        table.caption, Markup(' class="pinned"') if longest <= LONGEST_PINNED else "",
        marked(table.caption), Markup().join(map(html_head, table.columns)),
        Markup().join(html_row(table.columns, row) for row in table.rows),
    )  # fmt: skip


def html_head(column: Column) -> Markup:
    numeric = Markup(' class="n"') if column.numeric else ""
    return Markup('<th scope="col"{}>{}</th>').format(numeric, marked(column.name))


def html_row(columns: Sequence[Column], row: Sequence[Cell]) -> Markup:
    first = Markup('<th scope="row">{}</th>').format(marked(row[0].text))
    rest = (
        Markup('<td class="{}{}">{}</td>').format(
            cell.tone.value, " n" if column.numeric else "", marked(cell.text)
        )
        for column, cell in zip(columns[1:], row[1:], strict=True)
    )
    return Markup("<tr>{}{}</tr>\n").format(first, Markup().join(rest))
