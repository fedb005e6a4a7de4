# SPDX-License-Identifier: GPL-2.0-only
"""goals.toml: figures of stock kernels before this work, and the goals for Swathe."""

import functools
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from swathe.base import reading
from swathe.kernel import build, source
from swathe.kernel.arch import X86_64
from swathe.measure import columns

FILE = Path(__file__).with_name("goals.toml")
# Architecture and flavor.
BUILT_AS = (X86_64.name, "bench")
# Values by bench, case and metric.
Tables = dict[str, dict[str, dict[str, dict[str, Any]]]]


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
    """The goal for one metric of one case, in the metric's unit; None means unknown.

    of_stock makes the limit a multiple of stock's figure in the same run: 0.8 where swathe should
    take a fifth less, 1.003 where it should cost nothing and the spread is 0.3 %. Where that figure
    is not known, the limit is goal or, without one, the same multiple of the stock given here.
    """

    bench: str
    case: str
    metric: str
    stock: int | float | None = None
    newest: int | float | None = None
    goal: int | float | None = None
    note: str = ""
    of_stock: float | None = None

    def wanted(self, stock: float | None = None) -> float | None:
        """Return the limit; stock is stock's figure in the same run."""
        if stock is None:
            if self.goal is not None:
                return self.goal
            stock = self.stock
        if self.of_stock is None or stock is None:
            return self.goal
        return stock * self.of_stock

    def met(self, value: float, stock: float | None = None) -> bool:
        """Whether value is within the limit; without a limit every value is."""
        wanted = self.wanted(stock)
        return wanted is None or value <= wanted


class KernelGoals(Struct, frozen=True, forbid_unknown_fields=True):
    """The goals on one kernel, and the origin of its stock figures.

    switched_off is the limit of what stock takes with mm/unmap compiled in, as a multiple of the
    kernel of the untouched tree.
    """

    source: str = ""
    switched_off: float | None = None
    goals: tuple[Goal, ...] = ()


def parse(text: str) -> dict[str, KernelGoals]:
    """Parse each kernel's goals by its series; what no series is said of is the LTS kernel's."""
    content = reading.toml(text, FILE.name)
    others = {
        series: reading.convert(content.pop(series, {}), dict[str, Any], f"{FILE.name}: {series}")
        for series in (kernel.series for kernel in columns.OTHERS)
    }
    every = {columns.LTS.series: content, **others}
    return {series: of_kernel(series, said) for series, said in every.items()}


def of_kernel(series: str, content: dict[str, Any]) -> KernelGoals:
    """Parse the tables BENCH.CASE, which hold one metric per line, and what stands above them."""
    where = f"{FILE.name}: {series}"
    about = {name: content.pop(name) for name in ("source", "switched_off") if name in content}
    tables = reading.convert(content, Tables, where)
    found = tuple(
        reading.convert(
            {"bench": bench, "case": case, "metric": metric, **said},
            Goal,
            f"{where}: {bench}.{case}.{metric}",
        )
        for bench, cases in tables.items()
        for case, metrics in cases.items()
        for metric, said in metrics.items()
    )
    return structs.replace(reading.convert(about, KernelGoals, where), goals=found)


@functools.cache
def every() -> dict[str, KernelGoals]:
    return parse(FILE.read_text())


def load(series: str = columns.LTS.series) -> KernelGoals:
    """Return one kernel's goals, in the file's order; none for a kernel that has none."""
    return every().get(series, KernelGoals())


def are_for(kernel: build.KernelRequest) -> bool:
    """Whether the goals of the kernel's series were set for this build of it."""
    usual = kernel.source is None or kernel.kernel == source.FROM_TARBALL
    return usual and (kernel.arch, kernel.flavor) == BUILT_AS


def find(bench: str, case: str, metric: str, series: str = columns.LTS.series) -> Goal | None:
    """Return the goal for one row, or None."""
    wanted = (bench, case, metric)
    return next((g for g in load(series).goals if (g.bench, g.case, g.metric) == wanted), None)
