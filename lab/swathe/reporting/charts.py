# SPDX-License-Identifier: GPL-2.0-only
"""What is drawn, and in words what is to be seen; how it looks is the business of plots.py."""

import re
from collections.abc import Mapping, Sequence

from swathe.measure import columns, compare
from swathe.measure.columns import KERNELS, LTS, OTHERS
from swathe.measure.compare import GoalVerdict, Line
from swathe.measure.figures import Profile
from swathe.measure.rows import Series
from swathe.reporting import tables
from swathe.reporting.blocks import Bar, BarGroup, Bars, Curve, Lines, Plot, Stack

WORD = re.compile(r"[A-Za-z0-9]+")
DRAWN = tuple(name for kernel in KERNELS for name in (kernel.stock, kernel.swathe))
# By the place on the x axis.
Places = Mapping[float, str]


def bars(name: str, title: str, found: Sequence[Line]) -> Plot | None:
    """Every case on its own scale, on which stock is 1."""
    by, unit = compare.scale(found)
    text = f"Bars relative to {columns.title(whole(found))}, labelled in"
    lines = [(line, by) for line in found]
    return bars_of(name, f"{title}, {unit}", f"{text} {unit}, the goals marked.", lines)


def overview(found: Sequence[Line]) -> Plot | None:
    """One row of each thread, each labelled in its own unit."""
    lines = [(line, compare.scale([line])[0]) for line in found]
    title = f"Relative to {columns.title(whole(found))}"
    return bars_of("overview", title, "Bars, the goals marked.", lines)


def single_pages(found: Sequence[Line]) -> Plot | None:
    """Rows of several benches, all in millions of instructions."""
    lines = [(line, compare.MILLION) for line in found]
    title = f"Single pages, relative to {columns.title(whole(found))}"
    text = "Bars labelled in millions of instructions, the goals marked."
    return bars_of("single-pages", title, text, lines)


def whole(found: Sequence[Line]) -> str:
    """The column that is 1: stock of the LTS kernel, if that was measured."""
    there = (kernel.stock for kernel in KERNELS if any(line.value(kernel.stock) for line in found))
    return next(there, LTS.stock)


def bars_of(name: str, title: str, text: str, found: Sequence[tuple[Line, float]]) -> Plot | None:
    """A group for each line, with what its labels are divided by."""
    one = whole([line for line, _ in found])
    there = [(line, by) for line, by in found if line.value(one)]
    if not there:
        return None
    groups = tuple(bar_group(line, by, one) for line, by in there)
    said = "; ".join(group_text(line, by) for line, by in there)
    return Plot(name, title, f"{text} {said}.", Bars(groups))


def bar_group(line: Line, by: float, one: str) -> BarGroup:
    stock = line.value(one)
    assert stock
    goals = {kernel.swathe: line.on(kernel).wanted() for kernel in KERNELS}
    made = []
    for config in DRAWN:
        value, goal = line.value(config), goals.get(config)
        if value is not None:
            share = None if goal is None else goal / stock
            made.append(Bar(config, value / stock, compare.number(value, by), share))
    return BarGroup(compare.case_name(line.case), tuple(made), goal_text(line, by))


def goal_text(line: Line, by: float) -> str:
    """Each measured kernel's goal with its verdict, in the order of their bars."""
    kernels = [
        kernel for kernel in compare.kernels_in([line]) if line.on(kernel).wanted() is not None
    ]
    said = ", ".join(verdict_text(line.on(kernel), by) for kernel in kernels)
    if len(kernels) > 1:
        return f"goals {said}"
    return f"{tables.of_kernel('goal', kernels[0])} {said}" if said else ""


def verdict_text(line: Line, by: float) -> str:
    goal, verdict = compare.number(line.wanted(), by), line.verdict()
    return goal if verdict is GoalVerdict.UNMEASURED else f"{goal}: {verdict.value}"


def group_text(line: Line, by: float) -> str:
    """One case in words."""
    values = ", ".join(
        f"{columns.title(config)} {compare.number(line.value(config), by)}"
        for config in DRAWN
        if line.value(config) is not None
    )
    goal = goal_text(line, by)
    return f"{compare.case_name(line.case)}: {values}" + (f", {goal}" if goal else "")


def curve(found: Mapping[str, Mapping[str, Line]], cases: Places, config: str) -> Curve:
    """Per-page cost of the cases, each at its place on the x axis."""
    costs = ((x, compare.per_page(found[case], config)) for x, case in sorted(cases.items()))
    return Curve(config, tuple((x, cost) for x, cost in costs if cost is not None))


def curve_text(one: Curve, names: Mapping[float, str]) -> str:
    """Where the curve begins and ends."""
    (first, low), (last, high) = one.points[0], one.points[-1]
    return (
        f"{columns.title(one.config)} from {low:,.1f} at {names[first]} "
        f"to {high:,.1f} at {names[last]}"
    )


def per_page(
    found: Sequence[Line], cases: Places, words: tuple[str, str, str, str],
    ticks: Mapping[float, str], names: Mapping[float, str],
) -> Plot | None:  # fmt: skip
    """Cost per page of the cases; words are the name, the title, what to see, and the x axis."""
    by_case = compare.by_case(found)
    every = (curve(by_case, cases, config) for config in DRAWN)
    curves = tuple(one for one in every if len(one.points) > 1)
    if not curves:
        return None
    name, title, text, x_label = words
    said = "; ".join(curve_text(one, names) for one in curves)
    drawing = Lines(curves, x_label, "instructions per page", ticks=ticks)
    return Plot(name, title, f"Instructions per page, {text}: {said}.", drawing)


def by_folio(bench: str, found: Sequence[Line]) -> Plot | None:
    """Cost per page by folio size."""
    cases = {float(kib): one.case for one in found if (kib := compare.folio_kib(one.case))}
    words = (f"{bench}-folio", "Cost per page by folio size", "logarithmic", "folio size, KiB")
    ticks = {kib: case.removesuffix("K") for kib, case in cases.items()}
    names = {kib: compare.case_name(case) for kib, case in cases.items()}
    return per_page(found, cases, words, ticks, names)


def by_size(bench: str, what: str, found: Sequence[Line]) -> Plot | None:
    """Cost per page against how much memory there is: it must not grow."""
    sizes = ((compare.in_memory(one.case), one.case) for one in found)
    cases = {float(size[1]): case for size, case in sizes if size and size[0] == what}
    title = f"Cost per page against size, {compare.case_name(what)}"
    words = (f"{bench}-size-{what}", title, "flat if cost is linear", "memory unmapped")
    ticks = {mib: compare.size(int(mib)) for mib in cases}
    return per_page(found, cases, words, ticks, ticks)


def series(found: Sequence[Series], title: str) -> Plot | None:
    """How something grew while a case ran."""
    order = {config: place for place, config in enumerate(columns.ALL)}
    known = sorted(found, key=lambda one: order.get(one.config, len(order)))
    curves = tuple(Curve(one.config, one.points) for one in known if one.points)
    if not curves:
        return None
    first = next(one for one in found if one.points)
    ends = "; ".join(
        f"{columns.title(curve.config)} ends at {curve.points[-1][1]:,.0f}, "
        f"at most {max(y for _, y in curve.points):,.0f}"
        for curve in curves
    )
    unit = first.y_unit or "kB"
    drawing = Lines(curves, first.x_unit or "progress", unit, log=False)
    return Plot(f"{first.bench}-{first.series}", title, f"In {unit}: {ends}.", drawing)


def stack(profile: Profile) -> Plot | None:
    """The dearest functions, one upon the other, stock beside swathe."""
    found = tables.costs(profile)
    if not found.configs or not found.layers:
        return None
    top = [*found.layers[: tables.TOP], tables.rest(found, tables.TOP)]
    names = tuple(columns.title(config) for config in found.configs)
    totals = ", ".join(
        f"{name} {total:,.1f}" for name, total in zip(names, found.total, strict=True)
    )
    text = (
        f"Stacked columns, instructions per page: {totals}; "
        f"the dearest functions are {', '.join(layer.name for layer in top[:3])}."
    )
    case = compare.case_name(profile.case)
    newer = WORD.findall(profile.kernel.series) if profile.kernel in OTHERS else ()
    return Plot(
        "-".join((profile.bench, *WORD.findall(profile.case), *newer, "profile")),
        f"Cost per function, {case}", text,
        Stack(names, tuple(top), "instructions per page"),
    )  # fmt: skip
