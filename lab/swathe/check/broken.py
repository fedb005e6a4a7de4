# SPDX-License-Identifier: GPL-2.0-only
"""Run the program that must notice that a kernel is broken in one way.

It has noticed if it prints a failed test. If the kernel notices itself, the first error message
counts if it names mm/unmap, or says what was expected. A guest that is only lost, or a test whose
time is up, has found nothing.
"""

import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import ui
from swathe.check import kcsan, proof, selftests
from swathe.guest import environment, initramfs, kernel_log, sections, session, vm
from swathe.guest.clock import Clock
from swathe.guest.sections import Section
from swathe.kernel import build

KUNIT = "kunit"
BOOT_LIMIT = 120
# Seconds by the guest's clock: a program that has found nothing by then finds nothing.
LIMIT = 240
# Ours alone run at boot, so that all of them can be run again.
SUITES = "kunit.filter_glob=unmap*"
# A warning must not end the guest before a suite has said what fails.
SUITES_END = "panic_on_warn=0"
# A program's line about the first error it finds.
SIGN = re.compile(r"# (process \d+, operation \d+: \S.*|the kernel's log has .*)$|\s*(not ok .*)$")
LATE = "Test terminated by timeout"
MUTANTS = "/sys/module/unmap/parameters/mutants"
# What the guest writes to the kernel's log before it runs a program.
BEGINS = "swathe: begins "
HOME = "mm/unmap/"
# A function of a call trace that is certain, or the one that was interrupted.
FRAME = re.compile(r"(?:RIP: [0-9a-f]+:|pc : )?([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+")
PROLOGUE = [
    "cd /",
    "export UNMAP_ON_ONLY=1 DROP_SECONDS=1",
    "suite() { echo 1 >{0}/$1/run; cat {0}/$1/results; }".replace("{0}", selftests.KUNIT),
]


@dataclass(frozen=True)
class Kernel:
    """A built kernel that is broken, or can be, and how its guests are booted."""

    built: build.BuiltKernel
    programs: Mapping[str, Path]
    cpus: int
    clock: Clock = Clock.HOST


@dataclass(frozen=True)
class Defect:
    """A way in which a kernel is broken, and the command that must notice.

    by: a program with its arguments, or "kunit" and a suite.
    mutant: is switched on while the command runs.
    says: what the kernel's error message has to say if it does not name mm/unmap; WORDS|WORDS.
    """

    way: str
    by: str
    mutant: str = ""
    says: str = ""

    @property
    def program(self) -> str:
        return self.by.split()[0]

    @property
    def command(self) -> str:
        if self.program == KUNIT:
            return self.by.replace(KUNIT, "suite", 1)
        return f"timeout {LIMIT} {self.by}"


@dataclass(frozen=True)
class Finding:
    """What the program found in a broken kernel."""

    way: str
    by: str
    seconds: float
    found: bool
    said: str


class Watch(sections.Reader):
    """Reads the guest's output, and times its programs.

    The guest must stop when all guests are stopped, and if it is hasty, when a program has
    reported an error.
    """

    def __init__(self, all_end: threading.Event, hasty: bool) -> None:
        super().__init__(begins=self.start, says=self.look, ends=self.end)
        self.all_end = all_end
        self.hasty = hasty
        self.sign = ""
        self.began = time.monotonic()
        self.seconds: list[float] = []

    def start(self, _: sections.Words) -> None:
        self.began = time.monotonic()

    def look(self, line: str) -> None:
        if SIGN.match(line):
            self.sign = sign_of(self.lines)

    def end(self, _: Section) -> None:
        self.seconds.append(time.monotonic() - self.began)

    def is_set(self) -> bool:
        """Whether vm.boot() must stop the guest."""
        return self.all_end.is_set() or (self.hasty and bool(self.sign))

    def took(self, number: int) -> float:
        """Return the seconds of a program; of the one that ran last also if it did not end."""
        if number < len(self.seconds):
            return self.seconds[number]
        return time.monotonic() - self.began


def sign_of(lines: Iterable[str]) -> str:
    """Return a program's first line about an error. A test whose time was up shows none."""
    late = False
    for line in lines:
        late = late or LATE in line
        if match := SIGN.match(line):
            if not late:
                return match[1] or match[2]
            late = False
    return ""


def job(defects: Sequence[Defect], programs: Mapping[str, Path]) -> initramfs.Job:
    """Return a job that runs one command after another, each with its mutant."""
    files = {defect.program for defect in defects} - {KUNIT}
    lines = [line for defect in defects for line in guest_lines(defect)]
    return session.job(PROLOGUE + lines, {f"/bin/{name}": programs[name] for name in files})


def guest_lines(defect: Defect) -> list[str]:
    lines = [f"echo {BEGINS}{defect.way} >/dev/kmsg"]
    if defect.mutant:
        lines.append(f"echo {defect.mutant} >{MUTANTS} || exit 9")
    lines.append(f"report {defect.way} -- {defect.command}")
    if defect.program != KUNIT:
        # A test that runs when its program's time is up is in a process group of its own.
        lines.append(f"killall -q -9 {defect.program}")
    if defect.mutant:
        lines.append(f"echo >{MUTANTS} || exit 9")
    return [*lines, "settle"]


def machine(kernel: Kernel, defects: Sequence[Defect], boot: str = "") -> vm.Machine:
    """Return a machine for these defects."""
    suites = any(defect.program == KUNIT for defect in defects)
    limit = (BOOT_LIMIT + 2 * LIMIT * len(defects)) * kernel.built.target.patience
    words = " ".join(filter(None, (SUITES if suites else "", boot)))
    return vm.checking(kernel.built, kernel.cpus, limit, words, suites, kernel.clock)


def attempt(kernel: Kernel, defect: Defect, stop: threading.Event) -> Finding:
    """Boot, and wait until the program has reported an error or has ended."""
    watch = Watch(stop, hasty=True)
    booted = machine(kernel, [defect], SUITES_END if defect.program == KUNIT else "")
    heard = session.run(
        booted, job([defect], kernel.programs), f"broken-{defect.way}", watch, watch
    )
    if stop.is_set():
        heard.not_stopped()
    section = heard.sections[0] if heard.sections else None
    console = heard.console.partition(BEGINS)[2]
    finding = conclude(kernel.built, defect, section, console, cause(heard))
    return tell(replace(finding, seconds=watch.took(0)))


def cause(heard: session.Transcript) -> str:
    """Return how the guest was lost, if it was, without the path of its log."""
    return str(heard.lost or "").split("; its console")[0]


def tell(finding: Finding) -> Finding:
    ui.note(f"  {finding.way}: {finding.said} ({finding.by}, {finding.seconds:.0f} s)")
    return finding


def conclude(
    built: build.BuiltKernel, defect: Defect, section: Section | None, console: str, lost: str = ""
) -> Finding:
    """Return what the program or the kernel found. A guest that ran nothing has found nothing.

    console: what the kernel printed since the program began.
    """
    if not section:
        return Finding(
            defect.way, defect.by, 0, False, f"{defect.by} did not run: {lost or 'no output'}"
        )
    if sign := failure(defect, section):
        return Finding(defect.way, defect.by, 0, True, sign)
    if report := kernel_log.first_report(console):
        return Finding(defect.way, defect.by, 0, blames(report, defect.says, built), report[0])
    said = lost or (f"status {section.status}" if section.status else "nothing")
    return Finding(defect.way, defect.by, 0, False, said)


def failure(defect: Defect, section: Section) -> str:
    """Return a program's words if it failed. KUnit's failures have no status, nor has a program
    that was stopped after it had printed one.
    """
    plausible = section.status in (None, 1) or defect.program == KUNIT
    return sign_of(section.lines) if plausible else ""


def blames(report: Iterable[str], says: str, built: build.BuiltKernel) -> bool:
    """Whether an error message of the kernel names mm/unmap, or has these words, if any."""
    lines = list(report)
    words = (HOME, *(says.split("|") if says else ()))
    if any(word in line for line in lines for word in words):
        return True
    own = kcsan.own_names(built).own
    frames = (match[1] for line in lines if (match := FRAME.match(line)))
    return any(name in own for name in frames)


def record(
    built: build.BuiltKernel, cpus: int, name: str, title: str, about: tuple[str, str],
    findings: Iterable[Finding],
) -> None:  # fmt: skip
    """Record what was found, and by which program."""
    rows = tuple((f.way, f.by, f"{f.seconds:.0f}", f.said) for f in findings)
    where = environment.look(built, cpus, vm.Machine.memory)
    header = (*about, "seconds", "what it said")
    proof.record(proof.ResultTable(name, title, where, header, rows))
