# SPDX-License-Identifier: GPL-2.0-only
"""Test swathe-proof in guests: it must find each mutant, and nothing in a correct kernel.

QEMU has no page-walk cache, so swathe-proof cannot find a missing flush of upper page tables
(table_flush) in a guest. Instead, the program itself fakes the effect (--spoil).
"""

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.verdicts import Test, Verdict
from swathe.guest import initramfs, session, vm
from swathe.guest.sections import Section
from swathe.kernel import build, field_program

PART = "field"
SECONDS = 10
# A run with a mutant ends as soon as the program finds the error.
PATIENCE = 120
BOOT_LIMIT = 300
WRONG = re.compile(r"^verdict: WRONG \((.*?)\): (.*)$", re.MULTILINE)
QUIET = "verdict: nothing was wrong"
MUTANTS = "/sys/module/unmap/parameters/mutants"
# The kernel's own checks must not panic before the program has found the error.
BOOT = "panic_on_warn=0"


@dataclass(frozen=True)
class Trial:
    """One run: the mutant or the faked error, and the checks that may find it."""

    name: str
    finders: tuple[str, ...] = ()
    mutant: str = ""
    spoil: str = ""
    teams: str = ""

    @property
    def seconds(self) -> int:
        return PATIENCE if self.finders else SECONDS


def broken(way: str, *finders: str) -> Trial:
    return Trial(way, finders, mutant=way)


def spoiled(what: str, finder: str) -> Trial:
    return Trial(f"spoiled-{what}", (finder,), spoil=what)


MEMORY = ("anonymous", "tmpfs", "disk", "walk")
PRIVATE = ("anonymous", "walk")
LOG = "the kernel's log"
# The trials of each guest. Mutants that damage only the program's own data share a guest.
GUESTS = (
    (
        Trial("none"),
        *(spoiled(what, "walk") for what in ("trap", "canary", "table")),
        spoiled("stamp", "anonymous"),
        broken("dirty", "tmpfs"),
        broken("redirty", "anonymous"),
    ),
    (Trial("flush", MEMORY, mutant="flush,zap_flush"),),
    # Private memory only: lost file pages panic the kernel before the program prints anything.
    (Trial("table_full", (*PRIVATE, LOG), mutant="table_full", teams=",".join(PRIVATE)),),
)
# A thread must refill a table while the kernel frees it: this delay widens the race window.
WINDOWS = {"table_full": 1000}


def run(kernel: build.KernelRequest, seed: int, cpus: int) -> list[Test]:
    """Run all trials, one guest per processor at a time."""
    built = build.build(kernel)
    program = field_program.PROOF.compile(built.target)
    ui.note(f"swathe-proof in Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(trials: Sequence[Trial]) -> parallel.Task[list[Test]]:
        return parallel.Task(
            lambda stop: attempt(built, program, trials, seed, cpus, stop),
            cost=len(trials), memory=vm.BYTES,
        )  # fmt: skip

    found = parallel.run([task(trials) for trials in GUESTS], parallel.processors())
    return [test for tests in found for test in tests]


def attempt(
    built: build.BuiltKernel,
    program: Path,
    trials: Sequence[Trial],
    seed: int,
    cpus: int,
    stop: threading.Event,
) -> list[Test]:
    """Boot once, and judge the program's output in each run."""
    limit = BOOT_LIMIT + 2 * sum(trial.seconds for trial in trials)
    machine = vm.checking(built, cpus, limit, BOOT)
    name = f"field-{trials[0].name}"
    heard = session.run(machine, job(program, trials, seed), name, stop=stop).not_stopped()
    tests = []
    for trial in trials:
        section = next(iter(heard.of(trial.name)), None)
        tests.append(judge(trial, section, str(heard.lost or "")))
        ui.note(f"  {trial.name}: {tests[-1].detail}")
    return tests


def job(program: Path, trials: Sequence[Trial], seed: int) -> initramfs.Job:
    lines = [line for trial in trials for line in guest_lines(trial, seed)]
    return session.job(lines, {"/bin/swathe-proof": program})


def guest_lines(trial: Trial, seed: int) -> list[str]:
    """Return shell lines that switch the mutant on, run the program, and switch it off."""
    call = f"swathe-proof --seconds {trial.seconds} --seed {seed} --dir /mnt"
    call += f" --spoil {trial.spoil}" if trial.spoil else ""
    call += f" --teams {trial.teams}" if trial.teams else ""
    window = WINDOWS.get(trial.name, 0)
    return [
        f"echo {window} >/sys/module/unmap/parameters/window || exit 9",
        f"echo {trial.mutant} >{MUTANTS} || exit 9",
        f"report {trial.name} -- {call}",
        f"echo >{MUTANTS}",
    ]


def judge(trial: Trial, section: Section | None, lost: str) -> Test:
    """The program must find the error with the right check, and no other error; a broken
    kernel may crash afterwards.
    """
    found = WRONG.search(section.text) if section else None
    ended = section is not None and section.status is not None
    if found:
        said = f"{found[1]}: {found[2]}"
    elif ended and section:
        said = "nothing" if QUIET in section.text else f"status {section.status}"
    else:
        said = lost or "it did not run to its end"
    if trial.finders:
        good = bool(found and found[1] in trial.finders)
    else:
        good = said == "nothing" and bool(section and section.status == 0)
    return Test(f"field {trial.name}", Verdict.PASSED if good else Verdict.FAILED, said)
