# SPDX-License-Identifier: GPL-2.0-only
"""A report as one HTML page that needs nothing else."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from swathe.reporting import plots
from swathe.reporting.blocks import Block, Document, Table

HERE = Path(__file__).parent
LONGEST_PINNED = 20
UNITS = re.compile(r"(?<=\d) (?=%|[KMG]iB|kB|†)")
STYLE = HERE / "page.css"
# Of one plot: the light SVG, and the dark one.
Drawn = tuple[str, str]


def render(document: Document, drawn: Mapping[str, Drawn]) -> str:
    """The page; drawn are the plots by name."""
    jinja = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    jinja.filters["marked"] = marked
    jinja.filters["kind"] = kind
    jinja.filters["pinned"] = pinned
    jinja.filters["embedded"] = embedded
    template = jinja.get_template("page.html.j2")
    style = Markup(STYLE.read_text())
    return template.render(document=document, drawn=drawn, themes=plots.themes(), style=style)


def embedded(svg: str) -> str:
    """A file as an address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def kind(block: Block) -> str:
    return type(block).__name__


def pinned(table: Table) -> bool:
    """Whether the first column can stay in sight when a telephone scrolls the table."""
    return max((len(row[0].text) for row in table.rows), default=0) <= LONGEST_PINNED


def code(text: str) -> Markup:
    """A long name may break after its underscores."""
    return Markup("<code>{}</code>").format(Markup("_<wbr>").join(text.split("_")))


def marked(text: str) -> Markup:
    """Text with `code` in it; a number is not parted from its unit."""
    text = UNITS.sub("\N{NO-BREAK SPACE}", text)
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        code(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )
