# SPDX-License-Identifier: GPL-2.0-only
"""A kernel that is broken in one way, and the program that is to notice.

It has noticed when it says what is wrong, or when a check of the kernel's own ends the
machine while it runs; the guest is stopped then.
"""

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from swathe.base import ui
from swathe.base.errors import VmLost
from swathe.check import selftests
from swathe.guest import initramfs, sections, vm
from swathe.kernel import build

KUNIT = "kunit"
MINUTES = 2.0
BOOT_LIMIT = 120
RACES = f"export TABLES_SECONDS={60 * MINUTES / 2:.0f}"
# What a program prints about the first thing that is wrong.
SIGN = re.compile(
    r"^(?:# (process \d+, operation .*|the kernel's log has .*)|\s*(not ok .*))$", re.MULTILINE
)


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


class Watch:
    """The guest's output; it is stopped when the program has said what is wrong,
    or when something ends all guests.
    """

    def __init__(self, all_end: threading.Event) -> None:
        self.text = ""
        self.all_end = all_end
        self.began = self.ended = 0.0
        self.found = threading.Event()

    def __call__(self, more: str) -> None:
        self.text += more
        self.ended = time.monotonic()
        if not self.began and "@ " in self.text:
            self.began = self.ended
        if self.sign:
            self.found.set()

    def is_set(self) -> bool:
        """What vm.boot() asks: is this to end?"""
        return self.found.is_set() or self.all_end.is_set()

    @property
    def sign(self) -> str:
        match = SIGN.search(self.text)
        return (match[1] or match[2]) if match else ""

    @property
    def seconds(self) -> float:
        return self.ended - self.began if self.began else 0.0


def job(by: str, programs: Mapping[str, Path]) -> initramfs.Job:
    """One program with its arguments, or all of KUnit."""
    if by == KUNIT:
        lines = selftests.guest_lines(True, ())
        return initramfs.Job(["/bin/sh", "/broken.sh"], {}, {"/broken.sh": sections.script(lines)})
    program = by.split()[0]
    return initramfs.Job(
        ["/bin/sh", "/broken.sh"],
        {f"/bin/{program}": programs[program]},
        {"/broken.sh": sections.script([RACES, f"report guest {program} -- {by}"])},
    )


def attempt(kernel: Kernel, by: str, work: initramfs.Job, stop: threading.Event) -> Finding:
    """Boot, and wait until the program has said something or its time is over."""
    machine = vm.Machine(
        kernel.built.image, kernel.built.out, kernel.cpus, exact=False,
        boot=f"{vm.STEADY} {kernel.boot}".strip(),
        timeout=BOOT_LIMIT + 60 * MINUTES * 2, target=kernel.built.target,
    )  # fmt: skip
    watch, lost = Watch(stop), ""
    try:
        vm.boot(machine, work, f"broken-{kernel.name}", watch, watch)
    except vm.Stopped:
        pass
    except VmLost as error:
        lost = str(error).split("; its console")[0]  # whose path is nobody else's
        watch.ended = time.monotonic()
    finding = conclude(kernel.name, by, watch, lost)
    ui.note(f"  {kernel.name}: {finding.said} ({by}, {finding.seconds:.0f} s)")
    return finding


def conclude(way: str, by: str, watch: Watch, lost: str) -> Finding:
    """What was printed, or what ended the machine; one where nothing ran shows nothing."""
    seconds = watch.seconds
    reports = sections.parse(watch.text)
    if watch.sign:
        return Finding(way, by, seconds, True, watch.sign)
    if not reports:
        return Finding(way, by, seconds, False, f"{by} did not run: {lost or 'no output'}")
    if lost:
        return Finding(way, by, seconds, "within" not in lost, lost)
    status = reports[-1].status
    return Finding(way, by, seconds, bool(status), f"status {status}" if status else "nothing")
