# SPDX-License-Identifier: GPL-2.0-only
"""Show bugs of stock kernels on Debian's: a kernel that nobody here has built or changed."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import BUILD
from swathe.base.verdicts import Test, Verdict
from swathe.guest import clock, session
from swathe.guest.clock import Clock
from swathe.guest.session import Transcript
from swathe.kernel import build
from swathe.kernel.build import KernelRequest
from swathe.race import debian, image, play, stock
from swathe.race.debian import ImagePackages
from swathe.race.places import Symbols
from swathe.race.play import RaceRequest, Stage
from swathe.race.stock import Shown, StockBug

PART = "stock"
# The guest of the programs has memory that moves into swap.
MODULES = ("zram",)
SWAP = (
    "echo 512M >/sys/block/zram0/disksize",
    "mkswap /dev/zram0 >/dev/null",
    "swapon /dev/zram0",
)


@dataclass(frozen=True)
class ShowingOnImage:
    """Shows bugs on the kernel of a series; request.kernel is an untouched one."""

    packages: ImagePackages
    request: RaceRequest
    stop: threading.Event

    @property
    def series(self) -> str:
        return self.request.kernel.kernel

    @cached_property
    def home(self) -> Path:
        return debian.fetch(self.series, self.packages)

    @cached_property
    def built(self) -> build.BuiltKernel:
        found = image.built(debian.image(self.home), self.request.kernel.target)
        return replace(found, version=self.packages.packages[0])

    @cached_property
    def symbols(self) -> Symbols:
        """Of all scenes: they are read in a guest."""
        wanted = [bug for bug in stock.load().bug if bug.scene and self.reason(bug) == ""]
        return image.symbols(self.built, None, map(stock.scene_of, wanted))

    def reason(self, bug: StockBug) -> str:
        """Return why a bug cannot be shown here: scenes name functions of their kernels."""
        if bug.why or not bug.scene or stock.plays(bug, self.series):
            return bug.why
        return f"no scene for Linux {self.series}"

    def mended(self, bug: StockBug) -> str:
        return stock.mended(bug, self.request)

    def all(self, bugs: Sequence[StockBug]) -> Iterator[Shown]:
        """Yield what came of each bug: one guest for the programs, two for each scene."""
        plain = self.plain([bug for bug in bugs if bug.program and not bug.why])
        for bug in bugs:
            if why := self.reason(bug):
                yield Shown(bug, why=why)
            elif bug.program:
                yield plain[bug.name]
            else:
                yield self.scene(bug)

    def plain(self, bugs: Sequence[StockBug]) -> Mapping[str, Shown]:
        """Run programs without gates, each with its control behind."""
        if not bugs:
            return {}
        made = {bug.program: stock.program_of(bug) for bug in bugs}
        kept = BUILD / "stock" / self.series / "modules"
        modules = debian.modules(self.home, MODULES, kept)
        lines = [f"insmod /lib/{path.name}" for path in modules]
        lines += SWAP
        lines += [stock.runs(bug, way, self.request) for bug in bugs for way in stock.WAYS]
        files = {f"/bin/{path.name}": path for path in made.values()}
        files |= {f"/lib/{path.name}": path for path in modules}
        words = f"{stock.BOOT} {self.request.boot}".strip()
        machine = image.machine(self.built, words, self.request.timeout)
        work = session.job(lines, files)
        heard = session.run(machine, work, "race-stock", stop=self.stop).not_stopped()
        return {bug.name: self.judged(bug, heard) for bug in bugs}

    def judged(self, bug: StockBug, heard: Transcript) -> Shown:
        both = [stock.outcome(bug, way, heard) for way in stock.WAYS]
        return stock.judged(bug, self.mended(bug), *both)

    def scene(self, bug: StockBug) -> Shown:
        """Play a scene, and its control."""
        request = replace(self.request, image=self.built.image)
        stage = Stage(self.built, self.symbols, request)
        return stock.compared(bug, self.mended(bug), *stock.played_twice(stage, bug, self.stop))


def showing(series: str, request: RaceRequest) -> ShowingOnImage:
    """Return what shows bugs on the image of a series, whatever kernel the request names."""
    untouched = replace(request.kernel, kernel=series, pristine=True)
    packages = stock.load().images[series]
    return ShowingOnImage(packages, replace(request, kernel=untouched), threading.Event())


def test(kernel: KernelRequest) -> list[Test]:
    """Show all bugs on each image; none is where Debian does not offer it any more."""
    if clock.possible(Clock.HOST, kernel.target) is not Clock.HOST:
        return [Test(PART, Verdict.SKIPPED, play.NO_CLOCK)]
    bugs, request = stock.load(), RaceRequest(kernel, (), play.TIMEOUT)
    return [one for series in bugs.images for one in tests(showing(series, request), bugs.bug)]


def tests(on: ShowingOnImage, bugs: Sequence[StockBug]) -> Iterator[Test]:
    """Judge by what the list says of each bug; what is not possible is left out."""
    try:
        found = [one for one in on.all(bugs) if not one.why]
    except EnvironmentLacks as error:
        yield Test(f"{PART} {on.series}", Verdict.SKIPPED, str(error))
        return
    for one in found:
        verdict = Verdict.FAILED if one.surprising else Verdict.PASSED
        yield Test(f"{PART} {on.series} {one.bug.name}", verdict, str(one))


def show(names: Sequence[str], request: RaceRequest) -> int:
    """Print what came of each bug; the exit status is 1 if that is not what the list says."""
    bugs, series = stock.load(), request.kernel.kernel
    if series not in bugs.images:
        raise CheckFailed(f"there is no image of Linux {series}: {', '.join(bugs.images)}")
    return stock.tell(showing(series, request).all(stock.named(names, bugs)))
