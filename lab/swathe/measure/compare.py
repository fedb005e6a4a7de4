# SPDX-License-Identifier: GPL-2.0-only
"""One metric of one case in all configs, its goal, and what to say of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from swathe.measure import columns
from swathe.measure.columns import LTS, NEWEST, PRISTINE, STOCK, SWATHE, KernelColumns
from swathe.measure.goals import Goal
from swathe.measure.rows import MAIN_METRIC, Row

EVENTS = ("atomics", "tlb_single", "tlb_full", "tlb_remote", "ipis")
MINUS = "\N{MINUS SIGN}"
MILLION = 1_000_000
PAGES = "pages"
NO_GOALS: Mapping[str, Iterable[Goal]] = {}


class GoalVerdict(Enum):
    MET = "met"
    MISSED = "missed"
    UNMEASURED = "not measured"
    NONE = "no goal"


@dataclass(frozen=True)
class Line:
    """One line of a table: values by config, and the goals for swathe: on the LTS kernel, and on
    others by their series."""

    bench: str
    case: str
    metric: str
    unit: str
    rows: Mapping[str, Row]
    goal: Goal | None = None
    others: Mapping[str, Goal] = field(default_factory=dict)

    def on(self, kernel: KernelColumns) -> "Line":
        """One kernel's part, with its goal: its columns are called as in a run of its own."""
        if kernel is LTS:
            return self
        there = [name for name in kernel.names() if name in self.rows]
        rows = {kernel.within_run(name): self.rows[name] for name in there}
        return Line(
            self.bench, self.case, self.metric, self.unit, rows, self.others.get(kernel.series)
        )

    def value(self, config: str) -> float | None:
        row = self.rows.get(config)
        return row.value if row else None

    def change(self, of: str = SWATHE, against: str = STOCK) -> float | None:
        """Swathe against stock, as a fraction; None where that is nothing."""
        before, after = self.value(against), self.value(of)
        if before is None or after is None:
            return None
        if before == after:
            return 0.0
        return (after - before) / before if before else None

    def wanted(self) -> float | None:
        return self.goal.wanted(self.value(STOCK)) if self.goal else None

    def recorded_newest(self) -> float | None:
        """What the newest kernel took before, where this run did not measure it."""
        return self.goal.newest if self.goal and NEWEST not in self.rows else None

    def verdict(self) -> GoalVerdict:
        value = self.value(SWATHE)
        if self.goal is None or self.wanted() is None:
            return GoalVerdict.NONE
        if value is None:
            return GoalVerdict.UNMEASURED
        return GoalVerdict.MET if self.goal.met(value, self.value(STOCK)) else GoalVerdict.MISSED

    def missed_by(self) -> float | None:
        """How far above a missed goal, as a fraction of it."""
        value, wanted = self.value(SWATHE), self.wanted()
        if self.verdict() is not GoalVerdict.MISSED or not wanted or value is None:
            return None
        return (value - wanted) / wanted

    def costs_when_off(self) -> float | None:
        """Stock against a kernel that has never heard of mm/unmap, as a fraction."""
        return self.change(STOCK, PRISTINE)

    def off_verdict(self, limit: float | None) -> GoalVerdict:
        """Whether that is allowed: limit is a multiple of the kernel of the untouched tree."""
        cost = self.costs_when_off()
        if limit is None or cost is None:
            return GoalVerdict.NONE
        return GoalVerdict.MET if 1 + cost <= limit else GoalVerdict.MISSED

    def spread(self) -> float | None:
        """The largest of the configs' spreads, as a fraction of their medians."""
        found = [row.spread / abs(row.value) for row in self.rows.values() if row.value]
        return max(found, default=None)


def by_row(goals: Iterable[Goal]) -> dict[tuple[str, str, str], Goal]:
    return {(goal.bench, goal.case, goal.metric): goal for goal in goals}


def of_others(
    goals: Mapping[str, Mapping[tuple[str, str, str], Goal]], key: tuple[str, str, str]
) -> dict[str, Goal]:
    """The goals of one row on other kernels, by their series."""
    return {series: their[key] for series, their in goals.items() if key in their}


def lines(
    rows: Iterable[Row], goals: Iterable[Goal], others: Mapping[str, Iterable[Goal]] = NO_GOALS
) -> list[Line]:
    """Rows put side by side, in the order they come; others are the goals of other kernels."""
    wanted = by_row(goals)
    beside = {series: by_row(their) for series, their in others.items()}
    found: dict[tuple[str, str, str, str], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row.bench, row.case, row.metric, row.unit), {})[row.config] = row
    return [
        Line(*key, configs, wanted.get(key[:3]), of_others(beside, key[:3]))
        for key, configs in found.items()
    ]


def by_case(found: Iterable[Line]) -> dict[str, dict[str, Line]]:
    """Each case's lines by metric."""
    cases: dict[str, dict[str, Line]] = {}
    for line in found:
        cases.setdefault(line.case, {})[line.metric] = line
    return cases


def per_page(case: Mapping[str, Line], config: str, metric: str = MAIN_METRIC) -> float | None:
    """A metric of one case divided by the pages it handled."""
    value, pages = (case[name].value(config) if name in case else None for name in (metric, PAGES))
    return value / pages if value is not None and pages else None


def kernels_in(found: Iterable[Line]) -> list[KernelColumns]:
    """The kernels that swathe was measured on: the LTS one, if none of them has a figure of it."""
    seen = {config for line in found for config in line.rows}
    there = [kernel for kernel in columns.KERNELS if kernel.swathe in seen]
    return there or [LTS]


def configs_in(found: Iterable[Line]) -> list[str]:
    """The columns that these lines need: stock and ours always, and whatever else was measured."""
    found = list(found)
    seen = {config for line in found for config in line.rows}
    seen |= {name for kernel in kernels_in(found) for name in (kernel.stock, kernel.swathe)}
    return [name for name in columns.ALL if name in seen] + sorted(seen - set(columns.ALL))


def scale(found: Iterable[Line]) -> tuple[float, str]:
    """By what to divide the values of a table or plot, and the unit they then have."""
    found = list(found)
    largest = max((abs(row.value) for line in found for row in line.rows.values()), default=0)
    if found[0].unit == MAIN_METRIC and largest >= MILLION:
        return MILLION, "million instructions"
    return 1, found[0].unit


def number(value: float | None, by: float = 1) -> str:
    """As many digits as say something; the same number of decimals in all of a column."""
    if value is None:
        return ""
    if by != 1:
        return f"{value / by:,.2f}"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.3g}"


def percent(fraction: float | None, decimals: int = 1) -> str:
    """A change with its sign, if it does not round to nothing."""
    if fraction is None:
        return ""
    text = f"{abs(100 * fraction):.{decimals}f} %"
    if float(text.removesuffix(" %")) == 0:
        return text
    return f"{MINUS if fraction < 0 else '+'}{text}"


def met(found: Iterable[Line], kernel: KernelColumns = LTS) -> tuple[int, int]:
    """How many of a kernel's goals are met, and how many were measured."""
    verdicts = [line.on(kernel).verdict() for line in found]
    good = verdicts.count(GoalVerdict.MET)
    return good, good + verdicts.count(GoalVerdict.MISSED)


def spread_text(fraction: float | None) -> str:
    if not fraction:
        return "" if fraction is None else "0"
    return f"{100 * fraction:.3f} %" if fraction >= 0.000_005 else "< 0.001 %"


def verdict_text(line: Line) -> str:
    """The verdict in words."""
    verdict = line.verdict()
    over = line.missed_by()
    if verdict is GoalVerdict.NONE:
        return "\N{EM DASH}"
    if over is None:
        return str(verdict.value)
    if over >= 10:
        return f"{verdict.value}: {1 + over:.0f} times"
    return f"{verdict.value} by {100 * over:.1f} %"


IN_MEMORY = re.compile(r"^(?P<what>.+)@(?P<mib>\d+)M$")
FOLIO = re.compile(r"^(\d+)K$")
FOLIO_OF = re.compile(r"^(\d+)K-(\w+)$")


def size(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib >= 1024 and mib % 1024 == 0 else f"{mib} MiB"


def case_name(case: str) -> str:
    """A folio size as people write it: 64K is 64 KiB, 64K@1024M is 64 KiB in 1 GiB."""
    case, space, unusual = case.partition(" ")
    if space:
        return f"{case_name(case)} {unusual}"
    if match := IN_MEMORY.match(case):
        return f"{case_name(match['what'])} in {size(int(match['mib']))}"
    if match := FOLIO.match(case):
        return f"{match[1]} KiB"
    if match := FOLIO_OF.match(case):
        return f"{match[1]} KiB, {match[2]}"
    return case


def folio_kib(case: str) -> int | None:
    """The folio size of a case that is nothing but one."""
    match = FOLIO.match(case)
    return int(match[1]) if match else None


def in_memory(case: str) -> tuple[str, int] | None:
    """The case and the size in MiB of one like 64K@1024M."""
    match = IN_MEMORY.match(case)
    return (match["what"], int(match["mib"])) if match else None
