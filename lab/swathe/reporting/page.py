# SPDX-License-Identifier: GPL-2.0-only
"""A report as one HTML page that needs nothing else."""

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from swathe.reporting.blocks import Block, Document, Table

HERE = Path(__file__).parent
LONGEST_PINNED = 20
UNITS = re.compile(r"(?<=\d) (?=%|[KMG]iB|kB|†)")
STYLE = HERE / "page.css"
# The part of the style sheet that plots in files of their own need, too.
VARIABLES = re.compile(r"/\* variables \*/(.*?)/\* end of variables \*/", re.DOTALL)


def render(document: Document, drawn: Mapping[str, str]) -> str:
    """The page; drawn are the plots by name."""
    jinja = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    jinja.filters["marked"] = marked
    jinja.filters["kind"] = kind
    jinja.filters["pinned"] = pinned
    template = jinja.get_template("page.html.j2")
    svgs = {name: Markup(svg) for name, svg in drawn.items()}
    return template.render(document=document, svgs=svgs, style=Markup(STYLE.read_text()))


def variables() -> str:
    """The colours and the font, light and dark."""
    found = VARIABLES.search(STYLE.read_text())
    assert found
    return found[1].strip()


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
