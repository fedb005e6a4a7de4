# SPDX-License-Identifier: GPL-2.0-only
"""Write a report's files."""

from pathlib import Path

from swathe.base.paths import write_atomically
from swathe.measure import goals, recording
from swathe.measure.figures import Figures
from swathe.reporting import content, markdown, page, plots
from swathe.reporting.blocks import Document


def build(figures: Figures, origin: str) -> Document:
    return content.build(figures, goals.every(), origin)


def site(figures: Figures, origin: str, out: Path) -> Path:
    """index.html, and beside it the Markdown with its plots."""
    document = build(figures, origin)
    drawn: dict[str, page.Drawn] = {}
    for plot in document.plots():
        light, dark = (plots.draw(plot, theme) for theme in plots.themes().values())
        drawn[plot.name] = (light, dark)
        write_atomically(out / markdown.picture(plot), light.encode())
        write_atomically(out / markdown.picture(plot, "-dark"), dark.encode())
    write_atomically(out / "report.md", markdown.render(document, plotted=True).encode())
    write_atomically(out / "index.html", page.render(document, drawn).encode())
    return out / "index.html"


def record(figures: Figures, where: Path, name: str) -> Path:
    """The chosen figures as one file, and their tables as Markdown.

    Figures of another file that is recorded there stay in that one.
    """
    recording.require_committed(figures)
    figures = recording.anonymous(figures)
    beside = recording.elsewhere(figures, where, name)
    names = (name, *(path.stem for path in beside))
    document = build(figures, f"Raw figures: {', '.join(f'`{one}.json`' for one in names)}.")
    write_atomically(where / f"{name}.json", recording.text(figures, beside).encode())
    write_atomically(where / f"{name}.md", markdown.render(document).encode())
    return where / f"{name}.md"
