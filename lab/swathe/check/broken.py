# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that is broken in one way, and the program that is to notice.

It has noticed when it says what is wrong, or when a check of the kernel's own ends the
machine while it runs; the guest is stopped then.
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
RACES = f"export TABLES_SECONDS={60 * MINUTES / 2:.0f}"
# What a program prints about the first thing that is wrong.
SIGN = re.compile(r"# (process \d+, operation .*|the kernel's log has .*)$|\s*(not ok .*)$")


@dataclass(frozen=True)
class Kernel:
    """What is booted: name says in which way it is broken, boot how, if not by building."""

    built: build.BuiltKernel
    name: str
    cpus: int
    boot: str = ""


@dataclass(frozen=True)
class Finding:
    """How a broken kernel fared."""

    way: str
    by: str
    seconds: float
    found: bool
    said: str


class Watch(sections.Reader):
    """Hears the guest; it is to end when the program has said what is wrong,
    or when something ends all guests.
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
        """What vm.boot() asks: is this to end?"""
        return bool(self.sign) or self.all_end.is_set()

    @property
    def seconds(self) -> float:
        return self.heard - self.began if self.began else 0.0


def job(by: str, programs: Mapping[str, Path]) -> initramfs.Job:
    """One program with its arguments, or all of KUnit."""
    if by == KUNIT:
        return session.job(selftests.guest_lines(True, ()), {})
    program = by.split()[0]
    lines = [RACES, f"report guest {program} -- {by}"]
    return session.job(lines, {f"/bin/{program}": programs[program]})


def attempt(kernel: Kernel, by: str, work: initramfs.Job, stop: threading.Event) -> Finding:
    """Boot, and wait until the program has said something or its time is over."""
    limit = BOOT_LIMIT + 60 * MINUTES * 2
    machine = vm.checking(kernel.built, kernel.cpus, limit, kernel.boot)
    watch, lost = Watch(stop), ""
    heard = session.run(machine, work, f"broken-{kernel.name}", watch, watch)
    if heard.lost:
        lost = str(heard.lost).split("; its console")[0]  # whose path is nobody else's
        watch.heard = time.monotonic()
    finding = conclude(kernel.name, by, watch, lost)
    ui.note(f"  {kernel.name}: {finding.said} ({by}, {finding.seconds:.0f} s)")
    return finding


def conclude(way: str, by: str, watch: Watch, lost: str) -> Finding:
    """What was printed, or what ended the machine; one where nothing ran shows nothing."""
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
    """Keep what was found, and by whom."""
    rows = tuple((f.way, f.by, f"{f.seconds:.0f}", f.said) for f in findings)
    where = environment.look(built, cpus, vm.Machine.memory)
    header = (*about, "seconds", "what it said")
    proof.record(proof.ResultTable(name, title, where, header, rows))
