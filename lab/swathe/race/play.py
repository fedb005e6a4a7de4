# SPDX-License-Identifier: GPL-2.0-only
"""Play scenes: boot a guest for each, and judge what its program and its gates have seen."""

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import EnvironmentLacks
from swathe.base.paths import SCENES, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.guest import kernel_log, session, vm
from swathe.guest.clock import Clock
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel import build, compiler
from swathe.kernel.arch import X86_64
from swathe.kernel.version import Version
from swathe.race import gates, image, places
from swathe.race.gates import Report
from swathe.race.places import Symbols
from swathe.race.scene import BEGINS, Scene, load

# Seconds by the guest's clock.
LIMIT = 120
CPUS = 2
MUTANTS = "/sys/module/unmap/parameters/mutants"
ROUNDS = re.compile(r"rounds (\d+) wrong (\d+)")
PART = "race"
# How often a guest is booted whose emulator has made a mistake.
BOOTS = 3
PATCHED = "Oops: int3"
# Seconds until a guest that is dead is given up.
TIMEOUT = 600


@dataclass(frozen=True)
class RaceRequest:
    """rounds: 0: as many as each scene wants. control: without gates.

    image: a kernel that was not built here, instead of kernel, whose System.map is symbols
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


@dataclass(frozen=True)
class Outcome:
    """How often a program saw what must not be; said: the first time."""

    way: str
    rounds: int
    wrong: int
    said: str = ""


@dataclass(frozen=True)
class Played:
    """What came of a scene: of the kernel as it is, and with each mutant.

    report: of the kernel as it is
    """

    name: str
    scene: Scene
    wanted: int
    outcomes: tuple[Outcome, ...]
    report: Report | None
    complaint: str
    lost: str
    arch: str = X86_64.name


@dataclass(frozen=True)
class Stage:
    """A kernel on which scenes are played, and its functions."""

    built: build.BuiltKernel
    symbols: Symbols
    request: RaceRequest

    def machine(self, scene: Scene, program: Path, home: Path) -> vm.Machine:
        options: tuple[str, ...] = ()
        request = self.request
        if not request.control:
            text = gates.told(
                scene.gates(self.built.target.name), self.symbols, places.of_program(program)
            )
            options = gates.option(home, self.built.target, text)
        if request.image:
            machine = image.machine(self.built, options, request.boot, request.timeout)
        else:
            boot = " ".join(filter(None, (vm.STEADY, vm.NO_SUITES, image.BOOT, request.boot)))
            machine = vm.Machine(
                self.built, CPUS, wanted_clock=Clock.HOST, boot=boot, timeout=request.timeout,
                options=options,
            )  # fmt: skip
        if machine.clock is not Clock.HOST:
            raise EnvironmentLacks(
                "gates need processors that run in parallel, and the frequency of this machine's "
                "time-stamp counter is not known"
            )
        return machine


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
    """Play these scenes, with their mutants."""
    played = play_all(RaceRequest(kernel, tuple(names), TIMEOUT, mutants=True))
    return [test for one in played for test in tests(one)]


def play_all(request: RaceRequest) -> list[Played]:
    """Play each scene that the kernel can play, side by side."""
    on, found = stage(request)
    ui.note(f"playing scenes in Linux {on.built.version}")
    for name in request.scenes:
        if name not in found:
            ui.result(f"{name}: not for Linux {on.built.version} on {on.built.target.name}")
    programs = compiler.programs(SCENES, (), on.built.target.compiler)
    tasks = [
        parallel.Task(partial(play, on, name, scene, programs[scene.program]), memory=vm.BYTES)
        for name, scene in found.items()
    ]
    return parallel.run(tasks, parallel.processors())


def play(on: Stage, name: str, scene: Scene, program: Path, stop: threading.Event) -> Played:
    """Play one scene; with its mutants behind, because they may end the guest."""
    mutants = scene.mutants if on.request.mutants else ()
    rounds = on.request.rounds or scene.rounds
    command = " ".join([f"timeout {LIMIT} /bin/{program.name}", str(rounds), *scene.arguments])
    lines = ["cd /", f"report scene {name} -- {command}"]
    for mutant in mutants:
        lines += [f"echo {mutant} >{MUTANTS}", f"report mutant {mutant} -- {command}"]
    work = session.job(lines, {f"/bin/{program.name}": program})
    for _ in range(BOOTS):
        with scratch(f"race-{name}") as home:
            machine = on.machine(scene, program, home)
            heard = session.run(machine, work, f"race-{name}", stop=stop).not_stopped()
            report = None if on.request.control else gates.read(home)[0]
        if not patched(heard):
            break
    return replace(judged(name, scene, rounds, heard, report), arch=on.built.target.name)


def patched(heard: Transcript) -> bool:
    """Whether the kernel patched itself before the program began, and QEMU ran the old code: see
    vm.patches_code_safely().
    """
    return not heard.sections and PATCHED in heard.console


def judged(
    name: str, scene: Scene, rounds: int, heard: Transcript, report: Report | None
) -> Played:
    complaints = kernel_log.find(heard.console)
    return Played(
        name, scene, rounds, tuple(map(outcome, heard.sections)), report,
        complaints[0] if complaints else "", str(heard.lost or ""),
    )  # fmt: skip


def outcome(section: Section) -> Outcome:
    """Return what a program said in the end; nothing if it did not come to that."""
    way = section.words[1] if section.words[0] == "mutant" else ""
    ends = [match for line in section.lines if (match := ROUNDS.fullmatch(line))]
    said = next((line[2:] for line in section.lines if line.startswith("# ")), "")
    if not ends and section.status is None:
        return Outcome(way, 0, 0, said or "the guest ended")
    if not ends:
        return Outcome(way, 0, 0, said or f"the program ended with status {section.status}")
    return Outcome(way, int(ends[0][1]), int(ends[0][2]), said)


def tests(played: Played) -> Iterator[Test]:
    """Judge the kernel as it is, the gates, and each mutant that was tried."""
    name = f"race {played.name}"
    plain = next((found for found in played.outcomes if not found.way), None)
    mutants = [found for found in played.outcomes if found.way]
    failed = [] if plain is None else list(faults(played, plain, bool(mutants)))
    if plain is None:
        failed = [f"the guest did not come to the program: {played.lost or played.complaint}"]
    failed += missed(played)
    verdict = Verdict.FAILED if failed else Verdict.PASSED
    yield Test(name, verdict, "; ".join(failed))
    for found in mutants:
        yield judge_mutant(name, found, played)


def faults(played: Played, plain: Outcome, tried: bool) -> Iterator[str]:
    """What is wrong with the kernel as it is. tried: mutants ran behind."""
    if plain.rounds != played.wanted:
        yield f"{plain.rounds} of {played.wanted} rounds: {played.complaint or plain.said}"
    elif plain.wrong:
        yield f"{plain.wrong} of {plain.rounds} rounds came out wrong: {plain.said}"
    elif played.complaint and not tried:
        yield played.complaint


def missed(played: Played) -> Iterator[str]:
    """Gates that did not do what they are for in each round."""
    for seen in played.report.gates if played.report else ():
        gates_there = played.scene.gates(played.arch)
        gate = next(gate for gate in gates_there if gate.name == seen.name)
        if seen.misplaced:
            yield f"gate {seen.name}: an offset of {gate.stop} or {gate.until} is no instruction"
        elif not seen.hits:
            yield f"gate {seen.name}: processor {gate.cpu} never came to {gate.stop}"
        elif not seen.openings:
            yield f"gate {seen.name}: nobody opened it: {', '.join(gate.until)} was not executed"
        elif seen.rounds < played.wanted:
            yield f"gate {seen.name}: opened in {seen.rounds} of {played.wanted} rounds"
        elif seen.standing:
            yield f"the guest ended while a processor stood at gate {seen.name}"


def judge_mutant(name: str, found: Outcome, played: Played) -> Test:
    """A mutant is found if a round came out wrong, or the kernel complained."""
    seen = found.wrong or (not found.rounds and played.complaint)
    verdict = Verdict.PASSED if seen else Verdict.FAILED
    return Test(f"{name} {found.way}", verdict, "" if seen else "not found")


def hits(played: Played) -> str:
    """Return how many rounds met their window, for a message."""
    if not played.report:
        return "without gates"
    seen = [gate for gate in played.report.gates if gate.name != BEGINS]
    return ", ".join(
        f"gate {gate.name}: {gate.hits} hits, {gate.openings} openings, "
        f"in {gate.rounds} of {played.report.rounds} rounds"
        for gate in seen
    )
