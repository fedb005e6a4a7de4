# SPDX-License-Identifier: GPL-2.0-only
"""What stock kernels took before this work, and what is wanted of Swathe: goals.toml."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("goals.toml")


@dataclass(frozen=True)
class Goal:
    """One metric of one case, in the metric's own unit; None is not known.

    Where swathe is to cost nothing, over_stock is what part of stock's figure of the
    same run it may be above that; goal is what that was when it was set.
    """

    bench: str
    case: str
    metric: str
    stock: float | None
    newest: float | None
    goal: float | None
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
    found = []
    for bench, cases in tomllib.loads(text).items():
        if bench == "source":
            continue
        for case, metrics in cases.items():
            found += [entry(bench, case, metric, said) for metric, said in metrics.items()]
    return tuple(found)


def entry(bench: str, case: str, metric: str, said: dict[str, object]) -> Goal:
    """One line of the file, which must say nothing that is not understood."""
    where = f"{FILE.name}: {bench}.{case}.{metric}"
    if unknown := set(said) - {"stock", "newest", "goal", "note", "over_stock"}:
        raise ValueError(f"{where}: unknown {', '.join(sorted(unknown))}")

    def number(name: str) -> float | None:
        value = said.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{where}: {name} is not a number")
        return value

    note = str(said.get("note", ""))
    return Goal(
        bench, case, metric,
        number("stock"), number("newest"), number("goal"), note, number("over_stock"),
    )  # fmt: skip


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
