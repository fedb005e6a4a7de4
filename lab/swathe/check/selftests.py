# SPDX-License-Identifier: GPL-2.0-only
"""KUnit results and system-call tests, in as many guests as there are processors.

Each program runs in one of them, so that none has to wait for all others.
"""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import CheckFailed, VmLost
from swathe.base.paths import OVERLAY, SELFTESTS
from swathe.base.verdicts import Test, Verdict
from swathe.check import kcsan
from swathe.guest import environment, initramfs, kernel_log, sections, tap, vm
from swathe.kernel import build, compiler

# All suites of the kernel are read: ours, and memory management's own.
KUNIT = "/sys/kernel/debug/kunit"
OURS = "unmap"
TIME_LIMIT = 900
SKIPPED = 4
END = re.compile(r"\? \d+")
# Those that take more than half a minute, in seconds on a busy machine: only how evenly the
# guests are used depends on it.
LONG = {
    "tables": 270, "faults": 200, "discard": 160, "filemap": 140, "swap": 130, "tables_thp": 120,
    "kept": 100, "pressure": 95, "readers": 70, "ends": 60, "memx": 50, "lazyfree": 45,
    "poison": 45, "accounting": 35, "neighbours": 35, "putback": 30,
}  # fmt: skip
SHORT = 20
# The variant that is without KASAN, so that it can be booted with five.
FIVE_LEVELS = "five-levels"
# The switch starts in the position that is not the default: the boot parameter must work.
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

    @property
    def races(self) -> bool:
        return self.kernel.flavor == kcsan.FLAVOR

    @property
    def words(self) -> str:
        """For the kernel's command line."""
        usual = BOOT.split()
        if self.kernel.variant == FIVE_LEVELS:
            usual.remove(vm.FOUR_LEVELS)
        return " ".join(filter(None, (*usual, kcsan.BOOT if self.races else "", self.boot)))


def names() -> list[str]:
    """The system-call tests there are."""
    found = (OVERLAY / SELFTESTS).glob("*.c")
    return sorted(path.stem for path in found if compiler.MAIN.search(path.read_text()))


def compile_tests(built: build.BuiltKernel) -> dict[str, Path]:
    include = build.user_headers(built)
    common = built.tree / "tools" / "testing" / "selftests"
    flags = ["-isystem", str(include), f"-I{common}", "-Wno-unused-parameter", "-Wno-clobbered"]
    return compiler.programs(built.tree / SELFTESTS, flags, built.target.compiler)


def guest_lines(kunit: bool, programs: Sequence[str]) -> list[str]:
    """The commands of the guest's script."""
    lines = ["cd /"]  # discard.image unmounts /mnt
    if kunit:
        lines += [
            f"for suite in {KUNIT}/*; do",
            "\t[ -d $suite ] && report kunit ${suite##*/} -- cat $suite/results",
            "done",
        ]
    lines += [f"report guest {name} -- timeout {TIME_LIMIT} /bin/{name}" for name in programs]
    return lines


@dataclass(frozen=True)
class Said:
    """All that a guest said."""

    text: str
    console: str


def deal(request: SelftestRequest, hands: int) -> list[SelftestRequest]:
    """What each guest is to do: every program once, the long ones dealt first; KUnit once."""
    shares: list[list[str]] = [[] for _ in range(hands)]
    load = [0] * hands
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
    """Build, boot, and read what was reported."""
    built = build.build(request.kernel)
    programs = compile_tests(built) if request.programs else {}
    # Races are counted over one boot.
    hands = 1 if request.races else parallel.processors()
    shares = deal(request, hands)
    kind = " ".join(filter(None, (request.kernel.flavor, request.kernel.variant)))
    ui.note(f"booting Linux {built.version} ({kind}) to test it")
    memory = vm.mebibytes(vm.Machine.memory) << 20
    tasks = [
        parallel.Task(partial(hear, share, built, programs), memory=memory) for share in shares
    ]
    found: list[Test] = []
    for share, heard in zip(shares, parallel.run(tasks, hands), strict=True):
        found += [*read(heard.text, share), *complaints(heard.console, share.races)]
        if share.races:
            found += read_races(heard, share, built)
    return found


def hear(
    request: SelftestRequest,
    built: build.BuiltKernel,
    programs: Mapping[str, Path],
    stop: threading.Event,
) -> Said:
    """One guest, from its boot to its end."""
    machine = vm.Machine(
        built.image, built.out, request.cpus, exact=False,
        boot=request.words, timeout=request.timeout, target=built.target,
    )  # fmt: skip
    lines = guest_lines(request.kunit, request.programs)
    if request.races:
        lines.append(f"report {kcsan.FLAVOR} -- cat {kcsan.COUNTERS}")
    job = initramfs.Job(
        ["/bin/sh", "/test.sh"],
        {f"/bin/{name}": programs[name] for name in request.programs},
        {"/test.sh": sections.script(lines)},
    )
    text: list[str] = []
    console: list[str] = []
    name = f"test-{request.programs[0] if request.programs else 'kunit'}"
    try:
        verdict = vm.boot(machine, job, name, tell(text), stop, console.append)
    except VmLost as error:
        raise lost(error, "".join(text)) from error
    if verdict.shell_status == 128 + 9:
        raise CheckFailed("the guest's script was killed")
    return Said("".join(text), "".join(console))


def complaints(console: str, apart: bool = False) -> list[Test]:
    """A failed test for each thing the kernel complained about, although it went on.

    Data races are left out if they are judged apart.
    """
    return [
        Test("kernel log", Verdict.FAILED, line) for line in kernel_log.find(console)
        if not (apart and kcsan.TITLE.search(line))
    ]  # fmt: skip


def read_races(heard: Said, request: SelftestRequest, built: build.BuiltKernel) -> list[Test]:
    """What KCSAN saw, recorded and judged."""
    counted = [line for item in sections.parse(heard.text) if item.words == (kcsan.FLAVOR,)
               for line in item.lines]  # fmt: skip
    result = kcsan.RaceReport(
        tuple(kcsan.parse(heard.console)), kcsan.counters(counted), kcsan.own_names(built)
    )
    ran = [*(["KUnit"] if request.kunit else []), *request.programs]
    where = environment.look(built, request.cpus, vm.Machine.memory)
    kcsan.record(result, ran, where, request.keep)
    return kcsan.judge(result)


def tell(text: list[str]) -> vm.OnText:
    """Keep all output; say which program has ended, and how long it took."""
    begin, name = time.monotonic(), ""

    def on_text(more: str) -> None:
        nonlocal begin, name
        text.append(more)
        for line in more.splitlines():
            if line.startswith("@ "):
                begin, name = time.monotonic(), line[2:]
            elif END.fullmatch(line):
                ui.note(f"  {name}: {time.monotonic() - begin:.0f} s")

    return on_text


def lost(error: VmLost, text: str) -> VmLost:
    """The same error, after the tests that had ended by then."""
    for test in read_sections(text):
        if test.verdict is not Verdict.SKIPPED:
            ui.result(f"{test.verdict.value} before the end: {test.name}")
    unfinished = [section for section in sections.parse(text) if section.status is None]
    where = f" in {' '.join(unfinished[-1].words)}" if unfinished else ""
    return VmLost(f"{error}{where}")


def read_sections(text: str) -> list[Test]:
    """The tests of every program that ended."""
    found: list[Test] = []
    for section in sections.parse(text):
        if section.status is not None and section.words != (kcsan.FLAVOR,):
            found += judge(section)
    return found


def read(text: str, request: SelftestRequest) -> list[Test]:
    """All tests of a whole report; a part of which nothing is heard has failed."""
    found = read_sections(text)
    suites = [item.words[1] for item in sections.parse(text) if item.words[0] == "kunit"]
    if request.kunit and not any(suite.startswith(OURS) for suite in suites):
        found.append(Test("kunit: no suites", Verdict.FAILED, f"no {OURS}* below {KUNIT}"))
    return found


def judge(section: sections.Section) -> list[Test]:
    """One program's tests: what it printed, and that its status agrees."""
    prefix = " ".join(section.words)
    if section.status == SKIPPED and not any("ok " in line for line in section.lines):
        return [Test(prefix, Verdict.SKIPPED, section.lines[-1] if section.lines else "")]
    found = tap.parse(section.text, prefix)
    failed = any(test.verdict is Verdict.FAILED for test in found)
    if section.status not in (0, SKIPPED) and not failed:
        found.append(Test(prefix, Verdict.FAILED, f"it ended with status {section.status}"))
    return found
