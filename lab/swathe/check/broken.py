# SPDX-License-Identifier: GPL-2.0-only
"""Boot a kernel that is broken in one way, and run the program that must notice.

The program has noticed if it reports an error, or if one of the kernel's own checks
panics while it runs. The guest is then stopped.
"""

import re
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.check import proof, selftests
from swathe.guest import environment, initramfs, sections, session, vm
from swathe.kernel import build

KUNIT = "kunit"
MINUTES = 2.0
BOOT_LIMIT = 120
# The suites run before the first program: a warning must not end the guest before they have said
# what fails.
KUNIT_BOOT = "panic_on_warn=0"
RACES = f"export TABLES_SECONDS={60 * MINUTES / 2:.0f}"
# A program's line about the first error it finds.
SIGN = re.compile(r"# (process \d+, operation .*|the kernel's log has .*)$|\s*(not ok .*)$")


@dataclass(frozen=True)
class Kernel:
    """The kernel to boot: name is how it is broken, boot the parameters that break it, if any."""

    built: build.BuiltKernel
    name: str
    cpus: int
    boot: str = ""


@dataclass(frozen=True)
class Finding:
    """What the program found in a broken kernel."""

    way: str
    by: str
    seconds: float
    found: bool
    said: str


class Watch(sections.Reader):
    """Reads the guest's output. The guest must stop when the program has reported an error, or
    when all guests are stopped.
    """

    def __init__(self, all_end: threading.Event) -> None:
        super().__init__(begins=self.start, says=self.look)
        self.all_end = all_end
        self.sign = ""
        self.began = self.heard = 0.0

    def __call__(self, text: str) -> None:
        super().__call__(text)
        self.heard = time.monotonic()

    def start(self, _: sections.Words) -> None:
        self.began = self.began or time.monotonic()

    def look(self, line: str) -> None:
        if match := SIGN.match(line):
            self.sign = self.sign or match[1] or match[2]

    def is_set(self) -> bool:
        """Whether vm.boot() must stop the guest."""
        return bool(self.sign) or self.all_end.is_set()

    @property
    def seconds(self) -> float:
        return self.heard - self.began if self.began else 0.0


def job(by: str, programs: Mapping[str, Path]) -> initramfs.Job:
    """Return a job that runs one program with its arguments, or all KUnit suites."""
    if by == KUNIT:
        return session.job(selftests.guest_lines(True, ()), {})
    program = by.split()[0]
    lines = [RACES, f"report guest {program} -- {by}"]
    return session.job(lines, {f"/bin/{program}": programs[program]})


def attempt(kernel: Kernel, by: str, work: initramfs.Job, stop: threading.Event) -> Finding:
    """Boot, and wait until the program has reported an error or has ended."""
    limit = (BOOT_LIMIT + 60 * MINUTES * 2) * kernel.built.target.patience
    suites = by == KUNIT
    boot = f"{kernel.boot} {KUNIT_BOOT}" if suites else kernel.boot
    machine = vm.checking(kernel.built, kernel.cpus, limit, boot, suites)
    watch, lost = Watch(stop), ""
    heard = session.run(machine, work, f"broken-{kernel.name}", watch, watch)
    if heard.lost:
        lost = str(heard.lost).split("; its console")[0]  # without the log's path
        watch.heard = time.monotonic()
    finding = conclude(kernel.name, by, watch, lost)
    ui.note(f"  {kernel.name}: {finding.said} ({by}, {finding.seconds:.0f} s)")
    return finding


def conclude(way: str, by: str, watch: Watch, lost: str) -> Finding:
    """Return what the program printed, or what ended the guest. A guest that ran nothing
    has found nothing.
    """
    seconds = watch.seconds
    reports = watch.sections
    if watch.sign:
        return Finding(way, by, seconds, True, watch.sign)
    if not reports:
        return Finding(way, by, seconds, False, f"{by} did not run: {lost or 'no output'}")
    if lost:
        return Finding(way, by, seconds, "within" not in lost, lost)
    status = reports[-1].status
    return Finding(way, by, seconds, bool(status), f"status {status}" if status else "nothing")


def record(
    built: build.BuiltKernel, cpus: int, name: str, title: str, about: tuple[str, str],
    findings: Iterable[Finding],
) -> None:  # fmt: skip
    """Record what was found, and by which program."""
    rows = tuple((f.way, f.by, f"{f.seconds:.0f}", f.said) for f in findings)
    where = environment.look(built, cpus, vm.Machine.memory)
    header = (*about, "seconds", "what it said")
    proof.record(proof.ResultTable(name, title, where, header, rows))
