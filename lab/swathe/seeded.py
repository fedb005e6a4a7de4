# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel on purpose, in one way after the other, and see that each is found.

The ways are those of mm/unmap/sabotage.c, one boot for each, as many side by side as
there are processors: booting keeps but one of a guest's busy. memx looks for them; those that
change no byte it knows of are looked for by a test that does (OTHERS). A way counts as found
when that program says what is wrong, or when a check of the kernel's own ends the machine
while it runs. First of all memx must find nothing in a kernel that is not broken.
"""

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from swathe import build, environment, guesttests, initramfs, parallel, proof, sections, ui, vm
from swathe.errors import CheckFailed, VmLost
from swathe.paths import OVERLAY
from swathe.tap import Test, Verdict

SABOTAGE = OVERLAY / "mm/unmap/sabotage.c"
WAY = re.compile(r'^\t\[UNMAP_SABOTAGE_\w+\]\s*= "(\w+)",$', re.MULTILINE)
NONE = "none"
KUNIT = "kunit"
# What memx cannot see, why, and what does: a program, and which of its tests.
OTHERS = {
    # The memory stays, and stays right: only its size is wrong.
    "extra_ref": "putback",
    # What lies behind a table does not continue a run by chance.
    "table_end": KUNIT,
    # Two pages of a run differ in it only after a fork that one of them was kept from.
    "exclusive": "swap -t exclusive",
    # No byte is lost, only room in swap.
    "swap_leak": "swap -t content",
    # Counters may be off by what CPUs hold back: it takes many rounds to tell.
    "statistics": "discard -t statistics",
    # Nobody fills a table again between the look at it and its end, but by chance.
    "table_full": "tables -t refilled",
    # This processor has no cache of upper levels: what is missing is the request to flush.
    "table_flush": "tables -t flushed",
    # Who is late by less than a grace period is seldom met; that there is one can be counted.
    "table_rcu": "tables -t deferred",
    # Whoever comes late must meet a table that goes: a race with that one thing in it.
    "table_late": "tables -t moves_anon",
    "table_missed": "tables -t uffd_fills",
    # Shmem is written by faults, which mark the folio, too.
    "dirty": "discard -t dirty",
    # What goes of a mapped file comes back, and is right.
    "zap_bounds": "discard -t content",
    # No byte is wrong: pages only count as mapped.
    "zap_count": "discard -t twice",
    # Gathers are full where there is no memory for more.
    "zap_rest": "discard -t full_gather",
}
MINUTES = 2.0
QUIET_MINUTES = 0.5
BOOT_LIMIT = 120
RACES = f"export TABLES_SECONDS={60 * MINUTES / 2:.0f}"
# What a program prints about the first thing that is wrong.
SIGN = re.compile(
    r"^(?:# (process \d+, operation .*|the kernel's log has .*)|\s*(not ok .*))$", re.MULTILINE
)


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


def ways() -> list[str]:
    """All ways there are, in their order."""
    found = WAY.findall(SABOTAGE.read_text())
    if not found:
        raise CheckFailed(f"{SABOTAGE} names no way to break the laws")
    return found


def finder(way: str) -> str:
    return OTHERS.get(way, "memx")


def run(kernel: build.Request, seed: int, cpus: int) -> list[Test]:
    """One boot for each way, and one for none."""
    built = build.build(kernel)
    programs = guesttests.compile_tests(built)
    ui.note(f"breaking Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(way: str) -> parallel.Task[Finding]:
        work = job(way, seed, programs)
        return parallel.Task(
            lambda stop: attempt(built, work, way, cpus, stop),
            memory=vm.mebibytes(vm.Machine.memory) << 20,
        )

    findings = parallel.run([task(way) for way in (NONE, *ways())], parallel.processors())
    record(built, seed, cpus, findings)
    return [judge(finding) for finding in findings]


def job(way: str, seed: int, programs: dict[str, Path]) -> initramfs.Job:
    by = finder(way)
    if by == KUNIT:
        lines = guesttests.guest_lines(True, ())
        return initramfs.Job(["/bin/sh", "/seeded.sh"], {}, {"/seeded.sh": sections.script(lines)})
    minutes = QUIET_MINUTES if way == NONE else MINUTES
    options = f" --seed {seed} --procs 2 --minutes {minutes}" if by == "memx" else ""
    program = by.split()[0]
    return initramfs.Job(
        ["/bin/sh", "/seeded.sh"],
        {f"/bin/{program}": programs[program]},
        {"/seeded.sh": sections.script([RACES, f"report guest {program} -- {by}{options}"])},
    )


def attempt(
    built: build.Result, task: initramfs.Job, way: str, cpus: int, stop: threading.Event
) -> Finding:
    """Boot broken in this way, until the program has said something or its time is over."""
    broken = "" if way == NONE else f" unmap.sabotage={way}"
    machine = vm.Machine(
        built.image, built.out, cpus, exact=False, boot=f"{guesttests.STEADY}{broken}",
        timeout=BOOT_LIMIT + 60 * MINUTES * 2, target=built.target,
    )  # fmt: skip
    watch, lost = Watch(stop), ""
    try:
        vm.boot(machine, task, f"seeded-{way}", watch, watch)
    except vm.Stopped:
        pass
    except VmLost as error:
        lost = str(error).split("; its console")[0]  # whose path is nobody else's
        watch.ended = time.monotonic()
    finding = conclude(way, watch, lost)
    ui.note(f"  {way}: {finding.said} ({finding.by}, {finding.seconds:.0f} s)")
    return finding


def conclude(way: str, watch: Watch, lost: str) -> Finding:
    """What was printed, or what ended the machine; one where nothing ran shows nothing."""
    by, seconds = finder(way), watch.seconds
    reports = sections.parse(watch.text)
    if watch.sign:
        return Finding(way, by, seconds, True, watch.sign)
    if not reports:
        return Finding(way, by, seconds, False, f"{by} did not run: {lost or 'no output'}")
    if lost:
        return Finding(way, by, seconds, "within" not in lost, lost)
    status = reports[-1].status
    return Finding(way, by, seconds, bool(status), f"status {status}" if status else "nothing")


def judge(finding: Finding) -> Test:
    """Broken must be found; in a kernel that is not, nothing may be, by a program that ran."""
    good = finding.said == "nothing" if finding.way == NONE else finding.found
    verdict = Verdict.PASSED if good else Verdict.FAILED
    return Test(f"seeded {finding.way}", verdict, finding.said)


def record(built: build.Result, seed: int, cpus: int, findings: Sequence[Finding]) -> None:
    rows = [(f.way, f.by, f"{f.seconds:.0f}", f.said) for f in findings]
    proof.record(
        built.version,
        proof.Section(
            "seeded", f"Kernels broken on purpose (`./swathe test seeded`), seed {seed}",
            environment.look(built, cpus, vm.Machine.memory).as_json(),
            ("way", "found by", "seconds", "what it said"), tuple(rows),
        ),
    )  # fmt: skip
