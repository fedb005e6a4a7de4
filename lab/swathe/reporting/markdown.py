# SPDX-License-Identifier: GPL-2.0-only
"""A report as GitHub's Markdown; plots are files beside it, or left out."""

import html
import re
from collections.abc import Iterator

from swathe.base import results, table
from swathe.base.table import Table, escaped
from swathe.reporting.blocks import (
    Beside,
    Block,
    Chapter,
    Command,
    Document,
    Folded,
    Heading,
    Listing,
    Missing,
    Note,
    Pair,
    Plot,
    Plots,
    Quote,
    Text,
)


def render(document: Document, plotted: bool = False) -> str:
    """The whole; plots are files beside it, or left out."""
    blocks = [results.SPDX, f"# {escaped(document.title)}", *map(escaped, document.lead)]
    blocks.append(
        "\n".join(f"- [{escaped(s.title)}](#{anchor(s.title)})" for s in document.sections)
    )
    for section in document.sections:
        blocks += section_blocks(section, plotted)
    return "\n\n".join(blocks) + "\n"


def anchor(title: str) -> str:
    """As GitHub makes it from a heading."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def section_blocks(section: Chapter, plotted: bool) -> Iterator[str]:
    yield f"## {escaped(section.title)}"
    for block in section.blocks:
        yield from rendered(block, plotted)


def rendered(block: Block, plotted: bool) -> Iterator[str]:
    match block:
        case Text() | Note():
            yield escaped(block.text)
        case Heading():
            yield f"### {escaped(block.text)}"
        case Table():
            yield table.markdown(block)
        case Command():
            yield command(block)
        case Listing():
            yield f"{escaped(block.title)}:"
            yield "\n".join(["```", *block.lines, "```"])
        case Missing():
            yield f"*{escaped(block.what)}* `{block.command}`"
        case Plots():
            yield from plots(block) if plotted else ()
        case Beside():
            yield quote(block.quote)
            for inner in block.blocks:
                yield from rendered(inner, plotted)
        case Pair():
            for inner in (*block.left, *block.right):
                yield from rendered(inner, plotted)
        case Folded():
            yield from folded(block, plotted)


def plots(block: Plots) -> Iterator[str]:
    """GitHub takes HTML here; it shows the picture for the reader's theme."""
    for plot in block.plots:
        yield f"**{escaped(plot.title)}**"
        yield (
            "<picture>"
            f'<source media="(prefers-color-scheme: dark)" srcset="{picture(plot, "-dark")}">'
            f'<img src="{picture(plot)}" alt="{html.escape(plot.description)}"></picture>'
        )


def picture(plot: Plot, theme: str = "") -> str:
    """A plot's file beside the report."""
    return f"plots/{plot.name}{theme}.svg"


def folded(block: Folded, plotted: bool) -> Iterator[str]:
    yield f"<details><summary>{escaped(block.title)}</summary>"
    for inner in block.blocks:
        yield from rendered(inner, plotted)
    yield "</details>"


def quote(found: Quote) -> str:
    source = escaped(found.source)
    if found.link:
        source += f" [the message]({found.link})"
    inside = f"**The thread.** {escaped(found.text)}\n\n{table.markdown(found.table)}\n\n{source}"
    return "\n".join(f"> {line}".rstrip() for line in inside.splitlines())


def command(found: Command) -> str:
    return "\n".join(["```sh", *found.lines, "```"])
