# SPDX-License-Identifier: GPL-2.0-only
"""A model of time, made of what the profiler counts, and its check against a published table.

Nanoseconds a page: instructions, lines from the last-level cache and lines from memory, each at a
cost, and locked instructions at a published one. The three costs are fitted on three rows of thread
S2's table; the others are predicted.
"""

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path

import numpy
from msgspec import Struct
from numpy.typing import NDArray

from swathe.base import reading
from swathe.base.errors import CheckFailed
from swathe.measure import memory, rows

Array = NDArray[numpy.float64]
# Above this, times are not shown beside figures.
LIMIT = 0.20
PAGE = 4096
FILE = Path(__file__).with_name("published.toml")


@dataclass(frozen=True)
class Work:
    """What a call does a page, as far as the model knows it."""

    instructions: float
    locked: float
    hits: float
    lines: float


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody else's table of times for a bench of ours, by case.

    Its kernel took more_locked locked instructions a page more than stock 6.12, but in rows of
    as_today.
    """

    source: str
    bench: str
    processor: str
    pages: int
    fitted: tuple[str, ...]
    seconds: dict[str, float]
    locked: float
    more_locked: float
    as_today: tuple[str, ...]

    @property
    def mib(self) -> int:
        return self.pages * PAGE >> 20

    def wanted(self, case: str) -> float:
        """Return the published nanoseconds a page."""
        return self.seconds[case] * 1e9 / self.pages

    def as_it_was(self, case: str, work: Work) -> Work:
        """Return what its kernel did where stock 6.12 does this."""
        more = 0 if case in self.as_today else self.more_locked
        return replace(work, locked=work.locked + more)


@dataclass(frozen=True)
class UnitCosts:
    """Nanoseconds of an instruction, of a line from the last-level cache, and of one from memory;
    locked is published.
    """

    instruction: float
    hit: float
    line: float
    locked: float

    def of(self, work: Work) -> float:
        return (
            self.instruction * work.instructions
            + self.hit * work.hits
            + self.line * work.lines
            + self.locked * work.locked
        )


@dataclass(frozen=True)
class Prediction:
    """One row of the check: nanoseconds a page."""

    case: str
    fitted: bool
    work: Work
    published: float
    modelled: float

    @property
    def error(self) -> float:
        return self.modelled / self.published - 1


@dataclass(frozen=True)
class TimeCheck:
    """The fitted costs, and every row of the published table."""

    costs: UnitCosts
    rows: tuple[Prediction, ...]

    @property
    def median_error(self) -> float:
        """The median of the absolute errors of the rows that were not fitted."""
        return statistics.median(abs(row.error) for row in self.rows if not row.fitted)

    @property
    def holds(self) -> bool:
        return self.median_error <= LIMIT


def published() -> Published:
    return reading.convert(reading.toml(FILE.read_text(), FILE.name), Published, FILE.name)


def work_of(pages: float, counts: Mapping[str, float]) -> Work:
    """Return the work a page of one run of profile --memory."""

    def level(name: str) -> float:
        return sum(counts.get(f"{name}.{area}", 0) for area in memory.AREAS)

    return Work(
        counts[rows.MAIN_METRIC] / pages,
        counts["atomics"] / pages,
        (level("l2") - level("llc")) / pages,
        level("llc") / pages,
    )


def read(path: Path, config: str) -> Work:
    """Read a file that profile --memory wrote."""
    try:
        run = json.loads(path.read_text())["configs"][config]
        return work_of(run["pages"], run["counts"])
    except (OSError, ValueError, KeyError) as error:
        raise CheckFailed(f"{path} is no file of profile --memory: {error!r}") from error


def fit(works: Mapping[str, Work], table: Published) -> UnitCosts:
    """Fit the three costs on the table's rows for that: least squares of the relative errors.

    A line from memory costs no less than one from the last-level cache: what is fitted is the cost
    of a line from either, and what one from memory costs more.
    """
    pairs = [(works[case], table.wanted(case)) for case in table.fitted]
    left = [[w.instructions / ns, (w.hits + w.lines) / ns, w.lines / ns] for w, ns in pairs]
    right = [1 - table.locked * w.locked / ns for w, ns in pairs]
    instruction, hit, more = solve(numpy.array(left), numpy.array(right))
    return UnitCosts(instruction, hit, hit + more, table.locked)


def solve(left: Array, right: Array) -> list[float]:
    """Solve left x = right for x that leave the least squares; no cost is negative."""
    width = left.shape[1]
    best, least = [0.0] * width, math.inf
    for used in chain.from_iterable(combinations(range(width), n) for n in range(1, width + 1)):
        tried = numpy.zeros(width)
        tried[list(used)] = numpy.linalg.lstsq(left[:, used], right, rcond=None)[0]
        rest = float(numpy.sum((left @ tried - right) ** 2))
        if tried.min() >= 0 and rest < least:
            best, least = tried.tolist(), rest
    return best


def check(works: Mapping[str, Work], table: Published) -> TimeCheck:
    """Fit the model, and predict all rows of the table."""
    costs = fit(works, table)
    found = [
        Prediction(case, case in table.fitted, works[case], table.wanted(case),
                   costs.of(works[case]))
        for case in table.seconds
    ]  # fmt: skip
    return TimeCheck(costs, tuple(found))
