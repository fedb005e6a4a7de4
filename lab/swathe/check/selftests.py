# SPDX-License-Identifier: GPL-2.0-only
"""Run KUnit and the system-call tests in one guest per processor.

The programs are distributed over the guests, so that they run in parallel.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import VmLost
from swathe.base.paths import OVERLAY, SELFTESTS
from swathe.base.verdicts import Test, Verdict
from swathe.check import kcsan
from swathe.guest import environment, kernel_log, sections, session, tap, vm
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel import build, compiler

# All KUnit suites in the kernel are read: ours, and memory management's own.
KUNIT = "/sys/kernel/debug/kunit"
OURS = "unmap"
# Seconds for each program, on x86-64.
TIME_LIMIT = 900
SKIPPED = 4
# Seconds that the long programs take with the switch on only, as CI runs them. They only affect how
# evenly the programs are distributed over the guests.
LONG = {
    "drop": 400, "ahead": 270, "reference": 260, "tables": 250, "tables_thp": 165, "readers": 150,
    "kept": 115, "faults": 110, "pressure": 85, "discard": 80, "freeing": 70, "filemap": 65,
    "swap": 65, "memx": 60, "ends": 45, "neighbours": 40, "trace": 40, "lazyfree": 30,
    "poison": 30, "putback": 20, "accounting": 15,
}  # fmt: skip
SHORT = 20
# The variant without KASAN, so that it can boot with five-level page tables.
FIVE_LEVELS = "five-levels"
# unmap=n is not the default: the tests check that the boot parameter works.
BOOT = f"unmap=n {vm.STEADY}"


@dataclass(frozen=True)
class SelftestRequest:
    kernel: build.KernelRequest
    kunit: bool
    programs: tuple[str, ...]
    cpus: int
    timeout: float
    boot: str
    keep: bool = False
    # Leave out what the programs do with the switch off: that is stock's code.
    on_only: bool = False

    def in_kernel(self, kernel: build.KernelRequest) -> "SelftestRequest":
        """The same in another kernel; with more time where that is emulated more slowly."""
        slower = kernel.target.patience / self.kernel.target.patience
        return replace(self, kernel=kernel, timeout=self.timeout * slower)

    @property
    def races(self) -> bool:
        return self.kernel.flavor == kcsan.FLAVOR

    @property
    def words(self) -> str:
        """The parameters for the kernel's command line."""
        usual = BOOT.split()
        if self.kernel.variant == FIVE_LEVELS:
            usual.remove(vm.FOUR_LEVELS)
        suites = "" if self.kunit else vm.NO_SUITES
        races = kcsan.BOOT if self.races else ""
        return " ".join(filter(None, (*usual, suites, races, self.boot)))


def names() -> list[str]:
    """Return the names of the system-call tests."""
    found = (OVERLAY / SELFTESTS).glob("*.c")
    return sorted(path.stem for path in found if compiler.MAIN.search(path.read_text()))


def compile_tests(built: build.BuiltKernel) -> dict[str, Path]:
    include = build.user_headers(built)
    common = built.tree / "tools" / "testing" / "selftests"
    flags = ["-isystem", str(include), f"-I{common}", "-Wno-unused-parameter", "-Wno-clobbered"]
    flags.append(f"-DUNMAP_PAGE_SHIFT={built.page_shift}")
    return compiler.programs(built.tree / SELFTESTS, flags, built.target.compiler)


def guest_lines(
    kunit: bool, programs: Sequence[str], on_only: bool = False, patience: int = 1
) -> list[str]:
    """Return the commands of the guest's script."""
    limit = TIME_LIMIT * patience
    lines = ["cd /"]  # discard.image unmounts /mnt
    if on_only:
        lines.append("export UNMAP_ON_ONLY=1")
    if kunit:
        lines += [
            f"for suite in {KUNIT}/*; do",
            "\t[ -d $suite ] && report kunit ${suite##*/} -- cat $suite/results",
            "done",
        ]
    for name in programs:
        lines.append(f"report guest {name} -- timeout {limit} /bin/{name}")
        # A test that runs when its program's time is up is in a process group of its own.
        lines.append(f"killall -q -9 {name} || true")
    return lines


def distribute(request: SelftestRequest, guests: int) -> list[SelftestRequest]:
    """Distribute the programs over the guests, the longest first; one guest reads KUnit."""
    shares: list[list[str]] = [[] for _ in range(guests)]
    load = [0] * guests
    for name in sorted(request.programs, key=lambda name: (-LONG.get(name, SHORT), name)):
        least = load.index(min(load))
        shares[least].append(name)
        load[least] += LONG.get(name, SHORT)
    dealt = [
        replace(request, kunit=request.kunit and number == 0, programs=tuple(sorted(share)))
        for number, share in enumerate(shares)
    ]
    return [share for share in dealt if share.programs or share.kunit]


def run(request: SelftestRequest) -> list[Test]:
    """Build the kernel, boot the guests, and read their reports."""
    built = build.build(request.kernel)
    programs = compile_tests(built) if request.programs else {}
    # KCSAN's races are counted in a single boot.
    guests = 1 if request.races else parallel.processors()
    shares = distribute(request, guests)
    kind = " ".join(filter(None, (request.kernel.flavor, request.kernel.variant)))
    ui.note(f"booting Linux {built.version} ({kind}) to test it")
    tasks = [
        parallel.Task(partial(hear, share, built, programs), memory=vm.BYTES) for share in shares
    ]
    found: list[Test] = []
    for share, heard in zip(shares, parallel.run(tasks, guests), strict=True):
        found += [*read(heard.sections, share), *complaints(heard.console, share.races)]
        if share.races:
            found += read_races(heard, share, built)
    return found


def hear(
    request: SelftestRequest,
    built: build.BuiltKernel,
    programs: Mapping[str, Path],
    stop: threading.Event,
) -> Transcript:
    """Boot one guest, and return its transcript."""
    machine = vm.Machine(
        built, request.cpus, exact=False, boot=request.words, timeout=request.timeout
    )
    patience = built.target.patience
    lines = guest_lines(request.kunit, request.programs, request.on_only, patience)
    if request.races:
        lines.append(kcsan.READ)
    work = session.job(lines, {f"/bin/{name}": programs[name] for name in request.programs})
    name = f"test-{request.programs[0] if request.programs else 'kunit'}"
    heard = session.run(machine, work, name, tell(), stop)
    if heard.lost:
        raise lost(heard.lost, heard)
    return heard.whole()


def complaints(console: str, apart: bool = False) -> list[Test]:
    """Return a failed test for each error message of a kernel that went on running.

    apart: data races are left out, because they are judged separately.
    """
    return [
        Test("kernel log", Verdict.FAILED, line) for line in kernel_log.find(console)
        if not (apart and kcsan.TITLE.search(line))
    ]  # fmt: skip


def read_races(heard: Transcript, request: SelftestRequest, built: build.BuiltKernel) -> list[Test]:
    """Record and judge the races that KCSAN found."""
    result = kcsan.report(heard, built)
    ran = [*(["KUnit"] if request.kunit else []), *request.programs]
    where = environment.look(built, request.cpus, vm.Machine.memory)
    kcsan.record(result, ran, where, request.keep)
    return kcsan.judge(result)


def tell() -> sections.Reader:
    """Return a reader that prints each program's name and duration when it ends."""
    began = 0.0

    def begins(_: sections.Words) -> None:
        nonlocal began
        began = time.monotonic()

    def ends(section: Section) -> None:
        ui.note(f"  {' '.join(section.words)}: {time.monotonic() - began:.0f} s")

    return sections.Reader(begins=begins, ends=ends)


def lost(error: VmLost, heard: Transcript) -> VmLost:
    """Print the tests that had ended by then; return the error with the running program's name."""
    for test in read_sections(heard.sections):
        if test.verdict is not Verdict.SKIPPED:
            ui.result(f"{test.verdict.value} before the end: {test.name}")
    where = f" in {' '.join(heard.unfinished.words)}" if heard.unfinished else ""
    return VmLost(f"{error}{where}")


def read_sections(reports: Iterable[Section]) -> list[Test]:
    """Return the tests of every program that ended."""
    found: list[Test] = []
    for section in reports:
        if section.status is not None and section.words != (kcsan.FLAVOR,):
            found += judge(section)
    return found


def read(reports: Sequence[Section], request: SelftestRequest) -> list[Test]:
    """Return all tests of a complete report; a requested part without results has failed."""
    found = read_sections(reports)
    suites = [section.words[1] for section in reports if section.words[0] == "kunit"]
    if request.kunit and not any(suite.startswith(OURS) for suite in suites):
        found.append(Test("kunit: no suites", Verdict.FAILED, f"no {OURS}* below {KUNIT}"))
    return found


def judge(section: Section) -> list[Test]:
    """Return one program's tests; its exit status must agree with what it printed."""
    prefix = " ".join(section.words)
    if section.status == SKIPPED and not any("ok " in line for line in section.lines):
        return [Test(prefix, Verdict.SKIPPED, section.lines[-1] if section.lines else "")]
    found = tap.parse(section.text, prefix)
    failed = any(test.verdict is Verdict.FAILED for test in found)
    if section.status not in (0, SKIPPED) and not failed:
        found.append(Test(prefix, Verdict.FAILED, f"it ended with status {section.status}"))
    return found
