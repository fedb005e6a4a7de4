# SPDX-License-Identifier: GPL-2.0-only
"""What stock kernels took before this work, and what is wanted of Swathe: goals.toml."""

import functools
import tomllib
from pathlib import Path
from typing import Any

from msgspec import Struct

from swathe.base import reading

FILE = Path(__file__).with_name("goals.toml")
# By bench, case and metric.
Tables = dict[str, dict[str, dict[str, dict[str, Any]]]]


class Goal(Struct, frozen=True, forbid_unknown_fields=True):
    """One metric of one case, in the metric's own unit; None is not known.

    Where swathe is to cost nothing, over_stock is what part of stock's figure of the
    same run it may be above that; goal is what that was when it was set.
    """

    bench: str
    case: str
    metric: str
    stock: int | float | None = None
    newest: int | float | None = None
    goal: int | float | None = None
    note: str = ""
    over_stock: float | None = None

    def wanted(self, stock: float | None = None) -> float | None:
        """What is not to be exceeded, beside what stock took in the same run."""
        if self.over_stock is None or stock is None:
            return self.goal
        return stock * (1 + self.over_stock)

    def met(self, value: float, stock: float | None = None) -> bool:
        """Whether this is what was wanted; where nothing was, everything is."""
        wanted = self.wanted(stock)
        return wanted is None or value <= wanted


def parse(text: str) -> tuple[Goal, ...]:
    """The tables BENCH.CASE, a metric a line."""
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
    """All of them, in the file's order."""
    return parse(FILE.read_text())


@functools.cache
def source() -> str:
    """Where the figures of the stock kernels are from."""
    return str(tomllib.loads(FILE.read_text())["source"])


def find(bench: str, case: str, metric: str) -> Goal | None:
    """The goal for one row, if there is one."""
    wanted = (bench, case, metric)
    return next((g for g in load() if (g.bench, g.case, g.metric) == wanted), None)
