# SPDX-License-Identifier: GPL-2.0-only
"""Cut a guest's power, then check its disk: see ./swathe powercut --help."""

import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import parallel, process, ui
from swathe.base.paths import GUEST_POWERCUT, SELFTESTS, scratch
from swathe.base.verdicts import Test, Verdict
from swathe.check import proof
from swathe.guest import environment, initramfs, kernel_log, sections, session, vm
from swathe.kernel import build, compiler

PART = "powercut"
TIMEOUT = 900
CUTS = 3
# The guest prints between EARLIEST and LATEST lines before the cut; the seed chooses how many.
EARLIEST, LATEST = 30, 600
# On a slow machine the power is cut after so many seconds of writing, if EARLIEST lines are there.
LONGEST = 240.0
LIST = "/synced"
SHOWN_WRONG = 3


@dataclass(frozen=True)
class PowercutRequest:
    kernel: build.KernelRequest
    cuts: int
    seed: int
    cpus: int
    timeout: float
    boot: str
    spoil: bool = False


@dataclass(frozen=True)
class Cut:
    """One cut: the guest's own seed, and the number of lines after which QEMU is killed."""

    number: int
    seed: int
    at: int
    spoil: bool = False

    @property
    def name(self) -> str:
        return f"powercut: cut {self.number} (seed {self.seed}, after {self.at} lines)"


class PowerCut(Exception):
    """Raised to end the guest: QEMU is killed when the exception leaves vm.running()."""


class Told(sections.Reader):
    """Reads the guest's output up to the line at which its power is cut."""

    def __init__(self, last: int, longest: float = LONGEST) -> None:
        super().__init__(says=self.count)
        self.last = last
        self.longest = longest
        self.begin = 0.0

    def count(self, _: str) -> None:
        now = time.monotonic()
        self.begin = self.begin or now
        late = now - self.begin >= self.longest and len(self.lines) >= EARLIEST
        if late or len(self.lines) >= self.last:
            raise PowerCut

    @property
    def synced(self) -> list[str]:
        return [line for line in self.lines if line.startswith(("s ", "f "))]

    @property
    def evicted(self) -> int:
        """The number of entries evicted in runs between the first count and the last."""
        counts = [int(line[2:]) for line in self.lines if line.startswith("e ")]
        return counts[-1] - counts[0] if counts else 0

    @property
    def complaint(self) -> str:
        return next((line[2:] for line in self.lines if line.startswith("! ")), "")


def plan(seed: int, cuts: int, spoil: bool = False) -> list[Cut]:
    """Plan the cuts; the same seed gives the same cuts."""
    rng = random.Random(seed)
    return [
        Cut(number, rng.randrange(1, 1 << 31), rng.randrange(EARLIEST, LATEST), spoil)
        for number in range(1, cuts + 1)
    ]


def cut_all(request: PowercutRequest) -> list[Test]:
    """Build the kernel, and do the cuts, in one guest per processor at a time."""
    built = build.build(request.kernel)
    program = compile_guest(built)
    machine = vm.checking(built, request.cpus, request.timeout, request.boot)

    def task(cut: Cut) -> parallel.Task[Test]:
        return parallel.Task(
            lambda stop: tell(cut_once(machine, program, cut, stop)), memory=vm.BYTES
        )

    tasks = [task(cut) for cut in plan(request.seed, request.cuts, request.spoil)]
    tests = parallel.run(tasks, parallel.processors())
    record(built, request, tests)
    return tests


def tell(test: Test) -> Test:
    ui.result(f"{test.verdict.value}: {test.name}, {test.detail}")
    return test


def record(built: build.BuiltKernel, request: PowercutRequest, tests: list[Test]) -> None:
    broken = " --spoil" if request.spoil else ""
    broken += f" --boot {request.boot}" if request.boot else ""
    options = f"--cuts {request.cuts} --seed {request.seed}{broken}"
    rows = tuple(
        (test.name.removeprefix("powercut: "), test.verdict.value, test.detail) for test in tests
    )
    about = environment.look(built, request.cpus, vm.Machine.memory)
    header = ("cut", "result", "what was seen")
    title = f"`./swathe powercut {options}`"
    proof.record(proof.ResultTable(f"powercut{broken}", title, about, header, rows))


def compile_guest(built: build.BuiltKernel) -> Path:
    """Compile the guest's program, with the helpers of the system-call tests."""
    shared = built.tree / SELFTESTS / "lib"
    common = built.tree / "tools" / "testing" / "selftests"
    flags = ["-isystem", str(build.user_headers(built)), f"-I{shared}", f"-I{common}"]
    sources = [GUEST_POWERCUT, *sorted(shared.glob("unmap_*.c"))]
    headers = sorted(shared.glob("unmap_*.h"))
    return compiler.compile_program(sources, flags, headers, built.target.compiler)


def cut_once(
    machine: vm.Machine, program: Path, cut: Cut, stop: threading.Event | None = None
) -> Test:
    """Boot, kill QEMU, boot again with the same disk, and check it."""
    with scratch("powercut") as home:
        disk = home / "disk.img"
        vm.make_disk(disk, machine.disk)
        machine = replace(machine, image_of_disk=disk)
        told = Told(cut.at)
        problem = write_until_cut(machine, program, cut, told, stop)
        problem = problem or check_disk(machine, program, told, stop) or repair(disk)
    if problem:
        return Test(cut.name, Verdict.FAILED, problem)
    kept = ui.plural(len(told.synced), "sync")
    detail = f"{kept} kept, {ui.plural(told.evicted, 'entry', 'entries')} evicted"
    return Test(cut.name, Verdict.PASSED, detail)


def job(program: Path, words: str, texts: Mapping[str, str] | None = None) -> initramfs.Job:
    lines = [f"report powercut -- powercut {words}"]
    return session.job(lines, {"/bin/powercut": program}, texts)


def write_until_cut(
    machine: vm.Machine, program: Path, cut: Cut, told: Told, stop: threading.Event | None
) -> str:
    """Return what went wrong: the guest must be alive and evicting when its power is cut."""
    work = job(program, f"{'spoil' if cut.spoil else 'write'} {cut.seed}")
    try:
        heard = session.run(machine, work, "powercut-write", told, stop)
    except PowerCut:
        off = "unmap=n" in machine.boot.split()
        return "" if off or told.evicted else "nothing was evicted before the cut"
    heard.not_stopped()
    if heard.lost and "within" in str(heard.lost):
        raise heard.lost
    if heard.lost:
        return f"before the cut, {heard.lost}"
    said = told.complaint or f"status {told.ended[-1].status if told.ended else heard.status}"
    return f"the guest ended by itself ({said})"


def check_disk(machine: vm.Machine, program: Path, told: Told, stop: threading.Event | None) -> str:
    """Boot with the disk as the cut left it; return what is missing on it."""
    synced = "".join(f"{line}\n" for line in told.synced)
    work = job(program, f"check {LIST}", {LIST: synced})
    heard = session.run(machine, work, "powercut-check", stop=stop).not_stopped()
    if heard.lost:
        return f"after the cut, {heard.lost}"
    section = next(iter(heard.of("powercut")), None)
    lines = section.lines if section else ()
    wrong = [line for line in lines if line.startswith(("wrong", "! "))]
    wrong += kernel_log.find(heard.console)
    status = section.status if section else heard.status or "unknown"
    return "; ".join(wrong[:SHOWN_WRONG]) or (f"status {status}" if status else "")


def repair(disk: Path) -> str:
    """Check the file system with xfs_repair -n; return its error message."""
    done = process.run(["xfs_repair", "-n", "-f", str(disk)], timeout=1200)
    return "" if done.ok else f"xfs_repair -n: {process.last_line(done.output)}"
