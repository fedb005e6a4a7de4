# SPDX-License-Identifier: GPL-2.0-only
"""KUnit and the system-call tests: the script of a guest that runs them, and their verdicts.

selftest_guests.py boots the guests.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base.paths import OVERLAY, SELFTESTS
from swathe.base.verdicts import Test, Verdict
from swathe.check import kcsan
from swathe.guest import clock, kernel_log, tap, vm
from swathe.guest.clock import Clock
from swathe.guest.sections import Section
from swathe.kernel import build, compiler

# All KUnit suites in the kernel are read: ours, and memory management's own.
KUNIT = "/sys/kernel/debug/kunit"
OURS = "unmap"
# Seconds for each program by the guest's clock, on x86-64.
TIME_LIMIT = 3600
SKIPPED = 4
# These look for races that nobody arranges: their processors run in parallel.
PARALLEL = frozenset({"memx", "races", "together"})
KUNIT_WORD = "kunit"
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
    # Of all guests; None: the clock that each program wants.
    clock: Clock | None = None
    # Programs and tests: such a program runs only these tests.
    single: tuple[tuple[str, str], ...] = ()
    # Each guest is booted so many times.
    times: int = 1

    def in_kernel(self, kernel: build.KernelRequest) -> "SelftestRequest":
        """The same in another kernel; with more time where that is emulated more slowly."""
        slower = kernel.target.patience / self.kernel.target.patience
        return replace(self, kernel=kernel, timeout=self.timeout * slower)

    @property
    def races(self) -> bool:
        return self.kernel.flavor == kcsan.FLAVOR

    def clock_of(self, program: str) -> Clock:
        wanted = Clock.HOST if program in PARALLEL or self.races else Clock.COUNTED
        return clock.possible(self.clock or wanted, self.kernel.target)

    def command(self, program: str) -> str:
        """Return the command that runs a program, or single tests of it: by their names, or by
        fixture, variant and name.
        """
        tests = [test for name, test in self.single if name == program]
        return " ".join([program, *(f"-{'r' if '.' in test else 't'} {test}" for test in tests)])

    @property
    def work(self) -> tuple[str, ...]:
        """The words of what one guest does, in order."""
        return (*((KUNIT_WORD,) if self.kunit else ()), *self.programs)

    def rest(self, done: Collection[str]) -> "SelftestRequest":
        """The same without what was done."""
        left = tuple(name for name in self.programs if name not in done)
        return replace(self, kunit=self.kunit and KUNIT_WORD not in done, programs=left)

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
    kunit: bool, commands: Sequence[str], on_only: bool = False, patience: int = 1,
    clock: Clock = Clock.HOST,
) -> list[str]:  # fmt: skip
    """Return the commands of the guest's script; commands are programs with their options."""
    limit = TIME_LIMIT * patience
    lines = ["cd /"]  # discard.image unmounts /mnt
    # Tests that judge times skip where the host's load changes them.
    lines.append(f"export UNMAP_CLOCK={clock.name.lower()}")
    if on_only:
        lines.append("export UNMAP_ON_ONLY=1")
    if kunit:
        lines += [
            f"for suite in {KUNIT}/*; do",
            "\t[ -d $suite ] && report kunit ${suite##*/} -- cat $suite/results",
            "done",
        ]
    for command in commands:
        name = command.split()[0]
        lines.append(f"report guest {name} -- timeout {limit} /bin/{command}")
        # A test that runs when its program's time is up is in a process group of its own.
        lines.append(f"killall -q -9 {name} || true")
    return lines


def complaints(console: str, apart: bool = False) -> list[Test]:
    """Return a failed test for each error message of a kernel that went on running.

    apart: data races are left out, because they are judged separately.
    """
    return [
        Test("kernel log", Verdict.FAILED, line) for line in kernel_log.find(console)
        if not (apart and kcsan.TITLE.search(line))
    ]  # fmt: skip


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
    if not found:
        found.append(Test(prefix, Verdict.FAILED, "none of its tests has that name"))
    elif section.status not in (0, SKIPPED) and not failed:
        found.append(Test(prefix, Verdict.FAILED, f"it ended with status {section.status}"))
    return found
