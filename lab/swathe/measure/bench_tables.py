# SPDX-License-Identifier: GPL-2.0-only
"""What bench prints: a line of instructions for each case, then what else is worth a look."""

from collections.abc import Iterator, Mapping, Sequence

from swathe.base import table
from swathe.base.table import Column, Table
from swathe.measure import compare, memory
from swathe.measure.columns import PRISTINE, SWATHE
from swathe.measure.compare import MILLION, PAGES, GoalVerdict, Line
from swathe.measure.goals import KernelGoals
from swathe.measure.memory import PREFIX
from swathe.measure.rows import COUNTER, MAIN_METRIC, Row

ABREAST = 5
# Metrics of which another value means that the kernels did not do the same.
MAPPING = {"pmd_mapped": "mapped by PMDs", "folio_pages": "folios of"}
SAME = 0.1
# Lines by case, and those of a case by metric.
Case = Mapping[str, Line]
Cases = Mapping[str, Case]


def verdict(line: Line | None) -> str:
    """Met or missed; nothing where there is no goal, or nothing was measured."""
    return judgement(line.verdict() if line else GoalVerdict.NONE)


def judgement(found: GoalVerdict) -> str:
    return found.value if found in (GoalVerdict.MET, GoalVerdict.MISSED) else ""


def millions(value: float | None) -> str:
    return "" if value is None else f"{value / MILLION:.2f}"


def plain(value: float | None) -> str:
    """Counts in full, fractions as far as they say something."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"


def shown(row: Row | None) -> str:
    """Instructions in millions, everything else as it is."""
    if row is not None and row.unit == MAIN_METRIC:
        return f"{millions(row.value)} M"
    return plain(None if row is None else row.value)


def change(before: float | None, after: float | None) -> str:
    """In percent; nothing where there is nothing to compare."""
    if before is None or after is None or not before or before == after:
        return ""
    return f"{100 * (after - before) / before:+.1f} %"


def of_bench(
    found: Sequence[Row], configs: Sequence[str], judged: bool, wanted: KernelGoals
) -> Iterator[Table | str]:
    """Everything about one bench's rows; judged says that the kernel's goals are for these."""
    cases = compare.by_case(compare.lines(found, wanted.goals))
    if not cases:
        return
    yield instructions(cases, configs, judged)
    yield from others(cases, configs, judged)
    yield from accesses(cases, configs)
    if PRISTINE in configs:
        yield switched_off(cases, wanted.switched_off if judged else None)
    for name, case in cases.items():
        yield from counters(name, case)
    if judged:
        yield from dict.fromkeys(
            f"  the goal of {name}: {line.goal.note}"
            for name, case in cases.items()
            for line in case.values()
            if line.goal and line.goal.note
        )
    for name, case in cases.items():
        yield from unlike(name, case, configs)


def instructions(cases: Cases, configs: Sequence[str], judged: bool) -> Table:
    """One line for each case: millions, changes, and instructions per page."""
    main = [case.get(MAIN_METRIC) for case in cases.values()]
    judged = judged and any(line is not None and line.goal for line in main)
    heads = ["change", *(f"to {config}" for config in configs[:-2])]
    heads = [*configs, *heads, *(f"{config}/page" for config in configs)]
    columns = map(Column, heads + (["goal", ""] if judged else []))
    rows = [row(name, case, configs, judged) for name, case in cases.items()]
    return table.make("millions of instructions", ("case", *columns), rows)


def row(name: str, case: Case, configs: Sequence[str], judged: bool) -> list[str]:
    line = case.get(MAIN_METRIC)
    values = {config: line.value(config) if line else None for config in configs}
    ours = values[configs[-1]]
    cells = [name, *map(millions, values.values())]
    cells += [change(values[config], ours) for config in (configs[-2], *configs[:-2])]
    pages = [compare.per_page(case, config) for config in configs]
    cells += ["" if each is None else f"{each:.1f}" for each in pages]
    if judged:
        cells += [millions(line.wanted() if line else None), verdict(line)]
    return cells


def switched_off(cases: Cases, limit: float | None) -> Table:
    """What the switch costs while it is off, and whether that is within the limit."""
    found = {name: line for name, case in cases.items() if (line := case.get(MAIN_METRIC))}
    rows = []
    for name, line in found.items():
        cells = [name, change_of(line.costs_when_off())]
        if limit is not None:
            cells += [change_of(limit - 1), judgement(line.off_verdict(limit))]
        rows.append(cells)
    heads = ["to pristine", *(["goal", ""] if limit is not None else [])]
    return table.make("stock, switched off", ("case", *map(Column, heads)), rows)


def change_of(fraction: float | None) -> str:
    """In percent, with two decimals: what is judged are tenths."""
    return "" if fraction is None else f"{100 * fraction:+.2f} %"


def others(cases: Cases, configs: Sequence[str], judged: bool) -> Iterator[Table]:
    """The other metrics that say something, a column each, the configs' values in one cell."""
    names = dict.fromkeys(metric for case in cases.values() for metric in case)
    lines = [line for case in cases.values() for line in case.values() if telling(line, configs)]
    told = [name for name in names if name in {line.metric for line in lines}]
    title = f"{', '.join(configs[:-1])} → {configs[-1]}"
    for first in range(0, len(told), ABREAST):
        metrics = told[first : first + ABREAST]
        rows = [
            (name, *(cell(case.get(metric), configs, judged) for metric in metrics))
            for name, case in cases.items()
        ]
        yield table.make(
            title, ["case", *map(Column, metrics)], [each for each in rows if any(each[1:])]
        )


def telling(line: Line, configs: Sequence[str]) -> bool:
    """Whether a metric has more to say than that nothing was, or that nothing changed."""
    if line.metric in (MAIN_METRIC, PAGES) or line.metric.startswith((COUNTER, PREFIX)):
        return False
    values = [value for config in configs if (value := line.value(config)) is not None]
    return len(set(map(plain, values))) > 1 or (bool(values) and line.goal is not None)


def accesses(cases: Cases, configs: Sequence[str]) -> Iterator[Table]:
    """What each case did to memory: in all, then the distinct lines by what is in them."""
    if not any(metric.startswith(PREFIX) for case in cases.values() for metric in case):
        return
    lines = {f"lines.{area}": area for area in memory.AREAS}
    for title, kinds in (("a page", dict.fromkeys(memory.KINDS)), ("lines a page", lines)):
        rows = [
            (name, *(cell(case.get(PREFIX + kind), configs, False) for kind in kinds))
            for name, case in cases.items()
        ]
        heads = [said or kind for kind, said in kinds.items()]
        yield table.make(title, ["case", *map(Column, heads)], rows)


def cell(line: Line | None, configs: Sequence[str], judged: bool) -> str:
    """STOCK → SWATHE, and whether that is what was wanted."""
    if line is None or not set(configs) & set(line.rows):
        return ""
    values = [shown(line.rows.get(config)) for config in configs]
    text = f"{', '.join(values[:-1])} → {values[-1]}"
    said = verdict(line) if judged else ""
    return f"{text} ({said})" if said else text


def counters(name: str, case: Case) -> Iterator[str]:
    """What mm/unmap counted itself."""
    said = [
        f"{metric.removeprefix(COUNTER)} {plain(value)}"
        for metric, line in case.items()
        if metric.startswith(COUNTER) and (value := line.value(SWATHE))
    ]
    if said:
        yield f"  {name} counted: {', '.join(said)}"


def unlike(name: str, case: Case, configs: Sequence[str]) -> Iterator[str]:
    """A warning where the kernels did not have the same mapping before them."""
    for metric, meaning in MAPPING.items():
        of = case[metric].rows if metric in case else {}
        rows = [of[config] for config in configs if config in of]
        values = [row.value for row in rows]
        if not values or max(values) - min(values) <= SAME * max(values):
            continue
        said = ", ".join(f"{plain(row.value)} {row.unit} in {row.config}" for row in rows)
        yield f"  {name} does not compare: the mappings differ, {meaning} {said}"
