# SPDX-License-Identifier: GPL-2.0-only
"""What a report is written from."""

from collections.abc import Mapping
from dataclasses import dataclass

from swathe.measure import compare
from swathe.measure.columns import KernelColumns
from swathe.measure.compare import Line
from swathe.measure.figures import Figures, Profile, plain
from swathe.measure.goals import KernelGoals


@dataclass(frozen=True)
class Material:
    """All there is to write about; rows already put side by side."""

    figures: Figures
    lines: tuple[Line, ...]
    goals: Mapping[str, KernelGoals]

    def wanted(self, kernel: KernelColumns) -> KernelGoals:
        return self.goals.get(kernel.series, KernelGoals())

    def of(self, bench: str) -> list[Line]:
        return [line for line in self.lines if line.bench == bench]

    def off(self, kernel: KernelColumns) -> list[Line]:
        """Stock of a kernel beside its untouched tree, each pair of one run."""
        runs = self.figures.runs
        mine = [index for index, run in enumerate(runs) if run.kernel is kernel]
        rows = [row for index in mine for row in self.figures.beside_pristine(index)]
        return [line.on(kernel) for line in compare.lines(rows, ())]

    def profiles_of(self, bench: str) -> list[Profile]:
        return [one for one in self.figures.profiles if one.bench == bench]


def usual(line: Line) -> bool:
    """Whether a line is of a run with the usual options: goals are for these."""
    return plain(line.case) == line.case
