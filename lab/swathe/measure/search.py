# SPDX-License-Identifier: GPL-2.0-only
"""Search for programs that mm/unmap makes dearer: random ones, by workloads/search.c."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from swathe.base import table
from swathe.base.errors import UsageError
from swathe.base.table import Column, Table
from swathe.measure import benches
from swathe.measure.compare import MILLION
from swathe.measure.instructions import BenchResult
from swathe.measure.rows import MAIN_METRIC

SHOWN = 10
LIMIT = 1.02
# The worst that were found by 2026-11-28, on 6.12 and 7.3: measured in each search.
WORST = tuple(
    f"1901-{number}" for number in (19, 40, 111, 115, 130, 311, 374, 380, 390, 412)
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a pattern costs, in instructions."""

    case: str
    stock: float
    swathe: float
    remark: str

    @property
    def ratio(self) -> float:
        return self.swathe / self.stock


def draw(choices: Sequence[benches.Choice], seed: int, count: int) -> list[benches.Choice]:
    """Give a bench without cases its patterns, and the worst so far; such a bench runs alone."""
    drawn = [choice for choice in choices if choice.bench.drawn]
    if drawn and len(choices) > 1:
        raise UsageError(f"bench {drawn[0].bench.name} runs once in each config, and so alone")
    return [
        replace(choice, cases=tuple(dict.fromkeys((*WORST, *numbered(seed, count)))))
        if choice in drawn and not choice.cases
        else choice
        for choice in choices
    ]


def numbered(seed: int, count: int) -> Iterator[str]:
    """The names of a seed's patterns."""
    return (f"{seed}-{number}" for number in range(1, count + 1))


def found(result: BenchResult) -> list[Found]:
    """All patterns, the worst first."""
    values: dict[tuple[str, str], dict[str, float]] = {}
    for row in result.rows:
        if row.metric == MAIN_METRIC:
            values.setdefault((row.bench, row.case), {})[row.config] = row.value
    every = [
        Found(case, of["stock"], of["swathe"], result.remarks.get((bench, case), ""))
        for (bench, case), of in values.items()
        if len(of) > 1
    ]
    return sorted(every, key=lambda one: one.ratio, reverse=True)


def report(result: BenchResult) -> Iterator[Table | str]:
    """The worst patterns, all that are above the limit, and how many that are."""
    every = found(result)
    above = sum(one.ratio > LIMIT for one in every)
    shown = every[: max(SHOWN, above)]
    rows = [
        (one.case, f"{one.stock / MILLION:.2f}", f"{one.swathe / MILLION:.2f}",
         f"{100 * (one.ratio - 1):+.1f} %")
        for one in shown
    ]  # fmt: skip
    yield table.make(
        "millions of instructions", ("pattern", *map(Column, ("stock", "swathe", "change"))), rows
    )
    yield from (f"  {one.case}: {one.remark}" for one in shown)
    cheaper = sum(one.ratio < 1 for one in every)
    yield f"{len(every)} patterns: {above} more than 2 % dearer, {cheaper} cheaper"
