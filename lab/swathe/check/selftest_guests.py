# SPDX-License-Identifier: GPL-2.0-only
"""Boot the guests in which KUnit and the system-call tests run.

The programs are distributed over guests, so that these run side by side. Most guests count
instructions: no load of the host changes a verdict there. Programs that look for races which
nobody arranges run in guests whose processors run in parallel.

A guest that panics has failed in the program that was running; one that is dead may have been
the host's fault. What ended before that counts, and the rest runs in one more guest.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.verdicts import Test, Verdict
from swathe.check import kcsan, selftests, skips
from swathe.check.selftests import KUNIT_WORD, SelftestRequest
from swathe.guest import environment, sections, session, vm
from swathe.guest.clock import Clock
from swathe.guest.sections import Section
from swathe.guest.session import Transcript
from swathe.kernel import build

# Seconds that the long programs take with KASAN, lockdep and the switch on only, as CI runs
# them; without both it is about a seventh. They only affect how evenly programs are distributed.
LONG = {
    "ahead": 900, "drop": 900, "tables": 600, "readers": 500, "reference": 330, "pressure": 300,
    "tables_thp": 300, "faults": 200, "relocate": 200, "swap": 200, "waits": 200, "discard": 150,
    "freeing": 120, "filemap": 90, "half_done": 90, "kept": 90, "neighbours": 85, "ends": 70,
    "lazyfree": 60, "memx": 60, "races": 60, "split": 60, "poison": 40, "putback": 40, "trace": 40,
}  # fmt: skip
SHORT = 20


@dataclass(frozen=True)
class Share:
    """What one guest does, and by which clock."""

    request: SelftestRequest
    clock: Clock


@dataclass(frozen=True)
class Heard:
    """What came of a share: its guests, and what failed with a guest rather than in a test."""

    share: Share
    transcripts: tuple[Transcript, ...]
    failures: tuple[Test, ...] = ()


def distribute(request: SelftestRequest, guests: int) -> list[Share]:
    """Distribute the programs over guests of either clock, the longest first.

    The first guest reads KUnit, by the clock of most programs.
    """
    found: list[Share] = []
    for clock in (Clock.COUNTED, Clock.HOST):
        programs = tuple(name for name in request.programs if request.clock_of(name) is clock)
        kunit = request.kunit and request.clock_of(KUNIT_WORD) is clock
        part = replace(request, kunit=kunit, programs=programs)
        found += [Share(dealt, clock) for dealt in deal(part, guests)]
    return found


def deal(request: SelftestRequest, guests: int) -> list[SelftestRequest]:
    """Deal the programs of one clock to so many guests at most."""
    shares: list[list[str]] = [[] for _ in range(guests)]
    load = [0] * guests
    for name in longest_first(request.programs):
        least = load.index(min(load))
        shares[least].append(name)
        load[least] += seconds(name)
    dealt = [
        replace(request, kunit=request.kunit and number == 0, programs=tuple(sorted(share)))
        for number, share in enumerate(shares)
    ]
    return [share for share in dealt if share.programs or share.kunit]


def longest_first(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (-seconds(name), name))


def seconds(program: str) -> int:
    return LONG.get(program, SHORT)


def run(request: SelftestRequest) -> list[Test]:
    """Build the kernel, boot the guests, and read their reports."""
    built = build.build(request.kernel)
    programs = selftests.compile_tests(built) if request.programs else {}
    # KCSAN's races are counted in a single boot.
    guests = 1 if request.races else parallel.processors()
    kind = " ".join(filter(None, (request.kernel.flavor, request.kernel.variant)))
    ui.note(f"booting Linux {built.version} ({kind}) to test it")
    tasks = [
        parallel.Task(
            partial(attend, share, built, programs), cost=cost(share.request), memory=vm.BYTES
        )
        for _ in range(request.times)
        for share in distribute(request, guests)
    ]
    found = [test for heard in parallel.run(tasks, guests) for test in tests(heard, built)]
    # What is skipped is counted in one run of whole programs.
    whole = request.times == 1 and not request.single
    return [*found, *(skips.judge(found, request, built.version) if whole else ())]


def cost(request: SelftestRequest) -> int:
    return sum(map(seconds, request.programs))


def tests(heard: Heard, built: build.BuiltKernel) -> list[Test]:
    """Return the tests of a share, and what its guests' kernels complained of."""
    request = heard.share.request
    reports = [section for each in heard.transcripts for section in each.sections]
    found = [*selftests.read(reports, request), *heard.failures]
    for each in heard.transcripts:
        found += selftests.complaints(each.console, request.races)
        if request.races:
            found += read_races(each, request, built)
    return found


def attend(
    share: Share, built: build.BuiltKernel, programs: Mapping[str, Path], stop: threading.Event
) -> Heard:
    """Boot a guest, and one more for the rest if the first is lost."""
    first = hear(share, built, programs, stop)
    if not first.lost:
        return Heard(share, (first.whole(),))
    failed = panicked(first)
    rest = share.request.rest({*ended(first), *(test.name for test in failed)})
    ui.result(f"{first.lost}{' in ' + running(first) if running(first) else ''}")
    if not rest.work:
        return Heard(share, (first,), tuple(failed))
    ui.result(f"runs again, in one more guest: {' '.join(rest.work)}")
    second = hear(replace(share, request=rest), built, programs, stop)
    if second.lost:
        left = rest.rest(ended(second)).work
        failed += [Test(name, Verdict.FAILED, f"{second.lost}") for name in left]
    return Heard(share, (first, second), tuple(failed))


def ended(heard: Transcript) -> set[str]:
    """Return the words of what a guest did to the end."""
    done = {
        KUNIT_WORD if section.words[0] == KUNIT_WORD else section.words[1]
        for section in heard.sections if section.status is not None and len(section.words) > 1
    }  # fmt: skip
    # The suites are read one after another, before the first program.
    kunit_is_read = not heard.unfinished or heard.unfinished.words[0] != KUNIT_WORD
    return done if kunit_is_read else done - {KUNIT_WORD}


def running(heard: Transcript) -> str:
    return heard.unfinished.words[1] if heard.unfinished else ""


def panicked(heard: Transcript) -> list[Test]:
    """Return a failed test for the program in which the kernel panicked."""
    if not heard.panic:
        return []
    return [Test(running(heard) or "boot", Verdict.FAILED, heard.panic)]


def hear(
    share: Share, built: build.BuiltKernel, programs: Mapping[str, Path], stop: threading.Event
) -> Transcript:
    """Boot one guest, and return its transcript, which may have ended early."""
    request, patience = share.request, built.target.patience
    machine = vm.Machine(
        built, request.cpus, wanted_clock=share.clock, boot=request.words,
        timeout=request.timeout,
    )  # fmt: skip
    commands = [request.command(name) for name in request.programs]
    # With KASAN no time is what it would be.
    clock = Clock.HOST if built.options.get("CONFIG_KASAN") == "y" else machine.clock
    lines = selftests.guest_lines(request.kunit, commands, request.on_only, patience, clock)
    if request.races:
        lines.append(kcsan.READ)
    work = session.job(lines, {f"/bin/{name}": programs[name] for name in request.programs})
    name = f"test-{request.work[0]}"
    return session.run(machine, work, name, tell(), stop).not_stopped()


def tell() -> sections.Reader:
    """Return a reader that prints each program's name and duration when it ends."""
    began = 0.0

    def begins(_: sections.Words) -> None:
        nonlocal began
        began = time.monotonic()

    def ends(section: Section) -> None:
        ui.note(f"  {' '.join(section.words)}: {time.monotonic() - began:.0f} s")

    return sections.Reader(begins=begins, ends=ends)


def read_races(heard: Transcript, request: SelftestRequest, built: build.BuiltKernel) -> list[Test]:
    """Record and judge the races that KCSAN found."""
    result = kcsan.report(heard, built)
    where = environment.look(built, request.cpus, vm.Machine.memory)
    kcsan.record(result, request.work, where, request.keep)
    return kcsan.judge(result)
