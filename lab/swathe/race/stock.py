# SPDX-License-Identifier: GPL-2.0-only
"""The bugs of docs/stock-bugs.md: scenes/stock/bugs.toml says what shows each, and where.

They are shown on Debian's kernels (stock_image.py), and on kernels that are built here: untouched,
with patches for mainline, or with Swathe (stock_built.py).
"""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from swathe.base import reading, ui
from swathe.base.errors import UsageError
from swathe.base.paths import SCENES
from swathe.guest import kernel_log
from swathe.guest.session import Transcript
from swathe.kernel import compiler, mainline
from swathe.race import judge, play, scene
from swathe.race.debian import ImagePackages
from swathe.race.judge import Outcome, Played
from swathe.race.play import RaceRequest, Stage
from swathe.race.scene import Scene

HOME = SCENES / "stock"
LIST = HOME / "bugs.toml"
LIBRARY = SCENES / "lib" / "scene.c"
ROUNDS = 20
# The guest of the programs has hugetlb pages of two sizes.
BOOT = "hugepagesz=1G hugepages=1 hugepagesz=2M hugepages=1"
WAYS = SHOWS, CONTROL = "shows", "control"
HOOK = "hook"


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
    built: str = "light"
    complains: str = ""
    patches: tuple[str, ...] = ()
    mended: str = ""


class StockBugs(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    images: dict[str, ImagePackages]
    bug: tuple[StockBug, ...]


@dataclass(frozen=True)
class Shown:
    """What came of a bug on a kernel: in how many rounds it was seen.

    mended: why the kernel must not have it; empty if it must
    control: the same without what causes it; None: the guest did not come to that
    why: why it is not possible
    """

    bug: StockBug
    mended: str = ""
    rounds: int = 0
    seen: int = 0
    said: str = ""
    control: Outcome | None = None
    why: str = ""

    @property
    def shown(self) -> bool:
        """A bug that the control shows as often is none that the program has caused."""
        if not self.control or not self.control.rounds:
            return False
        return self.seen > (0 if self.bug.free else self.control.wrong)

    @property
    def surprising(self) -> bool:
        """What did not run proves nothing, either."""
        return not self.why and (not self.rounds or self.shown == bool(self.mended))

    def __str__(self) -> str:
        if self.why:
            return f"{self.bug.name}: not possible here: {self.why}"
        word = "shown" if self.shown else "not shown"
        known = f" ({self.mended})" if self.mended else ""
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


def mended(bug: StockBug, request: RaceRequest) -> str:
    """Return what has mended a bug in the kernel that is asked for; empty: it is there."""
    kernel = request.kernel
    if kernel.kernel not in bug.kernels:
        return f"Linux {kernel.kernel} does not have it"
    applied = {patch.name for patch in mainline.chosen(kernel.patches)}
    if found := sorted(applied & {*bug.patches}):
        return f"mended by {', '.join(found)}"
    if kernel.pristine or not bug.mended:
        return ""
    if bug.mended == HOOK:
        return "mended by a hook"
    return "" if int(bug.mended, 16) & request.off else f"mended by bit {bug.mended}"


def plays(bug: StockBug, series: str) -> bool:
    """Whether there is anything that shows the bug on kernels of a series that has it."""
    if not bug.scene:
        return bool(bug.program) and series in bug.kernels
    return series in bug.kernels and series in (scene_of(bug).kernels or bug.kernels)


def scene_of(bug: StockBug) -> Scene:
    return scene.read(SCENES / f"{bug.scene}.toml")


def compiled(source: Path) -> Path:
    headers = sorted(LIBRARY.parent.glob("*.h"))
    return compiler.compile_program([source, LIBRARY], headers=headers)


def program_of(bug: StockBug) -> Path:
    """Compile the program of a bug, or of its scene."""
    if bug.program:
        return compiled(HOME / f"{bug.program}.c")
    return compiled(SCENES / Path(bug.scene).parent / f"{scene_of(bug).program}.c")


def runs(bug: StockBug, way: str, request: RaceRequest) -> str:
    """Return a guest's line that runs a program, or its control."""
    rounds = str(request.rounds or ROUNDS)
    arguments = bug.control if way == CONTROL else bug.arguments
    words = f"timeout {play.LIMIT} /bin/{bug.program}", rounds, *arguments
    return f"report {way} {bug.name} -- {' '.join(words)}"


def outcome(bug: StockBug, way: str, heard: Transcript) -> Outcome:
    """Return what came of a program, or its control; no rounds if it did not run."""
    found = [judge.outcome(section) for section in heard.of(way, bug.name)]
    one = found[0] if found else Outcome("", 0, 0, str(heard.lost or "the program did not run"))
    if not bug.complains:
        return one
    said = next(filter(re.compile(bug.complains).search, kernel_log.find(heard.console)), "")
    return Outcome("", max(one.rounds, 1), 1, said) if said else replace(one, wrong=0)


def judged(bug: StockBug, why: str, one: Outcome, control: Outcome) -> Shown:
    """Judge a program and its control."""
    return Shown(bug, why, one.rounds, one.wrong, one.said or control.said, control)


def played_twice(stage: Stage, bug: StockBug, stop: threading.Event) -> tuple[Played, Played]:
    """Play a bug's scene, and its control."""
    wanted, program = scene_of(bug), program_of(bug)
    control = msgspec.structs.replace(wanted, arguments=bug.control or wanted.arguments)
    without = replace(stage, request=replace(stage.request, control=not bug.gate))
    return (
        play.attempt(stage, bug.name, wanted, program, stop),
        play.attempt(without, bug.name, control, program, stop),
    )


def compared(bug: StockBug, why: str, played: Played, control: Played) -> Shown:
    """Judge a scene by itself and its control."""
    rounds, seen = counted(bug, played)
    outcome = Outcome("", *counted(bug, control))
    said = played.plain.said if played.plain else ""
    if bug.gate and seen:
        said = f"a processor came to gate {bug.gate}"
    if bug.complains and seen:
        said = played.complaint or said
    missed = "; ".join(judge.missed(played)) if not seen else ""
    lost = played.lost if not rounds else ""
    return Shown(bug, why, rounds, seen, missed or lost or said, outcome)


def counted(bug: StockBug, played: Played) -> tuple[int, int]:
    """Return how many rounds there were in all guests, and in how many the bug was seen.

    What the kernel complains of is seen once, and may end the guest.
    """
    every = (played, *played.again)
    rounds = sum(one.plain.rounds for one in every if one.plain)
    if bug.complains and any(re.search(bug.complains, one.complaint) for one in every):
        return max(rounds, 1), 1
    if bug.gate:
        return rounds, sum(seen.hits for seen in played.gates if seen.name == bug.gate)
    return rounds, sum(one.plain.wrong for one in every if one.plain)


def tell(found: Iterator[Shown]) -> int:
    """Print what came of each bug; the exit status is 1 if that is not what the list says."""
    told = []
    for one in found:
        ui.result(str(one))
        told.append(one)
    ui.result(summary(told))
    return int(any(one.surprising for one in told))


def summary(found: Sequence[Shown]) -> str:
    shown = sum(one.shown and not one.why for one in found)
    impossible = sum(bool(one.why) for one in found)
    return f"{shown} shown, {len(found) - shown - impossible} not shown, {impossible} not possible"
