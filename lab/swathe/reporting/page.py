# SPDX-License-Identifier: GPL-2.0-only
"""A report as one HTML page that needs nothing else."""

import re
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from swathe.reporting.model import Block, Document

HERE = Path(__file__).parent
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


def marked(text: str) -> Markup:
    """Text with `code` in it."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup().join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )
