# SPDX-License-Identifier: GPL-2.0-only
"""A report as one HTML page that needs nothing else."""

import base64
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from swathe.base import table
from swathe.reporting import plots
from swathe.reporting.blocks import Block, Document

HERE = Path(__file__).parent
STYLE = HERE / "page.css"
# Of one plot: the light SVG, and the dark one.
Drawn = tuple[str, str]


def render(document: Document, drawn: Mapping[str, Drawn]) -> str:
    """The page; drawn are the plots by name."""
    jinja = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    jinja.filters["marked"] = table.marked
    jinja.filters["kind"] = kind
    jinja.filters["html"] = table.html
    jinja.filters["embedded"] = embedded
    template = jinja.get_template("page.html.j2")
    style = Markup(STYLE.read_text())
    return template.render(document=document, drawn=drawn, themes=plots.themes(), style=style)


def embedded(svg: str) -> str:
    """A file as an address."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def kind(block: Block) -> str:
    return type(block).__name__
