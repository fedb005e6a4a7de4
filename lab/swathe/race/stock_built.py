# SPDX-License-Identifier: GPL-2.0-only
"""Show bugs of stock kernels on kernels that are built here, in the configuration that each needs:
the untouched tree, one with patches for mainline, or one with Swathe, where many must be mended.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from swathe.guest import session, vm
from swathe.kernel import build
from swathe.race import image, places, stock
from swathe.race.judge import Outcome
from swathe.race.play import RaceRequest, Stage
from swathe.race.stock import Shown, StockBug


@dataclass(frozen=True)
class ShowingOnBuilt:
    """Shows bugs on the kernel of the request, built in the variant of each bug."""

    request: RaceRequest
    stop: threading.Event

    def all(self, bugs: Sequence[StockBug]) -> Iterator[Shown]:
        """Yield what came of each bug that the series has, and that anything shows."""
        series = self.request.kernel.kernel
        wanted = [bug for bug in bugs if stock.plays(bug, series)]
        for variant in sorted({bug.built for bug in wanted}):
            stage = self.stage(variant)
            for bug in wanted:
                if bug.built == variant:
                    yield self.one(stage, bug)

    def stage(self, variant: str) -> Stage:
        built = build.build(replace(self.request.kernel, variant=variant))
        text = (built.out / "System.map").read_text()
        return Stage(built, places.parse(text, f"Linux {built.version}"), self.request)

    def one(self, stage: Stage, bug: StockBug) -> Shown:
        why = stock.mended(bug, self.request)
        if bug.scene:
            played = stock.played_twice(stage, bug, self.stop)
            return stock.compared(bug, why, *played)
        return stock.judged(bug, why, *(self.plain(stage, bug, way) for way in stock.WAYS))

    def plain(self, stage: Stage, bug: StockBug, way: str) -> Outcome:
        """Run a program without gates, or its control, in a guest of its own: it may end it."""
        program = stock.program_of(bug)
        words = " ".join(filter(None, (image.BOOT, stock.BOOT, self.request.boot)))
        machine = vm.checking(stage.built, image.CPUS, self.request.timeout, words)
        line = stock.runs(bug, way, self.request)
        work = session.job([*self.request.lines, line], {f"/bin/{program.name}": program})
        heard = session.run(machine, work, "race-stock", stop=self.stop).not_stopped()
        return stock.outcome(bug, way, heard)


def show(names: Sequence[str], request: RaceRequest) -> int:
    """Print what came of each bug; the exit status is 1 if that is not what the list says."""
    showing = ShowingOnBuilt(request, threading.Event())
    return stock.tell(showing.all(stock.named(names, stock.load())))
