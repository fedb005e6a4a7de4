# SPDX-License-Identifier: GPL-2.0-only
"""Jobs, programs, and the reports of tests in a guest."""

import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import parallel, verdicts
from swathe.base.errors import CheckFailed, EnvironmentLacks, UsageError, VmLost
from swathe.base.verdicts import Verdict
from swathe.check import golden, lab, selftest_guests, selftests, skips
from swathe.check.selftest_guests import Share
from swathe.cli import arguments, test, test_parts
from swathe.guest import initramfs, runnable, sections, session, vm
from swathe.guest.clock import Clock
from swathe.kernel import build, compiler
from swathe.kernel.arch import ARM64, X86_64, Arch

HELLO = "int main(void)\n{\n\treturn 0;\n}\n"
REQUEST = selftests.SelftestRequest(build.KernelRequest(flavor="debug"), True, (), 2, 100, "")


@pytest.mark.parametrize(("flag", "dynamic"), [("-static", False), ("-pie", True)])
def test_static_or_not(tmp_path: Path, flag: str, dynamic: bool) -> None:
    (tmp_path / "a.c").write_text(HELLO)
    subprocess.run(["gcc", flag, "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    assert runnable.wants_interpreter((tmp_path / "a").read_bytes()) is dynamic


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"hello", "neither an ELF program nor a script"), (b"\x7fELF", "headers are damaged")],
)
def test_not_a_program(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(UsageError, match=said):
        runnable.require_runnable(tmp_path / "a", X86_64)


def test_a_script_is_a_program(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"#!/bin/sh\n")
    runnable.require_runnable(tmp_path / "a", X86_64)


def test_run_of_a_missing_program() -> None:
    assert __main__.main(["run", "/nowhere"]) == 2


def test_off_needs_a_switch(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["run", "--off", "1", "--pristine", "/bin/busybox"]) == 2
    assert "has no switch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "flavor"), [([], "debug"), (["--debug"], "debug"), (["--flavor", "bench"], "bench")]
)
def test_the_debug_kernel_is_tested(argv: list[str], flavor: str) -> None:
    args = __main__.parser().parse_args(["test", "kunit", *argv])
    assert test.request_from(args).guest.kernel.flavor == flavor


def test_mutants_is_a_boot_parameter() -> None:
    args = __main__.parser().parse_args(["test", "--mutants", "put_back"])
    request = test.request_from(args)
    assert request.guest.boot == "unmap.mutants=put_back"
    assert [part.name for part in test_parts.of(request)] == ["kernel"]
    assert request.guest.kunit


def test_what_is_tested_unless_something_is_named() -> None:
    request = test.request_from(__main__.parser().parse_args(["test"]))
    assert [part.name for part in test_parts.of(request)] == [
        "lab", "hooks", "checkpatch", "light", "checked", "kselftests",
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "mask"), [("1", 1), ("0x5", 5), ("all", arguments.ALL_BITS)])
def test_bits(text: str, mask: int) -> None:
    assert arguments.bits(text) == mask


def test_job_settings() -> None:
    job = initramfs.Job(["/bin/a", "b c\nd"], off=3, swap=0)
    words = job.settings().decode().split("\0")
    assert words[:2] == ["arg=/bin/a", "arg=b c\nd"]
    assert "env=PATH=/bin" in words
    assert words[-2:] == ["off=0x3", ""]


def test_description_has_parents_first() -> None:
    text = initramfs.describe({"/a/b/c": Path("f0"), "/bin/sh": Path("f1")})
    assert text.index("dir /a 0755") < text.index("dir /a/b 0755") < text.index("file /a/b/c f0")
    assert "slink /bin/sh " not in text
    assert "slink /bin/ls busybox" in text


def test_an_archive_stays_while_others_are_made(kernel: build.BuiltKernel, tmp_path: Path) -> None:
    """A guest waits for a processor for minutes; once its archive was gone when QEMU wanted it."""
    tool = kernel.out / "usr" / "gen_init_cpio"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\ncat "$3"\n')
    tool.chmod(0o755)
    homes = [tmp_path / f"guest{n}" for n in range(40)]
    for home in homes:
        home.mkdir()
    made = [initramfs.make(initramfs.Job([home.name]), kernel, home) for home in homes]
    assert [path.parent for path in made] == homes
    assert all("file /job" in path.read_text() for path in made)


@pytest.mark.parametrize(("flag", "loaded"), [("-static", False), ("-pie", True)])
def test_libraries(tmp_path: Path, flag: str, loaded: bool) -> None:
    (tmp_path / "a.c").write_text(HELLO)
    subprocess.run(["gcc", flag, "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    found = initramfs.libraries(tmp_path / "a")
    names = [Path(name).name for name in found]
    assert ("libc.so.6" in names) is loaded
    assert any(name.startswith("ld-linux") for name in names) is loaded
    assert all(path.is_file() for path in found.values())


def test_a_library_that_is_not_there(fake: Callable[[str, str], Path], tmp_path: Path) -> None:
    fake("ldd", "echo '\tlibodd.so.1 => not found'")
    with pytest.raises(EnvironmentLacks, match=r"a needs libodd\.so\.1"):
        initramfs.libraries(tmp_path / "a")


def test_compiling_is_not_redone(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(HELLO)
    (tmp_path / "shared.c").write_text("int x;\n")
    first = compiler.programs(tmp_path)
    assert list(first) == ["a"]
    assert compiler.programs(tmp_path) == first
    (tmp_path / "shared.c").write_text("int y;\n")
    assert compiler.programs(tmp_path) != first


def test_two_threads_compile_the_same(tmp_path: Path) -> None:
    source = tmp_path / "hello.c"
    source.write_text(HELLO)
    made = parallel.each(lambda _: compiler.compile_program([source]), range(4))
    assert len(set(made)) == 1
    assert made[0].is_file()
    assert not list(made[0].parent.glob("*.tmp"))


def test_a_compile_error_is_shown(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return x; }\n")
    with pytest.raises(CheckFailed, match=r"a\.c does not compile: .*undeclared"):
        compiler.programs(tmp_path)


def test_sections() -> None:
    text = "noise\n@ a b\nline\n\n? 3\nnoise\n@ c\nhalf"
    assert sections.parse(text) == [
        sections.Section(("a", "b"), ("line",), 3),
        sections.Section(("c",), ("half",), None),
    ]


def test_the_preamble_reports(tmp_path: Path) -> None:
    lines = ["report a b -- sh -c 'printf x; exit 5'", "report c -- true"]
    argv = ["sh", "-c", sections.script(lines)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert sections.parse(done.stdout) == [
        sections.Section(("a", "b"), ("x",), 5),
        sections.Section(("c",), (), 0),
    ]


def judged(lines: str, status: int) -> verdicts.Count:
    section = sections.Section(("guest", "putback"), tuple(lines.splitlines()), status)
    return verdicts.count(selftests.judge(section))


def test_a_selftest(data: Callable[[str], str]) -> None:
    assert judged(data("selftest.log"), 0) == verdicts.Count(2, 0, 1)


def test_a_status_that_disagrees_is_a_failure(data: Callable[[str], str]) -> None:
    assert judged(data("selftest.log"), 1) == verdicts.Count(2, 1, 1)


def test_a_program_that_skips() -> None:
    assert judged("needs root", 4) == verdicts.Count(0, 0, 1)


def test_a_silent_program_failed() -> None:
    assert judged("", 0) == verdicts.Count(0, 1, 0)


def test_no_kunit_suite_is_a_failure() -> None:
    assert verdicts.count(selftests.read([], REQUEST)).failed == 1


def test_suites_of_others_do_not_stand_for_ours(data: Callable[[str], str]) -> None:
    text = f"@ kunit slub_test\n{data('kunit.log')}\n? 0\n"
    assert verdicts.count(selftests.read(sections.parse(text), REQUEST)) == verdicts.Count(4, 1, 1)
    ours = sections.parse(text.replace("slub_test", "unmap_run"))
    assert verdicts.count(selftests.read(ours, REQUEST)).failed == 0


def test_all_suites_are_read() -> None:
    assert "for suite in /sys/kernel/debug/kunit/*; do" in selftests.guest_lines(True, ())


def test_a_program_whose_time_is_up_leaves_no_test_running() -> None:
    lines = selftests.guest_lines(False, ("drop", "swap"))
    ends = [f"killall -q -9 {name} || true" for name in ("drop", "swap")]
    assert lines[3::2] == ends


def test_suites_run_only_where_they_are_read() -> None:
    assert vm.NO_SUITES not in replace(REQUEST, kunit=True).words.split()
    assert vm.NO_SUITES in replace(REQUEST, kunit=False).words.split()


def test_programs_may_leave_out_the_switch_off() -> None:
    assert "export UNMAP_ON_ONLY=1" in selftests.guest_lines(False, ("swap",), on_only=True)
    assert not [line for line in selftests.guest_lines(False, ("swap",)) if "ON_ONLY" in line]


def test_single_tests_of_a_program() -> None:
    args = __main__.parser().parse_args(["test", "kept/tight", "mm/cow", "kept/many", "swap"])
    asked = test.request_from(args).guest
    assert asked.programs == ("kept", "swap")
    assert [asked.command(name) for name in asked.programs] == ["kept -t tight -t many", "swap"]
    lines = selftests.guest_lines(False, ["kept -t tight"])
    assert any(line.startswith("report guest kept ") for line in lines)
    assert "killall -q -9 kept || true" in lines
    with pytest.raises(UsageError, match="there is no test 'keptt/tight'"):
        test.wanted_programs(["keptt/tight"])


def test_guests_may_be_booted_several_times(
    kernel: build.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once 250 skipped tests instead of fifty would be a failure: only one run is judged."""
    booted: list[Share] = []

    def attend(share: Share, *_: object) -> selftest_guests.Heard:
        booted.append(share)
        return selftest_guests.Heard(share, (), (verdicts.Test("swap", Verdict.PASSED, ""),))

    monkeypatch.setattr(build, "build", lambda _: kernel)
    monkeypatch.setattr(selftests, "compile_tests", lambda _: {})
    monkeypatch.setattr(selftest_guests, "attend", attend)
    monkeypatch.setattr(skips, "judge", lambda *_: pytest.fail("judged"))
    found = selftest_guests.run(replace(REQUEST, kunit=False, programs=("swap",), times=5))
    assert len(booted) == len(found) == 5


def test_programs_know_whether_times_are_exact() -> None:
    exact = selftests.guest_lines(False, ("kept",), clock=Clock.COUNTED)
    assert "export UNMAP_CLOCK=counted" in exact
    assert "export UNMAP_CLOCK=host" in selftests.guest_lines(False, ("kept",))


@pytest.mark.parametrize("target", [X86_64, ARM64])
def test_programs_have_more_time_where_the_guest_is_slow(
    target: Arch, kernel: build.BuiltKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def run(machine: vm.Machine, work: initramfs.Job, *_: object) -> session.Transcript:
        scripts.append(work.texts[session.SCRIPT])
        return session.Transcript("", "", vm.Exit(0))

    monkeypatch.setattr(session, "run", run)
    request = replace(REQUEST, programs=("swap",))
    built = replace(kernel, target=target)
    share = Share(request, Clock.COUNTED)
    selftest_guests.hear(share, built, {"swap": Path("swap")}, threading.Event())
    limit = selftests.TIME_LIMIT * target.patience
    assert f"-- timeout {limit} /bin/swap" in scripts[0]


def test_the_guest_has_more_time_unless_the_user_says_how_much() -> None:
    def timeout(*words: str) -> float:
        args = __main__.parser().parse_args(["test", "kunit", *words])
        return test.request_from(args).guest.timeout

    assert timeout() == test.TIMEOUT
    assert timeout("--arch", "arm64") == test.TIMEOUT * ARM64.patience > test.TIMEOUT
    assert timeout("--arch", "arm64", "--timeout", "100") == 100


@pytest.mark.parametrize("guests", [1, 2, 3])
def test_every_program_runs_in_one_guest(guests: int) -> None:
    names = ("control", "kept", "pressure", "security", "swap")
    shares = [
        share.request
        for share in selftest_guests.distribute(replace(REQUEST, programs=names), guests)
    ]
    assert len(shares) == guests
    assert sorted(name for share in shares for name in share.programs) == list(names)
    assert [share.kunit for share in shares] == [True] + [False] * (guests - 1)
    loads = [selftest_guests.cost(share) for share in shares]
    assert max(loads) - min(loads) <= max(selftest_guests.LONG.values())


def test_processors_run_in_parallel_only_where_races_are_looked_for() -> None:
    asked = replace(REQUEST, programs=("memx", "swap"))
    shares = selftest_guests.distribute(asked, 2)
    found = [(share.clock, share.request.kunit, share.request.programs) for share in shares]
    assert found == [(Clock.COUNTED, True, ("swap",)), (Clock.HOST, False, ("memx",))]
    for clock in Clock:
        every = selftest_guests.distribute(replace(asked, clock=clock), 1)
        assert [share.clock for share in every] == [clock] * (clock is not Clock.EXACT)


def test_a_guest_without_work_is_not_booted() -> None:
    assert len(selftest_guests.distribute(replace(REQUEST, programs=("swap",)), 4)) == 1
    assert selftest_guests.distribute(REQUEST, 2) == [Share(REQUEST, Clock.COUNTED)]


def test_long_programs_are_known() -> None:
    assert set(selftest_guests.LONG) < set(selftests.names())


PUTBACK = "@ guest putback\n{log}\n? 0\n"
BEGUN = "@ guest swap\n1..5\n"
PANIC = "[    9.1] Kernel panic - not syncing: panic_on_warn set ...\n"
DEAD = VmLost("the VM was lost: no verdict within 9 s")
GUESTS = {
    # What the guests said, their consoles, whether they were lost; what ran in the second.
    "panicked": ([(BEGUN, PANIC, True), ("{trace}", "", False)], ["trace"]),
    "dead once": ([(BEGUN, "", True), ("{swap}{trace}", "", False)], ["swap", "trace"]),
    "dead twice": ([(BEGUN, "", True), (BEGUN, "", True)], ["swap", "trace"]),
}


@pytest.mark.parametrize(("case", "failed"), [
    ("panicked", ["swap"]), ("dead once", []), ("dead twice", ["swap", "trace"]),
])  # fmt: skip
def test_what_passed_before_a_guest_was_lost_has_passed(
    case: str, failed: list[str], data: Callable[[str], str], kernel: build.BuiltKernel,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    log = data("selftest.log")
    texts = {name: f"@ guest {name}\n{log}\n? 0\n" for name in ("swap", "trace")}
    guests, rest = GUESTS[case]
    scripts: list[str] = []

    def run(machine: vm.Machine, work: initramfs.Job, *_: object) -> session.Transcript:
        before = PUTBACK.format(log=log) if not scripts else ""
        text, console, lost = guests[len(scripts)]
        scripts.append(work.texts[session.SCRIPT])
        ending = DEAD if lost else vm.Exit(0)
        return session.Transcript(before + text.format(**texts), console, ending)

    monkeypatch.setattr(session, "run", run)
    names = ("putback", "swap", "trace")
    share = Share(replace(REQUEST, kunit=False, programs=names), Clock.COUNTED)
    paths = {name: Path(name) for name in names}
    heard = selftest_guests.attend(share, kernel, paths, threading.Event())
    assert [name for name in names if f"/bin/{name}" in scripts[1]] == rest
    found = [test for test in selftest_guests.tests(heard, kernel) if test.name in names]
    assert [test.name for test in found if test.verdict is Verdict.FAILED] == failed
    passed = verdicts.count(selftest_guests.tests(heard, kernel)).passed
    assert passed == 2 * (3 - len(failed))
    assert "runs again, in one more guest: " + " ".join(rest) in capsys.readouterr().out


def test_what_failed_is_named_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = verdicts.Test("lab: odd", Verdict.FAILED, "1 is not 2")
    good = verdicts.Test("hooks: fine", Verdict.PASSED)
    monkeypatch.setattr(lab, "run", lambda: [bad])
    monkeypatch.setattr(golden, "run", lambda: [good])
    assert __main__.main(["test", "lab", "hooks"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["failed: lab: odd (1 is not 2)", "1 passed, 1 failed, 0 skipped"]
    assert [line.split(" (")[0] for line in lines[1:3]] == [
        "lab: 0 passed, 1 failed, 0 skipped", "hooks: 1 passed, 0 failed, 0 skipped",
    ]  # fmt: skip
