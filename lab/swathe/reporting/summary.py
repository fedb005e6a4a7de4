# SPDX-License-Identifier: GPL-2.0-only
"""The report's first section: the rows that stand for each thread, and how many goals are met."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from swathe.base.table import Cell, Column, Tone, make
from swathe.measure import columns, compare
from swathe.measure.columns import LTS, KernelColumns
from swathe.measure.compare import GoalVerdict, Line
from swathe.measure.rows import MAIN_METRIC
from swathe.reporting import charts, tables, threads
from swathe.reporting.blocks import Block, Chapter, Pair, Plots, Text
from swathe.reporting.material import Material, usual
from swathe.reporting.threads import Thread

ELSEWHERE = (
    "All runs were made with other options than usual, which follow the names of their cases in "
    "the chapters below."
)


def chapter(material: Material) -> Chapter:
    """One or two rows of each thread, and how many goals are met."""
    kernels = compare.kernels_in(material.lines)
    heads: list[Column | str] = ["row"]
    for kernel in kernels:
        heads += [Column(columns.title(name)) for name in (kernel.stock, kernel.swathe)]
        heads.append(Column(tables.of_kernel("change", kernel)))
    heads += ["unit", *(tables.of_kernel("goals met", kernel) for kernel in kernels)]
    body = [row for each in threads.load().thread for row in summary_rows(material, each, kernels)]
    table = make("The rows that stand for each thread", heads, body)
    keys = {key for each in threads.load().thread for key in each.key_rows}
    chosen = [
        replace(line, case=f"{line.bench} {compare.case_name(line.case)}")
        for line in material.lines
        if (line.bench, line.case, line.metric) in keys
    ]
    plot = charts.overview(chosen)
    blocks: list[Block] = [Text(text) for text in verdicts(material, kernels)]
    if not chosen and material.lines:
        blocks.append(Text(ELSEWHERE))
    else:
        blocks.append(Pair((table,), (Plots((plot,)),)) if plot else table)
    return Chapter("summary", "At a glance", "At a glance", tuple(blocks))


def verdicts(material: Material, kernels: Sequence[KernelColumns]) -> Iterator[str]:
    """A sentence about each kernel's goals, and about what the switch costs while it is off."""
    for kernel in kernels:
        yield goals_met(material.lines, kernel)
        if text := off_met(material.off(kernel), kernel, material.wanted(kernel).switched_off):
            yield text


def goals_met(found: Iterable[Line], kernel: KernelColumns = LTS) -> str:
    """All verdicts in one sentence."""
    met, measured = compare.met(found, kernel)
    if not measured:
        return f"None of the goals on {kernel.series} was measured in this run."
    missed = measured - met
    return (
        f"Of {measured} goals measured on {kernel.series}, {met} are met and {missed} are missed."
    )


def off_met(found: Iterable[Line], kernel: KernelColumns, limit: float | None) -> str:
    """Whether instructions with the switch off are those of the untouched tree."""
    off = [line.off_verdict(limit) for line in found if line.metric == MAIN_METRIC and usual(line)]
    measured = [verdict for verdict in off if verdict is not GoalVerdict.NONE]
    if limit is None or not measured:
        return ""
    return (
        f"Switched off, {measured.count(GoalVerdict.MET)} of {len(measured)} rows of "
        f"{kernel.series} are at most {100 * (limit - 1):.1f} % above the untouched tree."
    )


def summary_rows(
    material: Material, each: Thread, kernels: Sequence[KernelColumns]
) -> Iterator[tuple[Cell | str, ...]]:
    by_key = {(line.bench, line.case, line.metric): line for line in material.lines}
    of_thread = [line for part in each.part for line in material.of(part.bench)]
    goals = [goals_text(*compare.met(of_thread, kernel)) for kernel in kernels]
    for key in each.key_rows:
        name = f"{each.key} {key[0]} {compare.case_name(key[1])}"
        line = by_key.get(key)
        if line is None:
            quiet = Cell("not measured", Tone.QUIET)
            yield (name, *((quiet, quiet, Cell("")) * len(kernels)), "", *goals)
        else:
            by, unit = compare.scale([line])
            cells = (cell for kernel in kernels for cell in summary_cells(line.on(kernel), by))
            yield (name, *cells, Cell(unit.replace("million", "M"), Tone.QUIET), *goals)
        goals = [""] * len(kernels)


def goals_text(met: int, measured: int) -> str:
    return f"{met} of {measured}" if measured else "none measured"


def summary_cells(line: Line, by: float) -> Iterator[str]:
    """Stock and swathe of one kernel, and the change."""
    for config in (columns.STOCK, columns.SWATHE):
        yield compare.number(line.value(config), by) or "not measured"
    yield compare.percent(line.change())
