# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests: reading their verdicts, comparing them, known failures, building."""

import json
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from swathe.base import reading, results, verdicts
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError, VmLost
from swathe.base.verdicts import Verdict
from swathe.check import corrections
from swathe.cli import test
from swathe.guest import environment, foreign, initramfs, sections, vm
from swathe.guest.clock import Clock
from swathe.guest.environment import Environment
from swathe.guest.session import Transcript
from swathe.kernel import build
from swathe.kernel.arch import ARCHES, ARM64, X86_64
from swathe.kselftests import builds, cases, guests, judge, listing, stock
from swathe.kselftests.cases import Case, ProgramRun
from swathe.kselftests.judge import Comparison
from swathe.kselftests.listing import Catalogue, Entry, Known

LIMIT = 60
ENTRIES = (Entry("mm/a", LIMIT), Entry("mm/b", LIMIT, ("-x", "1")))


def outcome(text: str, status: int = 0, seconds: float = 2.0) -> ProgramRun:
    times = f"# swathe: seconds 10.5 {10.5 + seconds}"
    section = sections.Section(("kselftests", "0", "mm/a"), (*text.splitlines(), times), status)
    return cases.read(section, LIMIT)


def told(off: ProgramRun, on: ProgramRun) -> list[str]:
    return [str(item) for item in cases.differences(off, on)]


def judged(off: ProgramRun | None, on: ProgramRun | None, *known: Known) -> verdicts.Count:
    return verdicts.count(judge.judge(Comparison("mm/a", off, on), Catalogue(ENTRIES, known)))


# What a program said


def test_cases_are_lines_of_tap() -> None:
    found = outcome("TAP version 13\n1..3\nok 1 one\nok 2 two # SKIP no\nnot ok 3 three\n", 1)
    assert [(case.name, case.verdict) for case in found.inner] == [
        ("one", Verdict.PASSED), ("two", Verdict.SKIPPED), ("three", Verdict.FAILED),
    ]  # fmt: skip
    assert found.summary() == "1 passed, 1 failed, 1 skipped, status 1"
    assert found.seconds == 2.0


def test_a_broken_plan_is_a_case() -> None:
    assert [case.name for case in outcome("1..2\nok 1 a\n").inner] == ["a", "plan"]


def test_uffd_has_a_form_of_its_own(data: Callable[[str], str]) -> None:
    found = outcome(data("uffd-unit-tests.log"), 1)
    assert [(case.name, case.verdict, case.detail) for case in found.inner] == [
        ("UFFDIO_API (with syscall)", Verdict.PASSED, ""),
        ("register-ioctls on anon", Verdict.PASSED, ""),
        ("wp-fork-pin on anon", Verdict.SKIPPED, "feature missing"),
        ("move-pmd on anon", Verdict.PASSED, ""),
        ("sigbus on shmem", Verdict.FAILED, "no error"),
        ("minor-collapse on shmem", Verdict.FAILED, "no verdict"),
    ]


def test_khugepaged_speaks_in_colours() -> None:
    ok, bad, left = "\x1b[32mOK\x1b[0m", "\x1b[31mFail\x1b[0m", "\x1b[33mSkip\x1b[0m"
    text = f"Allocate... {ok}\nRun test: a (x)\nOne... {ok}\nTwo... {ok}\n"
    text += f"Run test: b (x)\nOne... {bad}\nTwo... {ok}\nRun test: c (x)\nOne... {left}\n"
    assert outcome(text, 1).inner == (
        Case("a (x)", Verdict.PASSED),
        Case("b (x)", Verdict.FAILED, "One..."),
        Case("c (x)", Verdict.SKIPPED),
    )


@pytest.mark.parametrize(
    ("status", "seconds", "end"),
    [
        (0, 1, Case("end", Verdict.PASSED)),
        (4, 1, Case("end", Verdict.SKIPPED)),
        (2, 1, Case("end", Verdict.FAILED, "status 2")),
        (139, 1, Case("end", Verdict.FAILED, "signal 11")),
        (143, LIMIT + 0.5, Case("end", Verdict.FAILED, "time limit")),
        (137, LIMIT + 5.5, Case("end", Verdict.FAILED, "time limit")),
        (143, 3, Case("end", Verdict.FAILED, "signal 15")),
    ],
)
def test_without_cases_the_end_is_the_verdict(status: int, seconds: float, end: Case) -> None:
    assert outcome("words only", status, seconds).cases == (end,)


def test_a_time_limit_explains_a_broken_plan() -> None:
    found = outcome("1..9\nok 1 a\n", 143, LIMIT + 1)
    assert [case.name for case in found.cases] == ["a", "end"]


# Comparing


def test_equal_runs() -> None:
    text = "1..2\nok 1 reaped 12 MB at 0x7f00\nok 2 b\n"
    assert told(outcome(text), outcome(text.replace("12", "24").replace("7f00", "7fff"))) == []


@pytest.mark.parametrize(
    ("off", "on", "said"),
    [
        ("ok 1 a\nok 2 b", "ok 1 a\nnot ok 2 b", "b: passed off, failed on"),
        ("ok 1 a\nnot ok 2 b", "ok 1 a\nok 2 b", "b: failed off, passed on"),
        ("ok 1 a\nok 2 b", "ok 1 a\nok 2 b # SKIP c", "b: passed off, skipped (SKIP c) on"),
        ("ok 1 a\nok 2 b", "ok 1 a", "b: passed off, missing on"),
        ("ok 1 a", "ok 1 a\nok 2 b", "b: missing off, passed on"),
        ("ok 1 a 1\nok 2 a 2", "ok 1 a 1\nnot ok 2 a 2", "a 2: passed off, failed on"),
        ("ok 1 a 1\nok 2 a 2", "not ok 1 a 1\nok 2 a 2", "a 1: passed off, failed on"),
    ],
)
def test_any_difference_is_told(off: str, on: str, said: str) -> None:
    assert told(outcome(off), outcome(on)) == [said]
    assert judged(outcome(off), outcome(on)).failed >= 1


@pytest.mark.parametrize("status", [1, 139])
def test_a_status_that_differs(status: int) -> None:
    assert len(told(outcome("words"), outcome("words", status))) == 1


def test_signals_differ_from_statuses() -> None:
    differing = told(outcome("", 1), outcome("", 139))
    assert differing == ["end: failed (status 1) off, failed (signal 11) on"]


def test_a_time_limit_on_one_side_only() -> None:
    assert judged(outcome("ok 1 a"), outcome("ok 1 a", 143, LIMIT + 1)) == verdicts.Count(0, 1, 0)


def test_what_did_not_end_has_failed() -> None:
    assert judged(None, outcome("ok 1 a")) == verdicts.Count(0, 1, 0)
    assert judged(outcome("ok 1 a"), None) == verdicts.Count(0, 1, 0)


def test_skipping_itself_twice_is_a_skip() -> None:
    assert judged(outcome("no such device", 4), outcome("no such device", 4)) == verdicts.Count(
        0, 0, 1
    )
    assert judged(outcome("ok 1 a"), outcome("ok 1 a")) == verdicts.Count(1, 0, 0)


# Failures in stock

FAILING = "ok 1 a\nnot ok 2 b"


def test_a_failure_in_stock_needs_a_reason() -> None:
    pair = Comparison("mm/a", outcome(FAILING, 1), outcome(FAILING, 1))
    first, second = judge.judge(pair, Catalogue(ENTRIES, ()))
    assert first.verdict is Verdict.PASSED
    assert second.verdict is Verdict.FAILED
    assert "fails in stock, too" in second.detail


@pytest.mark.parametrize(
    ("known", "failed"),
    [
        (Known("mm/a", "b", "why"), 0),
        (Known("mm/a", "*", "why"), 0),
        (Known("mm/a", "a", "why"), 1),
        (Known("mm/b -x 1", "b", "why"), 1),
    ],
)
def test_a_known_failure(known: Known, failed: int) -> None:
    run = outcome(FAILING, 1)
    assert judged(run, run, known) == verdicts.Count(1, failed, 0)


def test_a_crash_is_not_explained_by_failed_cases() -> None:
    run = outcome(FAILING, 139)
    assert judged(run, run, Known("mm/a", "b", "why")) == verdicts.Count(1, 1, 0)


def test_a_known_failure_that_differs_is_a_difference() -> None:
    on = outcome("ok 1 a\nok 2 b", 1)
    assert judged(outcome(FAILING, 1), on, Known("mm/a", "b", "why")) == verdicts.Count(0, 1, 0)


def test_unsteady_ones_are_not_compared() -> None:
    on = outcome("ok 1 a\nok 2 b", 1)
    known = Known("mm/a", "b", "why", unsteady=True)
    assert judged(outcome(FAILING, 1), on, known) == verdicts.Count(1, 0, 0)


def test_a_known_failure_that_passes_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    run = outcome("ok 1 a\nok 2 b")
    catalogue = Catalogue(ENTRIES, (Known("mm/a", "b", "why"),))
    judge.tell_passing(Comparison("mm/a", run, run), catalogue)
    assert "known to fail, but passes: mm/a: b (why)" in capsys.readouterr().out


# Two guests

REPORT = """\
@ switch
{mask}
? 0
@ kselftests 0 mm/a
ok 1 a
# swathe: seconds 1.0 2.5
? 0
@ switch
{mask}
? 0
@ stat
evict_runs {runs}
evict_entries 9
? 0
"""


def said(text: str) -> Transcript:
    return Transcript(text, "", vm.Exit(0))


def heard(mask: str, runs: int) -> Transcript:
    return said(REPORT.format(mask=mask, runs=runs))


def test_the_guests_must_differ_in_the_switch() -> None:
    off, on = heard("0x0000", 0), heard("0x0001", 5)
    assert verdicts.count(guests.switches(off, on)) == verdicts.Count(2, 0, 0)
    assert verdicts.count(guests.switches(off, off)).failed == 1
    assert verdicts.count(guests.switches(on, on)).failed == 1
    assert verdicts.count(guests.switches(off, heard("0x0001", 0))).failed == 1
    assert verdicts.count(guests.switches(off, heard("0x0001", 0), whole=False)).failed == 0
    assert verdicts.count(guests.switches(heard("0x0000", 3), on)).failed == 1
    assert verdicts.count(guests.switches(said(""), on)).failed == 1
    without_end = said(REPORT.format(mask="0x0000", runs=0).replace("@ switch", "@ x", 1))
    assert verdicts.count(guests.switches(without_end, on)).failed == 1


def test_programs_are_paired_by_number() -> None:
    first, second = guests.pairs(ENTRIES, heard("0", 0), said(""))
    assert (first.name, second.name) == ("mm/a", "mm/b -x 1")
    assert first.off is not None and first.off.seconds == 1.5
    assert first.on is None and second.off is None


def test_a_lost_guest_names_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    oops = VmLost("the VM was lost: oops")
    lost = Transcript("@ kselftests 1 mm/b\nok 1 a\n", "", oops)
    failed = verdicts.Test("kselftests mm/a", Verdict.FAILED, "why")
    error = guests.which(oops, {"off": heard("0", 0), "on": lost}, [failed])
    assert str(error) == "the VM was lost: oops (swathe on, in mm/b)"
    assert error.status == 4
    assert "failed before the end: kselftests mm/a (why)" in capsys.readouterr().out


BUILT = build.BuiltKernel("6.12.1", Path("image"), Path("out"), Path("tree"), "hash", X86_64)
REQUEST = guests.KselftestRequest(build.KernelRequest(), ENTRIES, 2, "more=1")


def test_both_guests_differ_in_one_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, vm.Machine] = {}

    def boot(machine: vm.Machine, *args: object) -> vm.Exit:
        seen[str(args[1])] = machine
        return vm.Exit(0)

    monkeypatch.setattr(vm, "boot", boot)
    guests.both(REQUEST, BUILT, initramfs.Job(["/bin/sh"]))
    off, on = seen["kselftests-off"], seen["kselftests-on"]
    steady = [*vm.STEADY.split(), vm.NO_SUITES]
    assert off.boot.split() == [*steady, "unmap=n", "numa=fake=2", "more=1"]
    assert on.boot.split() == [*steady, "unmap=y", "numa=fake=2", "more=1"]
    assert replace(off, boot="") == replace(on, boot="")
    assert on.wanted_clock is Clock.COUNTED
    assert off.timeout > 2 * LIMIT


def test_a_lost_guest_ends_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def boot(
        machine: vm.Machine,
        job: object,
        name: str,
        on_text: vm.OnText,
        stop: threading.Event,
        _: vm.OnText,
    ) -> vm.Exit:
        on_text(f"@ kselftests 0 mm/a\n{name}\n")
        if name.endswith("on"):
            raise VmLost("the VM was lost")
        assert stop.wait(60), "nobody stopped the other guest"
        raise vm.Stopped

    monkeypatch.setattr(vm, "boot", boot)
    off, on = guests.both(REQUEST, BUILT, initramfs.Job(["/bin/sh"]))
    assert off.lost is None and off.sections[0].lines == ("kselftests-off",)
    assert on.lost is not None and on.sections[0].lines == ("kselftests-on",)


WHERE = Environment("6.12.1", "hash", "qemu", "gcc", 3, "4G", "swathe test", "date", "commit")
UNSTEADY = (Known("mm/a", "unsteady", "why", unsteady=True), Known("mm/a", "end", "why", True))


class Recorder:
    """Guests that say what they are told to say, and are counted."""

    def __init__(self) -> None:
        usual = {"mm/a": "ok 1 unsteady", "mm/b": "ok 1 b\nok 2 c 5"}
        self.texts = {"off": dict(usual), "on": dict(usual)}
        self.mask = "0x0001"
        self.seen: list[tuple[str, int]] = []

    def say(self, name: str, program: str, text: str) -> None:
        self.texts[name][program] = text

    def boot(
        self, request: guests.KselftestRequest, _: object, __: object, name: str, ___: object
    ) -> Transcript:
        self.seen.append((name, len(request.entries)))
        switch = f"@ switch\n{self.mask if name == 'on' else '0x0000'}\n? 0\n"
        runs = 5 if name == "on" else 0
        ran = [
            f"@ kselftests {number} {entry.program}\n{self.texts[name][entry.program]}\n? 0\n"
            for number, entry in enumerate(request.entries)
        ]
        return said("".join([switch, *ran, switch, f"@ stat\nevict_runs {runs}\n? 0\n"]))

    def booted(self) -> dict[str, list[int]]:
        """The guests since the last call: how many entries each ran."""
        found: dict[str, list[int]] = {}
        for name, entries in self.seen:
            found.setdefault(name, []).append(entries)
        self.seen = []
        return found


def run_in_shell(entry: Entry, tmp_path: Path) -> sections.Section:
    """A line of the guest's script, here: the paths it touches are below tmp_path."""
    body = guests.FUNCTIONS.replace("/sys/fs/cgroup", f"{tmp_path}/cgroup")
    body = body.replace("/proc/sys/vm", f"{tmp_path}/vm").replace("rmdir", "rm -r")
    for name in ("transparent_hugepage", "ksm"):
        body = body.replace(f"/sys/kernel/mm/{name}", f"{tmp_path}/vm")
    (tmp_path / "vm").mkdir()
    line = guests.line(7, entry, 3).replace(" /mnt/mm ", f" {tmp_path}/mm ")
    done = subprocess.run(
        ["busybox", "sh", "-c", sections.script([body, line])],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    (found,) = sections.parse(done.stdout)
    return found


@pytest.mark.parametrize(
    ("script", "limit", "end"),
    [
        ("exit 3", 60, "status 3"),
        ("exec sleep 60", 1, "time limit"),
        ("kill -SEGV $$", 60, "signal 11"),
    ],
)
def test_the_guests_script_runs_and_ends_a_program(
    tmp_path: Path, script: str, limit: int, end: str
) -> None:
    (tmp_path / "mm").mkdir()
    (tmp_path / "mm" / "p").write_text(f"#!/bin/sh\necho ok 1 $1 in $PWD\n{script}\n")
    (tmp_path / "mm" / "p").chmod(0o755)
    entry = Entry("mm/p", limit, ("two words",), prepare=f"echo prepared >{tmp_path}/prepared")
    found = run_in_shell(entry, tmp_path)
    assert found.words == ("kselftests", "7", "mm/p")
    read = cases.read(found, entry.limit)
    assert read.end.detail == end
    assert read.inner[0].name == f"two words in {tmp_path}/mm"
    assert (tmp_path / "prepared").read_text() == "prepared\n"


def test_a_guest_has_what_the_c_library_loads_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / guests.UNWINDER).touch()
    libc = str(tmp_path / "libc.so.6")
    monkeypatch.setattr(initramfs, "libraries", lambda program: {libc: program})
    found = guests.libraries([Path("/program")])
    assert found[str(tmp_path / guests.UNWINDER)] == tmp_path / guests.UNWINDER
    assert found[str(guests.STDBUF)].is_file()


def test_who_polls_has_the_last_processor() -> None:
    """Elsewhere it would leave the processors after its own no turn."""
    assert guests.line(0, Entry("mm/a", 60, polls=True), 3).endswith(" /mnt/mm taskset 4 ./a")
    assert guests.line(0, Entry("mm/a", 60), 3).endswith(" /mnt/mm ./a")
    polling = {entry.program for entry in listing.load().entries if entry.polls}
    assert polling == {"mm/ksm_tests", "mm/ksm_functional_tests"}


def test_guests_have_processors_for_threads() -> None:
    assert REQUEST.processors == 3
    assert replace(REQUEST, cpus=4).processors == 4


# The list


def test_the_list_is_sound() -> None:
    found = listing.load()
    assert any(entry.program == "mm/cow" for entry in found.chosen(["kselftests"], False))
    assert len(found.chosen(["kselftests"], True)) == len(found.entries)
    assert all(known.reason for known in found.known)
    assert {known.arch for known in found.known} <= {"", *ARCHES}
    assert found.on("arm64").reason("mm/seal_elf", "end")
    assert not found.on("x86_64").reason("mm/seal_elf", "end")


def test_naming_a_program_takes_all_its_entries_the_slow_ones_last() -> None:
    slow = Entry("mm/b", LIMIT, ("2",), "full")
    found = Catalogue((slow, *ENTRIES), ())
    assert found.chosen(["kselftests"], False) == ENTRIES
    assert found.chosen(["kselftests"], True) == (*ENTRIES, slow)
    assert found.chosen(["mm/b"], False) == (ENTRIES[1], slow)
    assert found.chosen(["guest"], True) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[test]]\nprogram='a/b'\nlimit=1\n" * 2, "2 times"),
        ("[[test]]\nprogram='a/b'\nlimit=1\nset='slow'", "no set"),
        (
            "[[test]]\nprogram='a/b'\nlimit=1\n"
            "[[known]]\ntest='a/c'\ncase='*'\nreason='why'", "0 times",
        ),
    ],
)  # fmt: skip
def test_an_unsound_list(text: str, said: str) -> None:
    with pytest.raises(CheckFailed, match=said):
        listing.parse(text)


def test_a_misspelt_key_is_an_error() -> None:
    with pytest.raises(CheckFailed, match="unknown field `arguments`"):
        listing.parse("[[test]]\nprogram='a/b'\nlimit=1\narguments=['a']\n")


def test_an_unknown_name() -> None:
    with pytest.raises(UsageError, match="mm/cow"):
        test.wanted_programs(["mm/nothing"])
    assert test.wanted_programs(["mm/cow"]) == []


@pytest.mark.parametrize(
    ("again", "failed", "word"),
    [("ok 1 a", 0, "differed once"), ("not ok 1 a", 1, "**differs**")],
)
def test_a_difference_must_show_twice(
    monkeypatch: pytest.MonkeyPatch, again: str, failed: int, word: str
) -> None:
    """The program whose verdicts differ, and only that, runs in two more guests."""
    ran: list[tuple[Entry, ...]] = []

    def both(request: guests.KselftestRequest, *_: object) -> tuple[Transcript, Transcript]:
        ran.append(request.entries)
        return said("@ kselftests 0 mm/a\nok 1 a\n? 0\n"), said(
            f"@ kselftests 0 mm/a\n{again}\n? 0\n"
        )

    monkeypatch.setattr(guests, "both", both)
    first = [
        Comparison(ENTRIES[0].name, outcome("ok 1 a"), outcome("not ok 1 a")),
        *(Comparison(entry.name, outcome("ok 1 a"), outcome("ok 1 a")) for entry in ENTRIES[1:]),
    ]
    catalogue = Catalogue(ENTRIES, ())
    work = initramfs.Job([])
    found = guests.confirm(REQUEST, BUILT, lambda _: work, first, catalogue)
    assert ran == [ENTRIES[:1]]
    assert [pair.name for pair in found] == [pair.name for pair in first]
    assert verdicts.count(judge.judge(found[0], catalogue)).failed == failed
    assert judge.row(found[0], catalogue)[3] == word


# The record of stock


@pytest.fixture
def recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: build.BuiltKernel
) -> Recorder:
    """A kernel that is not booted: both programs say what the test wants."""
    monkeypatch.setattr(stock, "HOME", tmp_path)
    monkeypatch.setattr(results, "HERE", tmp_path / "build")
    monkeypatch.setattr(results, "KEPT", tmp_path / "docs")
    monkeypatch.setattr(build, "build", lambda _: kernel)
    monkeypatch.setattr(listing, "load", lambda: Catalogue(ENTRIES, UNSTEADY))
    monkeypatch.setattr(guests, "build_programs", lambda *_: dict.fromkeys(["mm/a", "mm/b"]))
    monkeypatch.setattr(guests, "job", lambda *_, **__: initramfs.Job([]))
    monkeypatch.setattr(environment, "look", lambda *_: WHERE)
    found = Recorder()
    monkeypatch.setattr(guests, "boot", found.boot)
    return found


def recorded_by(recorded: Recorder) -> Path:
    """Record what both programs say with swathe off."""
    guests.run(replace(REQUEST, keep=True))
    assert recorded.booted() == {"off": [2], "on": [2]}
    (file,) = stock.HOME.glob("stock-*.toml")
    assert file.name == "stock-6.12-bench-x86_64.toml"
    return file


def test_a_run_as_recorded_needs_no_guest_with_swathe_off(recorded: Recorder) -> None:
    recorded_by(recorded)
    assert verdicts.count(guests.run(REQUEST)) == verdicts.Count(3, 0, 0)
    assert recorded.booted() == {"on": [2]}


def test_without_a_record_both_run(recorded: Recorder) -> None:
    assert verdicts.count(guests.run(REQUEST)) == verdicts.Count(4, 0, 0)
    assert recorded.booted() == {"off": [2], "on": [2]}
    assert not list(stock.HOME.glob("stock-*.toml"))


def test_what_differs_from_the_record_runs_side_by_side(
    recorded: Recorder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a difference between the two counts; that the record is old is told."""
    file = recorded_by(recorded)
    before = file.read_text()
    recorded.say("off", "mm/b", "ok 1 b\nok 2 d 5")
    recorded.say("on", "mm/b", "ok 1 b\nok 2 d 6")
    found = guests.run(REQUEST)
    assert verdicts.count(found).failed == 0
    assert recorded.booted() == {"off": [1], "on": [2, 1]}
    said = "the record of stock lacks what mm/b -x 1 said now: renew it by ./swathe test kselftests"
    assert said in capsys.readouterr().out
    assert file.read_text() == before


def test_what_fails_with_swathe_on_is_a_failure(recorded: Recorder) -> None:
    recorded_by(recorded)
    recorded.say("on", "mm/b", "ok 1 b\nnot ok 2 c 7")
    found = guests.run(REQUEST)
    assert [test.name for test in found if test.verdict is Verdict.FAILED] == [
        "kselftests mm/b -x 1"
    ]
    # The difference was seen twice.
    assert recorded.booted() == {"off": [1, 1], "on": [2, 1, 1]}


def test_what_fails_in_stock_without_a_reason_is_not_recorded(recorded: Recorder) -> None:
    recorded.say("off", "mm/b", "ok 1 b\nnot ok 2 c 7")
    recorded.say("on", "mm/b", "ok 1 b\nnot ok 2 c 7")
    guests.run(replace(REQUEST, keep=True))
    assert not list(stock.HOME.glob("stock-*.toml"))


def test_unsteady_cases_are_not_held_against_the_record(recorded: Recorder) -> None:
    recorded_by(recorded)
    recorded.booted()
    recorded.say("on", "mm/a", "not ok 1 unsteady")
    assert verdicts.count(guests.run(REQUEST)).failed == 0
    assert recorded.booted() == {"on": [2]}


def test_a_guest_that_was_not_on_has_compared_nothing(recorded: Recorder) -> None:
    recorded_by(recorded)
    recorded.mask = "0x0000"
    failed = [test.name for test in guests.run(REQUEST) if test.verdict is Verdict.FAILED]
    assert failed == ["kselftests: swathe was on"]


def test_another_kernel_has_no_record(recorded: Recorder, kernel: build.BuiltKernel) -> None:
    recorded_by(recorded)
    request = REQUEST.kernel
    assert len(stock.load(request, kernel).tests) == 2
    assert not stock.load(request, replace(kernel, version="6.12.2")).tests
    assert not stock.load(replace(request, variant="light"), kernel).tests
    assert not stock.load(replace(request, source=Path("linux")), kernel).tests
    (kernel.out / ".config").write_text('CONFIG_CC_VERSION_TEXT="other"\nCONFIG_UNMAP=y\n')
    assert len(stock.load(request, kernel).tests) == 2
    (kernel.out / ".config").write_text("CONFIG_KSM=y\n")
    assert not stock.load(request, kernel).tests


def test_a_changed_entry_is_not_in_the_record(
    recorded: Recorder, kernel: build.BuiltKernel
) -> None:
    recorded_by(recorded)
    known = stock.load(REQUEST.kernel, kernel)
    assert known.run_of(ENTRIES[0]) and known.run_of(ENTRIES[1])
    assert not known.run_of(changed(ENTRIES[0], prepare="echo 1"))
    assert not known.run_of(changed(ENTRIES[1], args=("-x", "2")))
    other = (changed(ENTRIES[0], prepare="echo 1"), ENTRIES[1])
    guests.run(replace(REQUEST, entries=other))
    assert recorded.booted() == {"on": [2, 1], "off": [1]}


def test_a_single_program_renews_its_part_of_the_record(
    recorded: Recorder, kernel: build.BuiltKernel
) -> None:
    file = recorded_by(recorded)
    recorded.say("off", "mm/b", 'ok 1 "quoted" \\ \x1b[0m é')
    recorded.say("on", "mm/b", 'ok 1 "quoted" \\ \x1b[0m é')
    guests.run(replace(REQUEST, entries=ENTRIES[1:], keep=True, whole=False))
    known = stock.load(REQUEST.kernel, kernel)
    assert [test.name for test in known.tests] == ["mm/a", "mm/b -x 1"]
    assert known.tests[1].cases[0].name == '"quoted" \\ \x1b[Nm é'
    assert file.read_text() == stock.written(known)


def test_recorded_tests_are_in_the_catalogue() -> None:
    names = {entry.name for entry in listing.load().entries}
    for file in stock.HOME.glob("stock-*.toml"):
        read = reading.convert(
            reading.toml(file.read_text(), file.name), stock.StockRecord, file.name
        )
        assert {test.name for test in read.tests} <= names
        assert file.read_text() == stock.written(read)


# Results


def test_the_table() -> None:
    same = Comparison("mm/a", outcome("ok 1 a"), outcome("ok 1 a", seconds=3))
    other = Comparison("mm/b -x 1", outcome("ok 1 a"), None)
    known = Known("mm/a", "b", "why")
    text = judge.written([same, other], Catalogue(ENTRIES, (known,)), "Somewhere")
    assert "| `mm/a` | 1 passed | 1 passed | same | 2 | 3 |" in text
    assert "| `mm/b -x 1` | 1 passed | did not end | **differs** | 2 |  |" in text
    assert "- `mm/a`, b: why" in text
    unsteady = Comparison("mm/a", outcome(FAILING, 1), outcome("ok 1 a\nok 2 b", 1))
    known = changed(known, unsteady=True)
    text = judge.written([unsteady], Catalogue(ENTRIES, (known,)), "Somewhere")
    assert "| unsteady |" in text


@pytest.mark.parametrize("keep", [False, True])
def test_results_are_kept_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path / "build")
    monkeypatch.setattr(results, "KEPT", tmp_path / "docs")
    where = Environment("6.12.1", "hash", "qemu", "gcc", 3, "4G", "swathe test", "date", "commit")
    found = [Comparison("mm/a", outcome("ok 1 a"), outcome("not ok 1 a", 1))]
    judge.record(found, Catalogue(ENTRIES, ()), where, keep)
    assert (tmp_path / "build" / "kselftests-6.12.1.md").is_file()
    judge.record(found, Catalogue(ENTRIES, ()), replace(where, arch="arm64"), keep)
    assert (tmp_path / "build" / "kselftests-6.12.1-arm64.md").is_file()
    kept = tmp_path / "docs" / "kselftests-6.12.1.json"
    assert kept.is_file() is keep
    if keep:
        more = [Comparison("mm/b -x 1", None, outcome("ok 1 a"))]
        judge.record(more, Catalogue(ENTRIES, ()), replace(where, swathe="next"), keep)
        data = json.loads(kept.read_text())
        assert [item["test"] for item in data["tests"]] == ["mm/a", "mm/b -x 1"]
        both = [changed(found[0], commit="commit"), changed(more[0], commit="next")]
        recorded = reading.json(kept.read_text(), judge.Recorded, kept.name)
        assert recorded.tests == both
        text = (tmp_path / "docs" / "kselftests-6.12.1.md").read_text()
        assert "1 by commit; 1 by next" in text
        judge.record(more, Catalogue(ENTRIES, ()), replace(where, config_hash="other"), keep)
        assert len(json.loads(kept.read_text())["tests"]) == 1
        assert data["environment"]["cpus"] == 3
        assert data["tests"][0]["on"]["cases"][0] == ["a", "failed", ""]


# Building


@pytest.fixture
def tree(tmp_path: Path) -> builds.Tree:
    """A kernel tree with one target: one program compiles, one lacks an include, one never will."""
    top = tmp_path / "linux" / builds.SELFTESTS
    (top / "mm").mkdir(parents=True)
    (tmp_path / "linux" / "include").mkdir()
    (tmp_path / "linux" / "include" / "shared.h").write_text("#define STATUS 0\n")
    (top / "harness.h").write_text("#define SKIP 4\n")
    (top / "mm" / "Makefile").write_text(
        "all: $(OUTPUT)/good $(OUTPUT)/forgets $(OUTPUT)/bad\n"
        "$(OUTPUT)/%: %.c\n\techo made >> made.log\n"
        "\tgcc -I../../../../include $(EXTRA_CFLAGS) -o $@ $<\n"
    )
    (top / "mm" / "good.c").write_text('#include "shared.h"\nint main(void) { return STATUS; }\n')
    (top / "mm" / "forgets.c").write_text("int main(void) { return SKIP; }\n")
    (top / "mm" / "bad.c").write_text("int main(void) { return NOTHING; }\n")
    headers = tmp_path / "headers"
    (headers / "linux").mkdir(parents=True)
    (headers / "linux" / "version.h").write_text("#define LINUX_VERSION_CODE 1\n")
    return builds.Tree(tmp_path / "linux", headers, ("mm",))


@pytest.fixture
def all_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builds, "HEADERS", {})


@pytest.mark.usefixtures("all_headers")
def test_building_outside_the_tree(tree: builds.Tree) -> None:
    before = sorted(tree.path.rglob("*"))
    found = builds.build(tree, {"mm/forgets": "harness.h", "mm/absent": "harness.h"})
    assert sorted(found) == ["mm/forgets", "mm/good"]
    assert subprocess.run([found["mm/forgets"]], check=False).returncode == 4
    assert sorted(tree.path.rglob("*")) == before
    # A link would lead makefiles, which look for themselves by real path, back into the tree.
    assert not found["mm/good"].with_name("Makefile").is_symlink()
    assert builds.build(tree, {"mm/forgets": "harness.h", "mm/absent": "harness.h"}) == found


@pytest.mark.usefixtures("all_headers")
def test_single_programs_are_built_where_they_are_wanted(tree: builds.Tree, tmp_path: Path) -> None:
    said = builds.build_single(tree, ["mm/good", "mm/bad"], tmp_path / "copy")
    assert any("NOTHING" in words for words in corrections.complaints(said))
    assert [*builds.programs_in(tmp_path / "copy", ["mm"])] == ["mm/good"]


@pytest.mark.usefixtures("all_headers")
def test_a_changed_test_is_built_again(tree: builds.Tree) -> None:
    first = builds.build(tree, {})
    (tree.path / builds.SELFTESTS / "mm" / "good.c").write_text("int main(void) { return 7; }\n")
    second = builds.build(tree, {})
    assert first["mm/good"] != second["mm/good"]
    assert subprocess.run([second["mm/good"]], check=False).returncode == 7


def test_a_foreign_architecture_has_a_compiler_and_headers_of_its_own(tree: builds.Tree) -> None:
    assert tree.words() == []
    system = tree.path / "debian"
    there = replace(tree, target=ARM64, system=system)
    assert there.words()[:2] == list(ARM64.make)
    assert there.words()[2:] == [f"CC=aarch64-linux-gnu-gcc --sysroot={system}"]
    with pytest.raises(EnvironmentLacks, match="libnuma-dev libcap-dev must be installed"):
        builds.build(there, {})


def test_a_foreign_guest_gets_what_its_programs_are_loaded_with(tmp_path: Path) -> None:
    host = foreign.Root(Path("/"), ARM64)
    found = guests.foreign_libraries([Path("/bin/ls").resolve()], host)
    assert found[str(guests.STDBUF)] == guests.STDBUF
    assert {f"/lib/{guests.UNWINDER}", "/lib/libc.so.6"} <= set(found)
    assert all(path.is_file() for path in found.values())
    loaders = [place for place in found if Path(place).name.startswith("ld-")]
    assert len(loaders) == 1
    with pytest.raises(EnvironmentLacks, match=r"no package for arm64 has ld-"):
        foreign.Root(tmp_path, ARM64).libraries(Path("/bin/ls").resolve())


def test_limits_are_longer_where_a_guest_is_slower() -> None:
    assert [entry.given(3).limit for entry in ENTRIES] == [3 * LIMIT, 3 * LIMIT]


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    include = tmp_path / builds.INCLUDE
    include.mkdir(parents=True)
    (include / "numa.h").write_text("")
    with pytest.raises(EnvironmentLacks) as error:
        builds.require_headers(tmp_path)
    assert str(error.value).startswith("libcap-dev must be installed")
    assert error.value.status == 3
