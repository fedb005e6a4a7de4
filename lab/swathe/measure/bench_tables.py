# SPDX-License-Identifier: GPL-2.0-only
"""What bench prints: a line of instructions for each case, then what else is worth a look."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from swathe.measure import goals
from swathe.measure.rows import COUNTER, MAIN_METRIC, Row

MILLION = 1_000_000
PAGES = "pages"
ABREAST = 5
# Metrics of which another value means that the kernels did not do the same.
MAPPING = {"pmd_mapped": "mapped by PMDs", "folio_pages": "folios of"}
SAME = 0.1


@dataclass(frozen=True)
class CaseRows:
    """All rows of one case, by metric and config."""

    name: str
    rows: dict[tuple[str, str], Row]

    def row(self, metric: str, config: str) -> Row | None:
        return self.rows.get((metric, config))

    def value(self, metric: str, config: str) -> float | None:
        row = self.row(metric, config)
        return None if row is None else row.value

    def goal(self, metric: str) -> goals.Goal | None:
        row = next(iter(self.rows.values()))
        return goals.find(row.bench, self.name, metric)

    def verdict(self, metric: str) -> str:
        """Met or missed; nothing where there is no goal, or nothing was measured."""
        goal, value = self.goal(metric), self.value(metric, "swathe")
        if goal is None or goal.goal is None or value is None:
            return ""
        return "met" if goal.met(value, self.value(metric, "stock")) else "missed"

    def notes(self) -> Iterator[str]:
        """What a goal needs to have said beside it."""
        for metric in dict.fromkeys(metric for metric, _ in self.rows):
            if (goal := self.goal(metric)) and goal.note:
                yield f"  the goal of {self.name}: {goal.note}"


def by_case(found: Sequence[Row]) -> list[CaseRows]:
    cases: dict[str, CaseRows] = {}
    for row in found:
        case = cases.setdefault(row.case, CaseRows(row.case, {}))
        case.rows[row.metric, row.config] = row
    return list(cases.values())


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


def per_page(case: CaseRows, config: str) -> str:
    value, pages = case.value(MAIN_METRIC, config), case.value(PAGES, config)
    return f"{value / pages:.1f}" if value is not None and pages else ""


def of_bench(found: Sequence[Row], configs: Sequence[str], judged: bool) -> Iterator[Table | str]:
    """Everything about one bench's rows; judged says that the goals are for these."""
    cases = by_case(found)
    if not cases:
        return
    yield instructions(cases, configs, judged)
    yield from others(cases, configs, judged)
    for case in cases:
        yield from counters(case)
    if judged:
        yield from dict.fromkeys(note for case in cases for note in case.notes())
    for case in cases:
        yield from unlike(case, configs)


def instructions(cases: Sequence[CaseRows], configs: Sequence[str], judged: bool) -> Table:
    """One line for each case: millions, changes, and instructions per page."""
    made = Table(box=box.SIMPLE_HEAD, title="millions of instructions", title_justify="left")
    made.add_column("case", no_wrap=True)
    against = configs[:-2]
    judged = judged and any(case.goal(MAIN_METRIC) for case in cases)
    heads = [*configs, "change", *(f"to {config}" for config in against)]
    heads += [f"{config}/page" for config in configs]
    for head in heads + (["goal", ""] if judged else []):
        made.add_column(head, justify="right", no_wrap=True)
    for case in cases:
        made.add_row(*line(case, configs, judged))
    return made


def line(case: CaseRows, configs: Sequence[str], judged: bool) -> list[str]:
    values = {config: case.value(MAIN_METRIC, config) for config in configs}
    ours = values[configs[-1]]
    cells = [case.name, *map(millions, values.values())]
    cells += [change(values[config], ours) for config in (configs[-2], *configs[:-2])]
    cells += [per_page(case, config) for config in configs]
    if judged:
        goal = case.goal(MAIN_METRIC)
        cells += [millions(goal.goal) if goal else "", case.verdict(MAIN_METRIC)]
    return cells


def others(cases: Sequence[CaseRows], configs: Sequence[str], judged: bool) -> Iterator[Table]:
    """The other metrics that say something, a column each, the configs' values in one cell."""
    names = dict.fromkeys(metric for case in cases for metric, _ in case.rows)
    told = [name for name in names if any(telling(case, name, configs) for case in cases)]
    for first in range(0, len(told), ABREAST):
        yield metrics_table(cases, told[first : first + ABREAST], configs, judged)


def telling(case: CaseRows, metric: str, configs: Sequence[str]) -> bool:
    """Whether a metric has more to say than that nothing was, or that nothing changed."""
    if metric in (MAIN_METRIC, PAGES) or metric.startswith(COUNTER):
        return False
    values = [value for c in configs if (value := case.value(metric, c)) is not None]
    return len(set(map(plain, values))) > 1 or (bool(values) and case.goal(metric) is not None)


def metrics_table(
    cases: Sequence[CaseRows], metrics: Sequence[str], configs: Sequence[str], judged: bool
) -> Table:
    title = f"{', '.join(configs[:-1])} → {configs[-1]}"
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    made.add_column("case", no_wrap=True)
    for metric in metrics:
        made.add_column(metric, justify="right", no_wrap=True)
    for case in cases:
        cells = [cell(case, metric, configs, judged) for metric in metrics]
        if any(cells):
            made.add_row(case.name, *cells)
    return made


def cell(case: CaseRows, metric: str, configs: Sequence[str], judged: bool) -> str:
    """STOCK → SWATHE, and whether that is what was wanted."""
    if all(case.row(metric, config) is None for config in configs):
        return ""
    values = [shown(case.row(metric, config)) for config in configs]
    text = f"{', '.join(values[:-1])} → {values[-1]}"
    said = case.verdict(metric) if judged else ""
    return f"{text} ({said})" if said else text


def counters(case: CaseRows) -> Iterator[str]:
    """What mm/unmap counted itself."""
    said = [
        f"{metric.removeprefix(COUNTER)} {plain(row.value)}"
        for (metric, config), row in case.rows.items()
        if metric.startswith(COUNTER) and config == "swathe" and row.value
    ]
    if said:
        yield f"  {case.name} counted: {', '.join(said)}"


def unlike(case: CaseRows, configs: Sequence[str]) -> Iterator[str]:
    """A warning where the kernels did not have the same mapping before them."""
    for metric, meaning in MAPPING.items():
        rows = [row for config in configs if (row := case.row(metric, config)) is not None]
        values = [row.value for row in rows]
        if not values or max(values) - min(values) <= SAME * max(values):
            continue
        said = ", ".join(f"{plain(row.value)} {row.unit} in {row.config}" for row in rows)
        yield f"  {case.name} does not compare: the mappings differ, {meaning} {said}"
