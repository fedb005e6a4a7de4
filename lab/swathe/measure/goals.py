# SPDX-License-Identifier: GPL-2.0-only
"""goals.toml: figures of stock kernels before this work, and the goals for Swathe."""

import functools
import tomllib
from pathlib import Path
from typing import Any

from msgspec import Struct

from swathe.base import reading

FILE = Path(__file__).with_name("goals.toml")
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


def parse(text: str) -> tuple[Goal, ...]:
    """Parse the tables BENCH.CASE, which hold one metric per line."""
    content = reading.toml(text, FILE.name)
    content.pop("source", None)
    tables = reading.convert(content, Tables, FILE.name)
    return tuple(
        reading.convert(
            {"bench": bench, "case": case, "metric": metric, **said},
            Goal,
            f"{FILE.name}: {bench}.{case}.{metric}",
        )
        for bench, cases in tables.items()
        for case, metrics in cases.items()
        for metric, said in metrics.items()
    )


@functools.cache
def load() -> tuple[Goal, ...]:
    """Return all goals, in the file's order."""
    return parse(FILE.read_text())


@functools.cache
def source() -> str:
    """Return the origin of the stock kernels' figures."""
    return str(tomllib.loads(FILE.read_text())["source"])


def find(bench: str, case: str, metric: str) -> Goal | None:
    """Return the goal for one row, or None."""
    wanted = (bench, case, metric)
    return next((g for g in load() if (g.bench, g.case, g.metric) == wanted), None)
