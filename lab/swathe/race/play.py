# SPDX-License-Identifier: GPL-2.0-only
"""Play scenes: boot a guest for each."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.paths import SCENES, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.guest import clock, session, vm
from swathe.guest.clock import Clock
from swathe.guest.session import Transcript
from swathe.kernel import build, compiler, mutants
from swathe.kernel.version import Version
from swathe.race import gates, image, judge, places
from swathe.race.judge import Played, Witness
from swathe.race.places import Symbols
from swathe.race.scene import Scene, load

# Seconds by the guest's clock.
LIMIT = 120
MUTANTS = "/sys/module/unmap/parameters/mutants"
ENABLED = "/sys/kernel/mm/unmap/enabled"
POLICY = "/sys/kernel/mm/unmap/tables_policy"
# With the default policy a page table stays that comes back in each round.
EAGER = f"[ ! -e {POLICY} ] || echo eager >{POLICY}"
PART = "race"
# How often a guest is booted whose emulator has made a mistake.
BOOTS = 3
# How many guests play a scene, until its gates were opened in as many rounds as it wants: a round
# is missed where the kernel does something else at that moment.
GUESTS = 3
PATCHED = "Oops: int3"
NO_CLOCK = (
    "gates need processors that run in parallel, and the frequency of this machine's time-stamp "
    "counter is not known"
)
# Seconds until a guest that is dead is given up.
TIMEOUT = 600


@dataclass(frozen=True)
class RaceRequest:
    """rounds: 0: as many as each scene wants. control: without gates.

    image: a kernel that was not built here, instead of kernel, whose System.map is symbols
    off: bits of mm/unmap that are switched off
    """

    kernel: build.KernelRequest
    scenes: tuple[str, ...]
    timeout: float
    rounds: int = 0
    control: bool = False
    mutants: bool = False
    boot: str = ""
    image: Path | None = None
    symbols: Path | None = None
    off: int = 0

    @property
    def lines(self) -> list[str]:
        """A guest's lines that set up mm/unmap, if it has it."""
        if not self.off:
            return [EAGER]
        switch = f"echo $(($(cat {ENABLED}) & ~{self.off:#x})) >{ENABLED}"
        return [EAGER, f"[ ! -e {ENABLED} ] || {switch}"]


@dataclass(frozen=True)
class Stage:
    """A kernel on which scenes are played, and its functions."""

    built: build.BuiltKernel
    symbols: Symbols
    request: RaceRequest

    def machine(self, scene: Scene, program: Path, home: Path) -> vm.Machine:
        """Return the guest's machine; the plugin keeps its files in home."""
        built, request = self.built, self.request
        words = " ".join(filter(None, (scene.boot, request.boot)))
        if request.image:
            machine = image.machine(built, words, request.timeout)
        else:
            boot = f"{image.BOOT} {words}".strip()
            machine = vm.checking(built, image.CPUS, request.timeout, boot)
        if machine.clock is not Clock.HOST:
            raise EnvironmentLacks(NO_CLOCK)
        if request.control:
            return machine
        symbols = places.of_program(program)
        text = gates.told(scene.gates(built.target.name), self.symbols, symbols)
        return replace(machine, options=gates.option(home, built.target, text))


def stage(request: RaceRequest) -> tuple[Stage, dict[str, Scene]]:
    """Return the kernel, and the scenes that it can play."""
    if request.image:
        built = image.built(request.image, request.kernel.target)
        found = {name: load(name) for name in request.scenes}
        return Stage(built, image.symbols(built, request.symbols, found.values()), request), found
    built = build.build(request.kernel)
    text = (built.out / "System.map").read_text()
    found = meant(request.scenes, built)
    return Stage(built, places.parse(text, f"Linux {built.version}"), request), found


def meant(names: Sequence[str], built: build.BuiltKernel) -> dict[str, Scene]:
    """Return the scenes of these names that can be played with this kernel."""
    series, arch = Version.parse(built.version).series, built.target.name
    return {
        name: scene for name in names if arch in (scene := load(name)).arches
        and (not scene.kernels or series in scene.kernels)
    }  # fmt: skip


def test(kernel: build.KernelRequest, names: Sequence[str]) -> list[Test]:
    """Play these scenes, with their mutants, if this machine can."""
    if clock.possible(Clock.HOST, kernel.target) is not Clock.HOST:
        return [Test(PART, Verdict.SKIPPED, NO_CLOCK)]
    played = play_all(RaceRequest(kernel, tuple(names), TIMEOUT, mutants=True))
    return [test for one in played for test in judge.tests(one)]


def play_all(request: RaceRequest) -> list[Played]:
    """Play each scene that the kernel can play, side by side."""
    on, found = stage(request)
    ui.note(f"playing scenes in Linux {on.built.version}")
    for name in request.scenes:
        if name not in found:
            ui.result(f"{name}: not for Linux {on.built.version} on {on.built.target.name}")
    programs = compiler.programs(SCENES, (), on.built.target.compiler)
    tasks = [
        parallel.Task(partial(attempt, on, name, scene, programs[scene.program]), memory=vm.BYTES)
        for name, scene in found.items()
    ]
    return parallel.run(tasks, parallel.processors())


def attempt(on: Stage, name: str, scene: Scene, program: Path, stop: threading.Event) -> Played:
    """Play one scene; one whose places this kernel does not have must not end the others."""
    try:
        return play(on, name, scene, program, stop)
    except CheckFailed as error:
        return Played(name, scene, 0, (), None, "", str(error), on.built.target.name)


def breakable(scene: Scene, built: build.BuiltKernel) -> tuple[str, ...]:
    """Return the scene's mutants, but for those that cannot break this kernel."""
    meant = mutants.meant_for(mutants.load(), Version.parse(built.version), built.target.name)
    return tuple(mutant.name for mutant in meant if mutant.name in scene.mutants)


def play(on: Stage, name: str, scene: Scene, program: Path, stop: threading.Event) -> Played:
    """Play one scene; with its mutants behind, because they may end the guest."""
    broken = breakable(scene, on.built) if on.request.mutants else ()
    staged = Staged(on, name, scene, program)
    played = replace(staged.play(broken, stop), mutants=broken)
    while judge.is_short(played) and len(played.again) < GUESTS - 1:
        ui.note(f"  {name}: a gate was not opened in each round; it gets another guest")
        played = judge.with_more(played, staged.play((), stop))
    return played


@dataclass(frozen=True)
class Staged:
    """A scene, and its program, on a kernel."""

    on: Stage
    name: str
    scene: Scene
    program: Path

    def play(self, broken: Sequence[str], stop: threading.Event) -> Played:
        """Boot a guest that runs the program, and again with each of these mutants."""
        on, rounds = self.on, self.on.request.rounds or self.scene.rounds
        words = (f"timeout {LIMIT} /bin/{self.program.name}", str(rounds), *self.scene.arguments)
        command = " ".join(words)
        lines = ["cd /", *on.request.lines, f"report scene {self.name} -- {command}"]
        for mutant in broken:
            lines += [f"echo {mutant} >{MUTANTS}", f"report mutant {mutant} -- {command}"]
        work = session.job(lines, {f"/bin/{self.program.name}": self.program})
        for _ in range(BOOTS):
            with scratch(f"race-{self.name}") as home:
                machine = on.machine(self.scene, self.program, home)
                heard = session.run(machine, work, f"race-{self.name}", stop=stop).not_stopped()
                report = None if on.request.control else gates.read(home)[0]
            if not patched(heard):
                break
        return judge.judged(self.name, self.scene, rounds, Witness(heard, report, on.built))


def patched(heard: Transcript) -> bool:
    """Whether the kernel patched itself before the program began, and QEMU ran the old code: see
    vm.patches_code_safely().
    """
    return not heard.sections and PATCHED in heard.console
