# SPDX-License-Identifier: GPL-2.0-only
"""The check of the model of time, for the terminal and as a page with a plot."""

from collections.abc import Iterator

from swathe.base import results, table
from swathe.base.table import Column, Table
from swathe.measure.timing import LIMIT, Published, TimeCheck
from swathe.reporting.blocks import Curve, Lines, Plot

PUBLISHED, MODELLED = "published", "modelled"


def rows(check: TimeCheck) -> Table:
    """What each row does a page, and its nanoseconds a page."""
    heads = ("instructions", "locked", "lines of the\nlast level", "lines of\nmemory",
             "published\nns", "modelled\nns", "error")  # fmt: skip
    body = []
    for row in check.rows:
        does = (row.work.instructions, row.work.locked, row.work.hits, row.work.lines)
        error = f"{100 * row.error:+.1f} %{' (fitted)' if row.fitted else ''}"
        times = (row.published, row.modelled)
        body.append([row.case, *(f"{n:.2f}" for n in does), *(f"{n:.1f}" for n in times), error])
    return table.make("a page", ("folio", *map(Column, heads)), body)


def remarks(check: TimeCheck, told: Published) -> Iterator[str]:
    """What was counted, the costs, the verdict, and where the times are from."""
    costs = check.costs
    yield (
        "counted: munmap() of 1 GiB with the switch off; the locked instructions of large folios "
        f"have {told.more_locked:g} added, which the published kernel took more"
    )
    yield (
        f"fitted: {costs.instruction:.3f} ns an instruction, {costs.hit:.1f} ns a line from the "
        f"last-level cache, {costs.line:.1f} ns one from memory, which costs no less; "
        f"{costs.locked:g} ns a locked instruction, from published cycles"
    )
    limit, found = f"{100 * LIMIT:.0f} %", f"{100 * check.median_error:.1f} %"
    worst = f"{100 * max((row.error for row in check.rows), key=abs):+.1f} %"
    yield (
        f"median error of the rows that were not fitted: {found}, the largest of all {worst}: "
        + (f"the median is within {limit}" if check.holds else f"the median is above {limit}")
    )
    yield f"published by {told.source}"


def kib(case: str) -> float:
    return float(case.removesuffix("K"))


def plot(check: TimeCheck) -> Plot:
    """Both times by folio size."""
    points = {
        PUBLISHED: tuple((kib(row.case), row.published) for row in check.rows),
        MODELLED: tuple((kib(row.case), row.modelled) for row in check.rows),
    }
    curves = tuple(Curve(name, each) for name, each in points.items())
    ticks = {kib(row.case): row.case.removesuffix("K") for row in check.rows}
    said = "; ".join(f"{row.case} {row.published:.0f} and {row.modelled:.0f}" for row in check.rows)
    return Plot(
        "time", "munmap() of 1 GiB", f"Nanoseconds a page, published and modelled: {said}.",
        Lines(curves, "folio size, KiB", "ns a page", ticks=ticks),
    )  # fmt: skip


def markdown(check: TimeCheck, told: Published, name: str, about: str) -> str:
    parts = [
        results.SPDX,
        "# A model of time, and a published table of `munmap()` (`./swathe time`)",
        f"![{plot(check).description}]({name}.svg)",
        table.markdown(rows(check)),
        *map(table.escaped, remarks(check, told)),
        table.escaped(about),
    ]
    return "\n\n".join(parts) + "\n"
