# SPDX-License-Identifier: GPL-2.0-only
"""The bugs of docs/stock-bugs.md, shown on Debian's kernels: scenes/stock/bugs.toml."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from swathe.base import reading, ui
from swathe.base.errors import CheckFailed, UsageError
from swathe.base.paths import BUILD, SCENES
from swathe.guest import session
from swathe.guest.session import Transcript
from swathe.kernel import build, compiler
from swathe.race import debian, image, judge, play, scene
from swathe.race.debian import ImagePackages
from swathe.race.judge import Outcome, Played
from swathe.race.places import Symbols
from swathe.race.play import RaceRequest, Stage
from swathe.race.scene import Scene

HOME = SCENES / "stock"
LIST = HOME / "bugs.toml"
LIBRARY = SCENES / "lib" / "scene.c"
ROUNDS = 20
# The guest of the programs: memory that moves into swap, and hugetlb pages of two sizes.
MODULES = ("zram",)
BOOT = "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=1"
SWAP = (
    "echo 512M >/sys/block/zram0/disksize",
    "mkswap /dev/zram0 >/dev/null",
    "swapon /dev/zram0",
)
CONTROL = "control"


class StockBug(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What shows a bug; what the keys mean is said in scenes/stock/bugs.toml."""

    page: str
    name: str
    kernels: tuple[str, ...]
    program: str = ""
    arguments: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    scene: str = ""
    free: bool = False
    gate: str = ""
    why: str = ""


class StockBugs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    images: dict[str, ImagePackages]
    bug: tuple[StockBug, ...]


@dataclass(frozen=True)
class Shown:
    """What came of a bug on a kernel: in how many rounds it was seen.

    control: the same without what causes it; None: the guest did not come to that
    why: why it is not possible
    """

    bug: StockBug
    kernel: str
    rounds: int = 0
    seen: int = 0
    said: str = ""
    control: Outcome | None = None
    why: str = ""

    @property
    def expected(self) -> bool:
        return self.kernel in self.bug.kernels

    @property
    def shown(self) -> bool:
        """A bug that the control shows as often is none that the program has caused."""
        if not self.control or not self.control.rounds:
            return False
        return self.seen > (0 if self.bug.free else self.control.wrong)

    @property
    def surprising(self) -> bool:
        """What did not run proves nothing, either."""
        return not self.why and (not self.rounds or self.shown != self.expected)

    def __str__(self) -> str:
        if self.why:
            return f"{self.bug.name}: not possible here: {self.why}"
        word = "shown" if self.shown else "not shown"
        known = "" if self.expected else f" (Linux {self.kernel} does not have it)"
        counted = f"{self.seen} of {self.rounds} rounds"
        if self.control:
            counted += f", control: {self.control.wrong} of {self.control.rounds}"
        return f"{self.bug.name}: {word}{known}: {counted}{self.said and f': {self.said}'}"


def load() -> StockBugs:
    return reading.convert(reading.toml(LIST.read_text(), LIST.name), StockBugs, LIST.name)


def named(names: Sequence[str], bugs: StockBugs) -> list[StockBug]:
    known = [bug.name for bug in bugs.bug]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no bug {name!r}; there are {', '.join(known)}")
    return [bug for bug in bugs.bug if not names or bug.name in names]


def scene_of(bug: StockBug) -> Scene:
    return scene.read(SCENES / f"{bug.scene}.toml")


def compiled(source: Path) -> Path:
    headers = sorted(LIBRARY.parent.glob("*.h"))
    return compiler.compile_program([source, LIBRARY], headers=headers)


@dataclass(frozen=True)
class Showing:
    """Shows bugs on the kernel of a series."""

    series: str
    packages: ImagePackages
    request: RaceRequest
    stop: threading.Event

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
        wanted = [bug for bug in load().bug if bug.scene and self.series in bug.kernels]
        return image.symbols(self.built, None, map(scene_of, wanted))

    def all(self, bugs: Sequence[StockBug]) -> Iterator[Shown]:
        """Yield what came of each bug: one guest for the programs, two for each scene."""
        plain = self.plain([bug for bug in bugs if bug.program])
        for bug in bugs:
            if bug.program:
                yield plain[bug.name]
            elif bug.scene and self.series in bug.kernels:
                yield self.scene(bug)
            else:
                yield Shown(bug, self.series, why=bug.why or f"no scene for Linux {self.series}")

    def plain(self, bugs: Sequence[StockBug]) -> Mapping[str, Shown]:
        """Run programs without gates, each with its control behind."""
        if not bugs:
            return {}
        made = {bug.program: compiled(HOME / f"{bug.program}.c") for bug in bugs}
        kept = BUILD / "stock" / self.series / "modules"
        modules = debian.modules(self.home, MODULES, kept)
        lines = [f"insmod /lib/{path.name}" for path in modules]
        lines += SWAP
        for bug in bugs:
            lines += self.runs(bug)
        files = {f"/bin/{path.name}": path for path in made.values()}
        files |= {f"/lib/{path.name}": path for path in modules}
        machine = image.machine(self.built, self.boot(BOOT), self.request.timeout)
        work = session.job(lines, files)
        heard = session.run(machine, work, "race-stock", stop=self.stop).not_stopped()
        return {bug.name: self.judged(bug, heard) for bug in bugs}

    def boot(self, words: str) -> str:
        return f"{words} {self.request.boot}".strip()

    def runs(self, bug: StockBug) -> Iterator[str]:
        rounds = str(self.request.rounds or ROUNDS)
        for way, arguments in (("shows", bug.arguments), (CONTROL, bug.control)):
            words = f"timeout {play.LIMIT} /bin/{bug.program}", rounds, *arguments
            yield f"report {way} {bug.name} -- {' '.join(words)}"

    def judged(self, bug: StockBug, heard: Transcript) -> Shown:
        found = [judge.outcome(section) for section in heard.of("shows", bug.name)]
        control = [judge.outcome(section) for section in heard.of(CONTROL, bug.name)]
        if not found or not control:
            return Shown(bug, self.series, said=str(heard.lost or "the program did not run"))
        (one,), (other,) = found, control
        said = one.said or other.said
        return Shown(bug, self.series, one.rounds, one.wrong, said, other)

    def scene(self, bug: StockBug) -> Shown:
        """Play a scene, and its control."""
        wanted = scene_of(bug)
        program = compiled(SCENES / Path(bug.scene).parent / f"{wanted.program}.c")
        request = replace(self.request, image=self.built.image)
        control = msgspec.structs.replace(wanted, arguments=bug.control or wanted.arguments)
        found = [
            play.attempt(Stage(self.built, self.symbols, way), bug.name, one, program, self.stop)
            for way, one in (
                (request, wanted),
                (replace(request, control=not bug.gate), control),
            )
        ]
        return self.compared(bug, *found)

    def compared(self, bug: StockBug, played: Played, control: Played) -> Shown:
        rounds, seen = counted(bug, played)
        outcome = Outcome("", *counted(bug, control))
        said = played.plain.said if played.plain else ""
        if bug.gate and seen:
            said = f"a processor came to gate {bug.gate}"
        missed = "; ".join(judge.missed(played)) if not seen else ""
        lost = played.lost if not rounds else ""
        return Shown(bug, self.series, rounds, seen, missed or lost or said, outcome)


def counted(bug: StockBug, played: Played) -> tuple[int, int]:
    """Return how many rounds there were in all guests, and in how many the bug was seen."""
    plain = [one.plain for one in (played, *played.again) if one.plain]
    rounds = sum(one.rounds for one in plain)
    if bug.gate:
        return rounds, sum(seen.hits for seen in played.gates if seen.name == bug.gate)
    return rounds, sum(one.wrong for one in plain)


def show(names: Sequence[str], request: RaceRequest) -> int:
    """Print what came of each bug; the exit status is 1 if that is not what the list says."""
    bugs, series = load(), request.kernel.kernel
    if series not in bugs.images:
        raise CheckFailed(f"there is no image of Linux {series}: {', '.join(bugs.images)}")
    showing = Showing(series, bugs.images[series], request, threading.Event())
    found = []
    for one in showing.all(named(names, bugs)):
        ui.result(str(one))
        found.append(one)
    ui.result(summary(found))
    return int(any(one.surprising for one in found))


def summary(found: Sequence[Shown]) -> str:
    shown = sum(one.shown and not one.why for one in found)
    impossible = sum(bool(one.why) for one in found)
    return f"{shown} shown, {len(found) - shown - impossible} not shown, {impossible} not possible"
