# SPDX-License-Identifier: GPL-2.0-only
"""Draw a plot as SVG, narrow enough for a telephone, in the colours of one theme."""

import functools
import io
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from swathe.base import reading
from swathe.base.paths import BUILD

# Its font cache is generated, too.
os.environ.setdefault("MPLCONFIGDIR", str(BUILD / "cache" / "matplotlib"))

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from swathe.measure import columns
from swathe.measure.columns import KERNELS
from swathe.reporting.blocks import BarGroup, Bars, Lines, Plot, Stack

FILE = Path(__file__).with_name("themes.toml")
WIDTH = 360
# One bar, and the line above a group of them, in pixels.
BAR, HEAD, GAP = 13, 16, 7
FONT = 10.5
# How much wider than the longest bar a plot is, to hold its label.
LABEL = 0.52
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "swathe",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": FONT,
    "axes.linewidth": 0.8,
}
# By kernel: of stock, and of swathe.
MARKERS = dict(
    zip((name for each in KERNELS for name in (each.stock, each.swathe)), "soP*^v", strict=True)
)
DASHES = {kernel.swathe: "-" for kernel in KERNELS} | dict(
    zip((kernel.stock for kernel in KERNELS), ("--", "-.", ":"), strict=True)
)
# Of the model of time, and of the table that it is checked against: see time_page.py.
MARKERS |= {"published": "s", "modelled": "o"}
DASHES |= {"published": "--", "modelled": "-"}


class Theme(Struct, frozen=True, forbid_unknown_fields=True):
    """Colours by what they are for: of the page, of the configs' bars and curves, of layers."""

    page: dict[str, str]
    fill: dict[str, str]
    stroke: dict[str, str]
    layers: tuple[str, ...]

    def style(self) -> dict[str, object]:
        """As matplotlib takes them."""
        ink, faint, paper = self.page["ink"], self.page["faint"], self.page["paper"]
        names = ("axes.labelcolor", "text.color", "xtick.labelcolor", "ytick.labelcolor")
        frames = ("axes.edgecolor", "xtick.color", "ytick.color")
        papers = ("figure.facecolor", "savefig.facecolor", "axes.facecolor")
        colors = {**dict.fromkeys(names, ink), **dict.fromkeys(frames, faint)}
        return {**STYLE, **colors, **dict.fromkeys(papers, paper)}


@functools.cache
def themes() -> dict[str, Theme]:
    """The light one first."""
    found = reading.toml(FILE.read_text(), FILE.name)
    return reading.convert(found, dict[str, Theme], FILE.name)


def draw(plot: Plot, theme: Theme) -> str:
    """An SVG file; its title is the plot's."""
    with mpl.rc_context(theme.style()):  # type: ignore[arg-type]
        match plot.drawing:
            case Bars():
                figure = draw_bars(plot.drawing, theme)
            case Lines():
                figure = draw_lines(plot.drawing, theme)
            case Stack():
                figure = draw_stack(plot.drawing, theme)
        out = io.StringIO()
        about = {"Date": None, "Creator": None, "Title": plot.title}
        figure.savefig(out, format="svg", metadata={**about, "Description": plot.description})
    return out.getvalue()


def canvas(height: float) -> Figure:
    """One user unit of the SVG is one pixel."""
    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def bare(axes: Axes) -> None:
    """No frame and no ticks."""
    axes.set_axis_off()
    axes.margins(0)


def draw_bars(what: Bars, theme: Theme) -> Figure:
    """Groups from top to bottom, each with its name above its bars."""
    heights = [HEAD + BAR * len(group.bars) + GAP for group in what.groups]
    figure = canvas(sum(heights))
    axes = figure.add_axes((0, 0, 1, 1))
    bare(axes)
    longest = max(bar.share for group in what.groups for bar in group.bars)
    axes.set_xlim(0, longest * (1 + LABEL))
    axes.set_ylim(sum(heights), 0)
    top = 0.0
    for group, height in zip(what.groups, heights, strict=True):
        draw_group(axes, group, top, theme)
        top += height
    return figure


def draw_group(axes: Axes, group: BarGroup, top: float, theme: Theme) -> None:
    right = axes.get_xlim()[1]
    axes.text(0, top + HEAD - 5, group.name, weight="bold", va="baseline")
    axes.text(right, top + HEAD - 5, group.verdict, ha="right", va="baseline")
    for index, bar in enumerate(group.bars):
        middle = top + HEAD + BAR * (index + 0.5)
        color = theme.fill.get(bar.config, theme.page["faint"])
        axes.barh(middle, bar.share, BAR - 2, color=color, linewidth=0)
        end = bar.share
        if bar.goal is not None:
            low, high = middle - BAR / 2, middle + BAR / 2
            axes.vlines(bar.goal, low, high, color=theme.page["ink"], linewidth=2)
            end = max(end, bar.goal) if bar.goal < end + right * LABEL / 2 else end
        text = f"{columns.title(bar.config)} {bar.label}"
        axes.text(end + right * 0.014, middle, text, va="center_baseline")


def draw_lines(what: Lines, theme: Theme) -> Figure:
    figure = canvas(230)
    axes = figure.add_axes((0.13, 0.17, 0.84, 0.7))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=theme.page["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    for curve in what.curves:
        many = len(curve.points) > 20
        axes.plot(
            [x for x, _ in curve.points], [y for _, y in curve.points],
            color=theme.stroke.get(curve.config, theme.page["faint"]), linewidth=2,
            linestyle=DASHES.get(curve.config, "-."),
            marker="" if many else MARKERS.get(curve.config, "d"), markersize=5,
            label=columns.title(curve.config),
        )  # fmt: skip
    set_axes(axes, what)
    figure.text(0.005, 0.985, what.y_label, va="top")
    axes.set_xlabel(what.x_label)
    # One line below the axis' name, or two beside it.
    ncols, top = (3, 0.945) if len(what.curves) <= 3 else (2, 1)
    figure.legend(loc="upper right", ncols=ncols, frameon=False, borderpad=0, borderaxespad=0.2,
                  handlelength=2.2, columnspacing=1, handletextpad=0.4,
                  bbox_to_anchor=(1, top))  # fmt: skip
    return figure


def set_axes(axes: Axes, what: Lines) -> None:
    """Plain numbers on every axis."""
    plain = FuncFormatter(
        lambda number, _: f"{number:,.4g}" if number < 10_000 else f"{number:,.0f}"
    )
    if what.log:
        set_logarithmic_axes(axes, what)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(plain)
    axes.tick_params(length=3)
    if what.ticks:
        axes.xaxis.set_major_locator(FixedLocator(sorted(what.ticks)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: (what.ticks or {}).get(x, "")))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_formatter(plain)


def set_logarithmic_axes(axes: Axes, what: Lines) -> None:
    """The axis of values is never narrower than a factor of four."""
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    values = [y for curve in what.curves for _, y in curve.points if y > 0]
    low, high = min(values) / 1.15, max(values) * 1.15
    while high / low < 4:
        low, high = low / 1.1, high * 1.1
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())


def draw_stack(what: Stack, theme: Theme) -> Figure:
    """Columns at the left, each layer's number in it; at the right what the numbers are."""
    line = 17
    height = max(260, 40 + line * len(what.layers))
    figure = canvas(height)
    axes = figure.add_axes((0, 0, 1, 1))
    bare(axes)
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    totals = [sum(values) for values in zip(*(layer.values for layer in what.layers), strict=True)]
    by = (height - 42) / max(totals)
    wide, apart = (58, 8) if len(totals) <= 2 else (40, 6)
    for index, (name, total) in enumerate(zip(what.columns, totals, strict=True)):
        left = index * (wide + apart)
        draw_column(
            axes, [layer.values[index] for layer in what.layers], left, wide, height - 22, by, theme
        )
        axes.text(
            left + wide / 2, height - 8, name.removeprefix("stock "), ha="center", va="baseline"
        )
        axes.text(
            left + wide / 2, height - 26 - total * by, f"{total:,.0f}", ha="center", weight="bold"
        )
    draw_names(axes, what, len(totals) * (wide + apart) + 6, line, theme)
    return figure


def draw_column(
    axes: Axes, values: Sequence[float], left: float, wide: float, bottom: float, by: float,
    theme: Theme,
) -> None:  # fmt: skip
    """From the bottom: the dearest function first."""
    for number, value in enumerate(values, 1):
        tall = value * by
        axes.bar(
            left, -tall, wide, bottom, align="edge",
            color=theme.layers[(number - 1) % len(theme.layers)],
            edgecolor=theme.page["paper"], linewidth=1,
        )  # fmt: skip
        if tall >= 11:
            name = str(number) if number < len(values) else "rest"
            axes.text(left + wide / 2, bottom - tall / 2, name, ha="center", va="center_baseline")
        bottom -= tall


def draw_names(axes: Axes, what: Stack, left: float, line: float, theme: Theme) -> None:
    """The key, in the order of the layers: the topmost first."""
    count = len(what.layers)
    for number, layer in enumerate(what.layers, 1):
        middle = 28 + line * (count - number)
        axes.bar(left, -10, 10, middle + 5, align="edge",
                 color=theme.layers[(number - 1) % len(theme.layers)], linewidth=0)  # fmt: skip
        text = f"{number} {layer.name}" if number < count else layer.name
        short = text if len(text) <= 31 else f"{text[:30]}…"
        axes.text(left + 16, middle, short, va="center_baseline")
