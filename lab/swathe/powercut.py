# SPDX-License-Identifier: GPL-2.0-only
"""Cut a guest's power while reclaim unmaps dirty file pages, and look what is on its disk.

The guest stamps pages of a mapped file on XFS, syncs some of them, and says so after the
system call returned, while all of it is being reclaimed. At a moment that the seed chooses,
QEMU is killed. Then the same disk is booted again: XFS must mount (it recovers its log), every
stamp that was said to be synced must be there, and xfs_repair -n must find nothing.

With --spoil the guest says so without having synced anything: that must fail. So must a kernel
whose TLBs keep translations to pages that are gone (--boot unmap.sabotage=flush).

What was written to the virtual disk stays in the host's page cache, so this is a power cut for
everything the guest had in memory; it is not one for a disk's own volatile cache.

    ./swathe powercut                     three cuts
    ./swathe powercut --cuts 10 --seed 7  the cuts of this seed
"""

import argparse
import random
from dataclasses import dataclass, replace
from pathlib import Path

from swathe import (
    build,
    cc,
    environment,
    guesttests,
    initramfs,
    proc,
    proof,
    reports,
    run,
    tap,
    ui,
    vm,
)  # fmt: skip
from swathe.errors import VmLost
from swathe.paths import GUEST_POWERCUT, SELFTESTS, scratch
from swathe.tap import Test, Verdict

TIMEOUT = 900
CUTS = 3
# So many lines the guest gets to say before the cut.
EARLIEST, LATEST = 30, 600
LIST = "/synced"
SHOWN_WRONG = 3


@dataclass(frozen=True)
class Request:
    kernel: build.Request
    cuts: int
    seed: int
    cpus: int
    timeout: float
    boot: str
    spoil: bool = False


@dataclass(frozen=True)
class Cut:
    """One cut: the guest's own seed, and the line at which its power goes."""

    number: int
    seed: int
    at: int
    spoil: bool = False

    @property
    def name(self) -> str:
        return f"powercut: cut {self.number} (seed {self.seed}, after {self.at} lines)"


class PowerCut(Exception):
    """Ends the guest: whoever runs it kills QEMU on the way out."""


class Told:
    """What the guest said: nothing after the line that is the last."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.lines: list[str] = []

    def __call__(self, text: str) -> None:
        self.lines += text.splitlines()
        if len(self.lines) >= self.last:
            raise PowerCut

    @property
    def synced(self) -> list[str]:
        return [line for line in self.lines if line.startswith(("s ", "f "))]

    @property
    def evicted(self) -> int:
        """How many entries went in runs between the first count and the last."""
        counts = [int(line[2:]) for line in self.lines if line.startswith("e ")]
        return counts[-1] - counts[0] if counts else 0

    @property
    def complaint(self) -> str:
        return next((line[2:] for line in self.lines if line.startswith("! ")), "")


def plan(seed: int, cuts: int, spoil: bool = False) -> list[Cut]:
    """The same cuts for the same seed."""
    rng = random.Random(seed)
    return [
        Cut(number, rng.randrange(1, 1 << 31), rng.randrange(EARLIEST, LATEST), spoil)
        for number in range(1, cuts + 1)
    ]


def set_argparser(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cuts", type=run.positive, default=CUTS, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, metavar="S", help="of the guest and the moments")
    parser.add_argument("--spoil", action="store_true", help="sync nothing: this must fail")
    run.add_machine_arguments(parser, TIMEOUT)
    build.add_kernel_arguments(parser)
    build.add_flavor_argument(parser, "debug")
    parser.set_defaults(cpus=2)


def request_from(args: argparse.Namespace) -> Request:
    seed = random.randrange(1 << 31) if args.seed is None else args.seed
    kernel = build.request_from(args, pristine=False)
    return Request(kernel, args.cuts, seed, args.cpus, args.timeout, args.boot, args.spoil)


def main(args: argparse.Namespace) -> int:
    request = request_from(args)
    ui.result(f"seed {request.seed}")
    count = tap.count(cut_all(request))
    ui.result(str(count))
    return 0 if count.ok else 1


def cut_all(request: Request) -> list[Test]:
    """Build, and do one cut after the other."""
    built = build.build(request.kernel)
    program = compile_guest(built)
    machine = vm.Machine(
        built.image, built.out, request.cpus, exact=False,
        boot=f"{guesttests.STEADY} {request.boot}".strip(), timeout=request.timeout,
        target=built.target,
    )  # fmt: skip
    tests = []
    for cut in plan(request.seed, request.cuts, request.spoil):
        tests.append(cut_once(machine, program, cut))
        ui.result(f"{tests[-1].verdict.value}: {tests[-1].name}, {tests[-1].detail}")
    record(built, request, tests)
    return tests


def record(built: build.Result, request: Request, tests: list[Test]) -> None:
    broken = " --spoil" if request.spoil else ""
    broken += f" --boot {request.boot}" if request.boot else ""
    options = f"--cuts {request.cuts} --seed {request.seed}{broken}"
    rows = tuple(
        (test.name.removeprefix("powercut: "), test.verdict.value, test.detail) for test in tests
    )
    about = environment.look(built, request.cpus, vm.Machine.memory).as_json()
    header = ("cut", "result", "what was seen")
    section = proof.Section(
        f"powercut{broken}", f"`./swathe powercut {options}`", about, header, rows
    )
    proof.record(built.version, section)


def compile_guest(built: build.Result) -> Path:
    """The guest's program, with the helpers of the system-call tests."""
    shared = built.tree / SELFTESTS
    flags = ["-isystem", str(guesttests.need_headers(built)), f"-I{shared}"]
    sources = [GUEST_POWERCUT, *sorted(shared.glob("unmap_*.c"))]
    headers = sorted(shared.glob("unmap_*.h"))
    return cc.compile_program(sources, flags, headers, built.target.compiler)


def cut_once(machine: vm.Machine, program: Path, cut: Cut) -> Test:
    """Boot, kill, boot again with the same disk, and check it."""
    with scratch("powercut") as home:
        disk = home / "disk.img"
        vm.make_disk(disk, machine.disk)
        machine = replace(machine, image_of_disk=disk)
        told = Told(cut.at)
        problem = write_until_cut(machine, program, cut, told)
        problem = problem or check_disk(machine, program, told) or repair(disk)
    if problem:
        return Test(cut.name, Verdict.FAILED, problem)
    detail = f"{len(told.synced)} syncs kept, {told.evicted} entries evicted"
    return Test(cut.name, Verdict.PASSED, detail)


def write_until_cut(machine: vm.Machine, program: Path, cut: Cut, told: Told) -> str:
    """Returns what went wrong: the guest must be alive and evicting when its power goes."""
    what = "spoil" if cut.spoil else "write"
    job = initramfs.Job(["/bin/powercut", what, str(cut.seed)], {"/bin/powercut": program})
    try:
        verdict = vm.boot(machine, job, "powercut-write", told)
    except PowerCut:
        off = "unmap=n" in machine.boot.split()
        return "" if off or told.evicted else "nothing was evicted before the cut"
    except VmLost as error:
        if "within" in str(error):
            raise
        return f"before the cut, {error}"
    return f"the guest ended by itself ({told.complaint or f'status {verdict.shell_status}'})"


def check_disk(machine: vm.Machine, program: Path, told: Told) -> str:
    """Boot with the disk as it was left; returns what is missing on it."""
    job = initramfs.Job(
        ["/bin/powercut", "check", LIST], {"/bin/powercut": program},
        {LIST: "".join(f"{line}\n" for line in told.synced)},
    )  # fmt: skip
    text: list[str] = []
    console: list[str] = []
    try:
        verdict = vm.boot(machine, job, "powercut-check", text.append, on_console=console.append)
    except VmLost as error:
        return f"after the cut, {error}"
    wrong = [line for line in "".join(text).splitlines() if line.startswith(("wrong", "! "))]
    wrong += reports.find("".join(console))
    if wrong or verdict.shell_status:
        return "; ".join(wrong[:SHOWN_WRONG]) or f"status {verdict.shell_status}"
    return ""


def repair(disk: Path) -> str:
    """Have xfs_repair look at the file system; returns its complaint."""
    done = proc.run(["xfs_repair", "-n", "-f", str(disk)], timeout=120)
    return "" if done.ok else f"xfs_repair -n: {proc.last_line(done.output)}"
