# SPDX-License-Identifier: GPL-2.0-only
"""A model of time, made of what the profiler counts, and its check against a published table.

Nanoseconds a page = instructions x base + lines from memory x line + what is fixed at published
costs. Base and line are fitted on three rows of thread S2's table; the others are predicted.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from swathe.base import reading
from swathe.base.errors import CheckFailed
from swathe.measure import memory, rows

FILE = Path(__file__).with_name("published.toml")


class Published(Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody else's table of times for a bench of ours, by case."""

    source: str
    bench: str
    processor: str
    pages: int
    fitted: tuple[str, ...]
    seconds: dict[str, float]
    locked: float
    llc_hit: float

    def wanted(self, case: str) -> float:
        """Return the published nanoseconds a page."""
        return self.seconds[case] * 1e9 / self.pages


@dataclass(frozen=True)
class Work:
    """What a call does a page, as far as the model knows it."""

    instructions: float
    locked: float
    hits: float
    lines: float


@dataclass(frozen=True)
class Costs:
    """Nanoseconds of an instruction and of a line from memory; the others are published."""

    instruction: float
    line: float
    locked: float
    hit: float

    def of(self, work: Work) -> float:
        return (
            self.instruction * work.instructions
            + self.line * work.lines
            + self.locked * work.locked
            + self.hit * work.hits
        )


@dataclass(frozen=True)
class Prediction:
    """One row of the check: nanoseconds a page."""

    case: str
    fitted: bool
    published: float
    modelled: float

    @property
    def error(self) -> float:
        return self.modelled / self.published - 1


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


def fit(works: Mapping[str, Work], table: Published) -> Costs:
    """Fit base and line on the table's rows for that, by least squares of the relative error."""
    pairs = [(works[case], table.wanted(case)) for case in table.fitted]
    weighted = [
        (
            work.instructions / wanted,
            work.lines / wanted,
            1 - (table.locked * work.locked + table.llc_hit * work.hits) / wanted,
        )
        for work, wanted in pairs
    ]
    base, line = solve(weighted)
    return Costs(base, line, table.locked, table.llc_hit)


def solve(equations: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Solve a x + b y = c for x and y that leave the least squares; neither is negative."""
    aa, ab, bb, ac, bc = (
        sum(e[i] * e[j] for e in equations) for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2))
    )
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        raise CheckFailed("the rows to fit the model on are all alike")
    x, y = (bb * ac - ab * bc) / determinant, (aa * bc - ab * ac) / determinant
    if y < 0:
        return ac / aa, 0.0
    return (x, y) if x >= 0 else (0.0, bc / bb)


def predict(works: Mapping[str, Work], costs: Costs, table: Published) -> Iterator[Prediction]:
    for case in table.seconds:
        if case in works:
            wanted, modelled = table.wanted(case), costs.of(works[case])
            yield Prediction(case, case in table.fitted, wanted, modelled)


def median_error(found: Sequence[Prediction]) -> float:
    """The median of the absolute errors of the rows that were not fitted."""
    return statistics.median(abs(each.error) for each in found if not each.fitted)
