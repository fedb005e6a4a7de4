# SPDX-License-Identifier: GPL-2.0-only
"""Run rounds of guests under stress, and record the outcome of each."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from swathe.base import results, table, ui, verdicts
from swathe.base.errors import VmLost
from swathe.base.verdicts import Verdict
from swathe.check import kcsan, powercuts, proof, selftests, stressors
from swathe.guest import environment, initramfs, session, vm
from swathe.guest.session import Transcript
from swathe.kernel import build, source
from swathe.kernel.arch import ARCHES
from swathe.kernel.build import BuiltKernel

KINDS = ("stressors", "memx", "tests", "powercut")
CPUS = (2, 4, 1, 8)
FAULT_TESTS = ("faults", "pressure", "poison", "races", "security")
# Seconds of work per guest: long compared with its boot, short enough that all kinds get a turn.
SECONDS = 60
# Allowance for booting and compiling on a busy host.
GRACE = 1800


@dataclass(frozen=True)
class StressRequest:
    kernel: build.KernelRequest
    minutes: float
    seed: int
    kinds: tuple[str, ...]
    boot: str
    each: int = SECONDS
    tests: tuple[str, ...] = ()
    keep: bool = False

    @property
    def races(self) -> bool:
        return self.kernel.flavor == kcsan.FLAVOR

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The options that say what is stressed, and in which kernel, with their values."""
        only = self.kinds if self.kinds != KINDS else ()
        found = [("--flavor", self.kernel.flavor if self.races else "")]
        found += [("--variant", self.kernel.variant), *(("--only", kind) for kind in only)]
        return [part for part in found if part[1]]

    @property
    def section(self) -> str:
        """The name of its section in the proof."""
        return "-".join(("stress", *(value for _, value in self.parts)))

    @property
    def title(self) -> str:
        more = [*self.parts, *(("--tests", name) for name in self.tests)]
        if self.each != SECONDS:
            more.append(("--each", str(self.each)))
        words = "".join(f"{option} {value} " for option, value in more)
        return f"`./swathe stress {words}--minutes {self.minutes:g} --seed {self.seed}`"


@dataclass(frozen=True)
class Step:
    """One guest: its kind of work, its CPUs, and its own seed."""

    kind: str
    cpus: int
    seed: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f" {' '.join(self.names)}" if self.names else ""
        return f"{self.kind}{names} on {self.cpus} CPUs, seed {self.seed}"


@dataclass
class StepOutcome:
    """The outcome of a step; it is good if problems is empty."""

    step: Step
    seconds: float = 0
    operations: int = 0
    injected: int = 0
    problems: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    races: list[kcsan.Race] = field(default_factory=list)
    watched: dict[str, int] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.problems and not self.reports


@dataclass(frozen=True)
class StressKit:
    """The kernel and the programs that all guests use."""

    request: StressRequest
    built: BuiltKernel
    programs: dict[str, Path]


def steps(request: StressRequest) -> Iterator[Step]:
    """Yield steps without end; the same seed gives the same steps.

    Every kind of guest runs with every number of CPUs.
    """
    rng = random.Random(request.seed)
    for number in itertools.count():
        kind = request.kinds[number % len(request.kinds)]
        cpus = CPUS[(number + number // len(request.kinds)) % len(CPUS)]
        seed = rng.randrange(1, 1 << 31)
        yield Step(kind, cpus, seed, choose(kind, request, random.Random(seed)))


def choose(kind: str, request: StressRequest, rng: random.Random) -> tuple[str, ...]:
    """Choose the stressors or the tests of a step; the user may have named tests."""
    if kind == "stressors":
        return tuple(rng.sample(stressors.fitting(request.kernel.kernel), stressors.TOGETHER))
    if kind == "tests" and request.tests:
        return request.tests
    if kind == "tests":
        others = [name for name in selftests.names() if name not in (*FAULT_TESTS, "memx")]
        return (*rng.sample(FAULT_TESTS, 2), *rng.sample(others, 2))
    return ()


def with_tests(request: StressRequest, built: BuiltKernel) -> BuiltKernel:
    """Return the kernel with a tree that has memx, which an untouched tree has not."""
    if not request.kernel.pristine:
        return built
    hooked = replace(request.kernel, pristine=False, patches=())
    found = source.get(hooked.kernel, hooked.source)
    return replace(built, tree=build.prepare(hooked, found).path)


def run(request: StressRequest) -> list[StepOutcome]:
    """Build, run the rounds, and save the outcomes, also after an exception."""
    if "stressors" in request.kinds:
        stressors.stress_ng_files(ARCHES[request.kernel.arch])
    built = build.build(request.kernel)
    kit = StressKit(request, built, selftests.compile_tests(with_tests(request, built)))
    outcomes: list[StepOutcome] = []
    try:
        work(kit, outcomes)
    finally:
        path = save(request, built, outcomes)
        ui.result(summary(outcomes))
        ui.remark(f"results: {path}")
    return outcomes


def work(kit: StressKit, outcomes: list[StepOutcome]) -> None:
    """Run rounds until the time is over or a guest is lost."""
    end = time.monotonic() + kit.request.minutes * 60
    for step in steps(kit.request):
        ui.note(f"{step}")
        outcome = StepOutcome(step)
        outcomes.append(outcome)
        begin = time.monotonic()
        try:
            do(kit, step, outcome)
        except VmLost as error:
            outcome.problems.append(str(error))
            raise
        finally:
            outcome.seconds = time.monotonic() - begin
        for problem in [*outcome.problems, *outcome.reports]:
            ui.result(f"failed: {step}: {problem}")
        if time.monotonic() >= end:
            return


def do(kit: StressKit, step: Step, outcome: StepOutcome) -> None:
    if step.kind == "powercut":
        cut_power(kit, step, outcome)
        return
    heard = boot(kit, step, outcome)
    if step.kind == "tests":
        judge_tests(heard, outcome)
    else:
        outcome.problems += stressors.judge(heard, step.cpus)
        outcome.operations = stressors.operations(heard.text)


def boot(kit: StressKit, step: Step, outcome: StepOutcome) -> Transcript:
    """Run one guest; its kernel's error messages go to the outcome, also if it is lost."""
    machine = vm.checking(kit.built, step.cpus, kit.request.each + GRACE, words(kit.request, step))
    heard = session.run(machine, job(kit, step), "stress")
    found = selftests.complaints(heard.console, apart=kit.request.races)
    outcome.reports += [test.detail for test in found]
    if kit.request.races:
        read_races(kit, heard, outcome)
    if heard.status:
        outcome.problems.append(f"the guest's script ended with status {heard.status}")
    return heard


def words(request: StressRequest, step: Step) -> str:
    """Return the parameters that the guest's kernel is booted with: memx moves memory, too."""
    races = kcsan.BOOT if request.races else ""
    nodes = vm.TWO_NODES if step.kind == "memx" and step.seed % 2 else ""
    return " ".join(filter(None, (races, nodes, request.boot)))


def read_races(kit: StressKit, heard: Transcript, outcome: StepOutcome) -> None:
    """Keep the races that KCSAN found in this guest; those by mm/unmap are failures."""
    found = kcsan.report(heard, kit.built)
    outcome.races += found.races
    outcome.watched = found.counters
    outcome.reports += [f"KCSAN: {race.title}" for race in found.ours]


def job(kit: StressKit, step: Step) -> initramfs.Job:
    """Return the guest's script and the programs it calls."""
    lines, files = script(kit, step)
    return session.job([*lines, *([kcsan.READ] if kit.request.races else [])], files)


def script(kit: StressKit, step: Step) -> tuple[list[str], dict[str, Path]]:
    each = kit.request.each
    if step.kind == "tests":
        files = {f"/bin/{name}": kit.programs[name] for name in step.names}
        return selftests.guest_lines(False, step.names), files
    flip = vm.patches_code_safely(vm.version(kit.built.target.qemu), step.cpus)
    if step.kind == "memx":
        files = {"/bin/memx": kit.programs["memx"]}
        command = stressors.memx(step.seed, each, step.cpus)
    else:
        files = stressors.stress_ng_files(kit.built.target)
        command = stressors.stress_ng(step.names, step.seed, each)
    return [stressors.script(command, step.seed, flip)], files


def judge_tests(heard: Transcript, outcome: StepOutcome) -> None:
    """Record failed tests as problems, and count passed tests and injected faults."""
    found = selftests.read_sections(heard.sections)
    outcome.problems += [
        f"{test.name} {test.detail}".strip() for test in found if test.verdict is Verdict.FAILED
    ]
    outcome.operations = verdicts.count(found).passed
    outcome.injected = stressors.injected(heard.text)


def cut_power(kit: StressKit, step: Step, outcome: StepOutcome) -> None:
    machine = vm.checking(kit.built, step.cpus, powercuts.TIMEOUT, words(kit.request, step))
    cut = powercuts.plan(step.seed, 1)[0]
    test = powercuts.cut_once(machine, powercuts.compile_guest(kit.built), cut)
    outcome.operations = outcome.injected = 1
    if test.verdict is Verdict.FAILED:
        outcome.problems.append(f"{test.name}: {test.detail}")


def rows(outcomes: list[StepOutcome]) -> list[tuple[str, ...]]:
    """Return one row per step, and a row of sums."""
    found = [
        (
            outcome.step.kind, str(outcome.step.cpus), f"{outcome.seconds:.0f}",
            str(outcome.operations), str(outcome.injected), str(len(outcome.problems)),
            str(len(outcome.reports)),
        )
        for outcome in outcomes
    ]  # fmt: skip
    sums = [str(sum(int(row[column]) for row in found)) for column in range(2, 7)]
    return [*found, ("all", "", *sums)]


HEADER = ("what", "CPUs", "seconds", "operations", "faults injected", "failures", "reports")


def summary(outcomes: list[StepOutcome]) -> str:
    """Return the table as Markdown; it is also printed."""
    return table.markdown(table.of_text(HEADER, rows(outcomes)), table.as_it_is)


def save(request: StressRequest, built: BuiltKernel, outcomes: list[StepOutcome]) -> Path:
    """Save JSON and Markdown in build/results, and add to the proof; return the Markdown's path."""
    about = environment.look(built, max(CPUS), "4G")
    data = {"seed": request.seed, "environment": about, "steps": outcomes}
    failures = tuple(f"{o.step}: {p}" for o in outcomes for p in [*o.problems, *o.reports])
    section = proof.ResultTable(
        request.section, request.title, about, HEADER, tuple(rows(outcomes)), failures
    )
    if not request.kernel.pristine:  # that proves nothing of Swathe
        proof.record(section, request.keep)
    if request.races:
        save_races(request, built, outcomes)
    text = proof.render_section(section)
    return results.write_both(results.HERE, results.stamped("stress"), data, text)


def save_races(request: StressRequest, built: BuiltKernel, outcomes: list[StepOutcome]) -> None:
    """Record the races of all guests together."""
    watched = Counter[str]()
    for outcome in outcomes:
        watched.update(outcome.watched)
    races = tuple(race for outcome in outcomes for race in outcome.races)
    found = kcsan.RaceReport(races, dict(watched), kcsan.own_names(built))
    about = environment.look(built, max(CPUS), vm.Machine.memory)
    kcsan.record(found, ran(outcomes), about, request.keep)
    ui.note(f"KCSAN: {kcsan.summary(found)}")


def ran(outcomes: list[StepOutcome]) -> list[str]:
    """Return how many guests of each kind ran, and for how long."""
    kinds = Counter(" ".join((outcome.step.kind, *outcome.step.names)) for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    return [*(f"{times} guests with {kind}" for kind, times in kinds.items()), f"{seconds:.0f} s"]
