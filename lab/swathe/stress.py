# SPDX-License-Identifier: GPL-2.0-only
"""Everything at once, for as long as you like, in the kernel that checks everything.

In rounds, until the time is over, one guest after the other on 1, 2, 4 and 8 CPUs:

    stressors  stress-ng's memory stressors in a memory-limited control group
    memx       random operations on memory against a model of every byte
    tests      two of the tests under faults, and two of the others
    powercut   a guest that loses its power, and its disk afterwards

While stressors and memx run, root switches mm/unmap on and off, changes the longest run, and
writes memory.reclaim. (QEMU before 8.1 does not stand code that is patched under several
processors: there the switch stays on, unless there is one.) Memory counters are compared
before and after: nothing may be kept. A failed test, a wrong byte, or any complaint of the
kernel fails the whole. stress-ng is Debian's package of that name.

    ./swathe stress                       five minutes
    ./swathe stress --minutes 60 --seed 7
    ./swathe stress --only memx           one of the four
"""

import argparse
import itertools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from swathe import (
    build,
    environment,
    guesttests,
    initramfs,
    powercut,
    proof,
    reports,
    stressguest,
    tap,
    ui,
    vm,
)  # fmt: skip
from swathe.errors import VmLost
from swathe.paths import write_atomically
from swathe.tap import Verdict

KINDS = ("stressors", "memx", "tests", "powercut")
CPUS = (2, 4, 1, 8)
FAULT_TESTS = ("faults", "pressure", "poison", "races", "security")
MINUTES = 5.0
# How long one guest works: long enough to be worth its boot, short enough for all kinds to come.
SECONDS = 60
# Compiling and booting, on a host that has other things to do.
GRACE = 1800


@dataclass(frozen=True)
class Request:
    kernel: build.Request
    minutes: float
    seed: int
    kinds: tuple[str, ...]
    boot: str


@dataclass(frozen=True)
class Step:
    """One guest: what it does, on how many CPUs, with which seed of its own."""

    kind: str
    cpus: int
    seed: int
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f" {' '.join(self.names)}" if self.names else ""
        return f"{self.kind}{names} on {self.cpus} CPUs, seed {self.seed}"


@dataclass
class Outcome:
    """What came of a step; an empty list of problems is good."""

    step: Step
    seconds: float = 0
    operations: int = 0
    injected: int = 0
    problems: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems and not self.reports


@dataclass(frozen=True)
class Bench:
    """What all guests are made of."""

    built: build.Result
    programs: dict[str, Path]
    boot: str


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="at least")
    parser.add_argument("--seed", type=int, metavar="S", help="chooses everything that is chosen")
    parser.add_argument("--only", choices=KINDS, action="append", help="may be repeated")
    parser.add_argument("--boot", default="", metavar="ARGS", help="more kernel parameters")
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "debug")


def request_from(args: argparse.Namespace) -> Request:
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    kernel = build.request_from(args, pristine=False)
    return Request(kernel, args.minutes, seed, tuple(args.only or KINDS), args.boot)


def steps(request: Request) -> Iterator[Step]:
    """Without an end, the same for the same seed: every kind meets every number of CPUs."""
    rng = random.Random(request.seed)
    for number in itertools.count():
        kind = request.kinds[number % len(request.kinds)]
        cpus = CPUS[(number + number // len(request.kinds)) % len(CPUS)]
        seed = rng.randrange(1, 1 << 31)
        yield Step(kind, cpus, seed, choose(kind, random.Random(seed)))


def choose(kind: str, rng: random.Random) -> tuple[str, ...]:
    """Which stressors, and which tests."""
    if kind == "stressors":
        return tuple(rng.sample(stressguest.STRESSORS, stressguest.TOGETHER))
    if kind == "tests":
        others = [name for name in guesttests.names() if name not in (*FAULT_TESTS, "memx")]
        return (*rng.sample(FAULT_TESTS, 2), *rng.sample(others, 2))
    return ()


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    ui.result(f"seed {request.seed}")
    if "stressors" in request.kinds:
        stressguest.need_stress_ng()
    built = build.build(request.kernel)
    bench = Bench(
        built, guesttests.compile_tests(built), f"{guesttests.STEADY} {request.boot}".strip()
    )
    outcomes: list[Outcome] = []
    try:
        work(request, bench, outcomes)
    finally:
        path = save(request, built, outcomes)
        ui.result(table(outcomes))
        ui.remark(f"results: {path}")
    return 0 if outcomes and all(outcome.ok for outcome in outcomes) else 1


def work(request: Request, bench: Bench, outcomes: list[Outcome]) -> None:
    """Rounds until the time is over; a lost guest ends them."""
    end = time.monotonic() + request.minutes * 60
    for step in steps(request):
        ui.note(f"{step}")
        outcome = Outcome(step)
        outcomes.append(outcome)
        begin = time.monotonic()
        try:
            do(bench, step, outcome)
        except VmLost as error:
            outcome.problems.append(str(error))
            raise
        finally:
            outcome.seconds = time.monotonic() - begin
        for problem in [*outcome.problems, *outcome.reports]:
            ui.result(f"failed: {step}: {problem}")
        if time.monotonic() >= end:
            return


def do(bench: Bench, step: Step, outcome: Outcome) -> None:
    if step.kind == "powercut":
        cut_power(bench, step, outcome)
        return
    text = boot(bench, step, outcome)
    if step.kind == "tests":
        judge_tests(text, outcome)
    else:
        stressguest.judge(text, outcome.problems)
        outcome.operations = stressguest.operations(text)


def boot(bench: Bench, step: Step, outcome: Outcome) -> str:
    """One guest to its end; its complaints go to the outcome, also if it is lost."""
    machine = vm.Machine(
        bench.built.image, bench.built.out, step.cpus, exact=False,
        boot=bench.boot, timeout=SECONDS + GRACE, target=bench.built.target,
    )  # fmt: skip
    text: list[str] = []
    console: list[str] = []
    try:
        verdict = vm.boot(
            machine, job(bench, step), "stress", text.append, on_console=console.append
        )
    finally:
        outcome.reports += reports.find("".join(console))
    if verdict.shell_status:
        outcome.problems.append(f"the guest's script ended with status {verdict.shell_status}")
    return "".join(text)


def job(bench: Bench, step: Step) -> initramfs.Job:
    """The guest's script, and the programs it calls."""
    if step.kind == "tests":
        lines = guesttests.guest_lines(False, step.names)
        files = {f"/bin/{name}": bench.programs[name] for name in step.names}
        return stressguest.plain_job(lines, files)
    flip = vm.patches_code_safely(vm.version(bench.built.target.qemu), step.cpus)
    if step.kind == "memx":
        files = {"/bin/memx": bench.programs["memx"]}
        command = stressguest.memx(step.seed, SECONDS, step.cpus)
        return stressguest.job(command, step.seed, files, flip)
    command = stressguest.stress_ng(step.names, step.seed, SECONDS)
    return stressguest.job(command, step.seed, stressguest.stress_ng_files(), flip)


def judge_tests(text: str, outcome: Outcome) -> None:
    """Failed tests are problems; those that passed count, and so do the faults they injected."""
    found = guesttests.read_sections(text)
    outcome.problems += [
        f"{test.name} {test.detail}".strip() for test in found if test.verdict is Verdict.FAILED
    ]
    outcome.operations = tap.count(found).passed
    outcome.injected = stressguest.injected(text)


def cut_power(bench: Bench, step: Step, outcome: Outcome) -> None:
    machine = vm.Machine(
        bench.built.image, bench.built.out, step.cpus, exact=False,
        boot=bench.boot, timeout=powercut.TIMEOUT, target=bench.built.target,
    )  # fmt: skip
    cut = powercut.plan(step.seed, 1)[0]
    test = powercut.cut_once(machine, powercut.compile_guest(bench.built), cut)
    outcome.operations = outcome.injected = 1
    if test.verdict is Verdict.FAILED:
        outcome.problems.append(f"{test.name}: {test.detail}")


def rows(outcomes: list[Outcome]) -> list[tuple[str, ...]]:
    """One row a step, and their sum."""
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


def table(outcomes: list[Outcome]) -> str:
    """The table as Markdown, which is also what people see."""
    return proof.markdown(HEADER, tuple(rows(outcomes)))


def save(request: Request, built: build.Result, outcomes: list[Outcome]) -> Path:
    """Both forms below build/results, and into what was proved; the Markdown's path."""
    about = environment.look(built, max(CPUS), "4G")
    base = proof.RESULTS / f"stress-{time.strftime('%Y%m%d-%H%M%S')}"
    data = {
        "seed": request.seed,
        "environment": about.as_json(),
        "steps": [asdict(outcome) for outcome in outcomes],
    }
    write_atomically(base.with_suffix(".json"), json.dumps(data, indent=1).encode())
    failures = tuple(f"{o.step}: {p}" for o in outcomes for p in [*o.problems, *o.reports])
    section = proof.Section(
        "stress", f"`./swathe stress --minutes {request.minutes:g} --seed {request.seed}`",
        about.as_json(), HEADER, tuple(rows(outcomes)), failures,
    )  # fmt: skip
    write_atomically(base.with_suffix(".md"), proof.render_section(section).encode())
    proof.record(built.version, section)
    return base.with_suffix(".md")
