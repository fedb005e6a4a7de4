# SPDX-License-Identifier: GPL-2.0-only
"""Parts that run side by side: what they wait for, what is said of them, and whose turn it is."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import parallel, process, processors, table, ui
from swathe.base.errors import CheckFailed, EnvironmentLacks
from swathe.base.processors import Account, Processors
from swathe.base.verdicts import Test, Verdict
from swathe.check import mm_only, other_kernels, rotation, schedule, selftest_guests, selftests
from swathe.check.schedule import PartResult, TestPart
from swathe.cli import test, test_parts
from swathe.kernel import build, config, source, tree
from swathe.kernel.build import KernelRequest
from swathe.kernel.version import Version

A, B = KernelRequest(variant="a"), KernelRequest(variant="b")


def two() -> list[Test]:
    return [Test("a", Verdict.PASSED), Test("b", Verdict.FAILED)]


def cannot() -> list[Test]:
    raise EnvironmentLacks("no network")


def request(*names: str) -> test_parts.TestRequest:
    return test.request_from(__main__.parser().parse_args(["test", *names]))


def test_the_summary_names_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    [result] = schedule.run([TestPart("hooks", two)])
    lab = PartResult("lab", [Test("c", Verdict.SKIPPED)], 1.4, 2.6, 61.4)
    shown = schedule.summary([result, lab])
    assert [[cell.text for cell in row] for row in shown.rows] == [
        ["hooks", "1", "1", "0", "0", "0", "0"], ["lab", "0", "0", "1", "1", "3", "61"],
    ]  # fmt: skip
    assert "hooks: 1 passed, 1 failed, 0 skipped (0 s)" in capsys.readouterr().out
    assert "waited" in table.markdown(shown, table.as_it_is)


def test_a_part_that_cannot_be_done_is_not_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = [TestPart("export", cannot), TestPart("hooks", two)]
    monkeypatch.setattr(test_parts, "of", lambda _: parts)
    assert __main__.main(["test", "lab", "hooks"]) == 1
    said = capsys.readouterr().out
    assert "failed: export (no network)\n" in said
    assert said.endswith("1 passed, 2 failed, 0 skipped\n")
    monkeypatch.setattr(test_parts, "of", lambda _: parts[:1])
    assert __main__.main(["test", "export"]) == 3


def test_a_part_begins_when_its_kernels_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    lab_ended = threading.Event()

    def make(wanted: KernelRequest) -> None:
        assert lab_ended.wait(60)
        told.append(f"built {wanted.variant}")

    def part(name: str) -> Callable[[], list[Test]]:
        def run() -> list[Test]:
            told.append(name)
            lab_ended.set()
            return [Test(name, Verdict.PASSED)]

        return run

    monkeypatch.setattr(build, "build", make)
    parts = [
        TestPart("lab", part("lab")), TestPart("one", part("one"), (A,)),
        TestPart("both", part("both"), (A, B)),
    ]  # fmt: skip
    found = schedule.run(parts)
    assert [result.name for result in found] == ["lab", "one", "both"]
    assert told.count("built a") == told.count("built b") == 1
    assert told.index("lab") < told.index("built a") < told.index("one")
    assert told.index("built b") < told.index("both")


@pytest.mark.parametrize("kind", [CheckFailed, OSError])
def test_a_kernel_that_does_not_build_fails_its_part_alone(
    monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def make(_: KernelRequest) -> None:
        raise kind("it does not build")

    def run() -> list[Test]:
        build.build(A)
        return two()

    monkeypatch.setattr(build, "build", make)
    found = schedule.run([TestPart("one", run, (A,)), TestPart("hooks", two)])
    assert found[0].tests == [Test("one", Verdict.FAILED, "it does not build")]
    assert found[1].tests == two()


def test_what_cannot_be_fetched_beforehand_is_for_the_part_to_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fetched: list[str] = []

    def fetch() -> None:
        fetched.append("fetched")

    parts = [TestPart("a", two, fetch=(cannot, fetch)), TestPart("b", two, fetch=(fetch,))]
    schedule.run(parts)
    assert fetched == ["fetched"]
    assert "not fetched beforehand: no network" in capsys.readouterr().err


def test_lines_of_parts_that_run_side_by_side_are_told_apart(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run() -> list[Test]:
        ui.note("hello")
        parallel.run([parallel.Task(lambda _: ui.note("from a task"))], 1)
        return two()

    schedule.run([TestPart("a", run), TestPart("b", two)])
    said = capsys.readouterr().err
    assert "a| hello" in said
    assert "a| from a task" in said


def test_processors_go_to_builds_then_to_the_first_part() -> None:
    shared, order = Processors(1), list[str]()

    def work(name: str, rank: int, urgent: bool) -> None:
        account = Account(name, rank)
        shared.take(account, urgent)
        order.append(name)
        shared.give_back(account)

    holder = Account("holder")
    shared.take(holder, urgent=False)
    threads = []
    wanted = (("b", 1, False), ("c", 1, False), ("a", 0, False), ("build", 2, True))
    for number, (name, rank, urgent) in enumerate(wanted, 1):
        threads.append(threading.Thread(target=work, args=[name, rank, urgent]))
        threads[-1].start()
        while len(shared.waiting) < number:
            time.sleep(0.001)
    shared.give_back(holder)
    for thread in threads:
        thread.join(60)
    assert order == ["build", "a", "b", "c"]


def test_a_part_waits_only_while_it_has_no_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 0.0, 10.0, 15.0, 15.0, 18.0, 30.0))
    monkeypatch.setattr(processors, "seconds", lambda: next(clock))
    account = Account("a")
    account.change(wanting=1, having=0)  # 0: wants one
    account.change(wanting=1, having=0)  # 0: another
    account.change(wanting=-1, having=1)  # 10: has one, still wants another
    account.change(wanting=-1, having=1)  # 15: has both
    account.change(wanting=0, having=-1)
    account.change(wanting=0, having=-1)
    assert account.waited == 10


def test_nothing_is_shared_unless_parts_run_side_by_side() -> None:
    with processors.one(), processors.one(), processors.one(), processors.one():
        assert processors.SHARED.processors is None


def test_an_interrupted_run_ends_its_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def sleep() -> list[Test]:
        begun.set()
        with suppress(CheckFailed):
            process.run(["sleep", "600"])
        return two()

    def guest() -> list[Test]:
        return parallel.run([parallel.Task(lambda stop: two() if stop.wait(600) else [])], 1)[0]

    def interrupt() -> None:
        assert begun.wait(60)
        while not (process.RUNNING and parallel.STOPS):
            threading.Event().wait(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(schedule, "look_later", interrupt)
    with pytest.raises(KeyboardInterrupt):
        schedule.run([TestPart("a", sleep), TestPart("b", guest)])
    while process.RUNNING or parallel.STOPS:
        threading.Event().wait(0.01)
    parallel.END.clear()


NAMES = [f"program{number}" for number in range(30)]


@pytest.mark.parametrize("parts", [rotation.THIRDS, rotation.TWELFTHS])
def test_as_many_commits_as_there_are_parts_run_every_program(parts: int) -> None:
    turns = [rotation.chosen(NAMES, commit, parts) for commit in range(7, 7 + parts)]
    assert sorted(name for turn in turns for name in turn) == sorted(NAMES)
    assert all(turns)
    assert rotation.chosen(NAMES, 4, parts) == rotation.chosen(NAMES, 4 + parts, parts)


@pytest.mark.parametrize("parts", [rotation.THIRDS, rotation.TWELFTHS])
def test_each_part_comes_with_either_kernel(parts: int) -> None:
    found = {(commit % parts, rotation.first_of_two(commit)) for commit in range(24)}
    assert len(found) == 2 * parts


@pytest.mark.parametrize("commit", range(12))
def test_ci_runs_each_program_in_one_kernel(commit: int) -> None:
    turned = replace(request("ci"), commit=commit)
    assert not {*turned.everything.programs} & {*turned.checked.programs}
    both = {*turned.everything.programs, *turned.checked.programs}
    assert both == {*request().everything.programs}


@pytest.mark.parametrize("commit", [0, 1, 2, 3, 4, 5])
def test_ci_boots_the_newest_kernel_or_arm64_and_says_which(commit: int) -> None:
    turned = replace(request("ci"), commit=commit)
    parts = {part.name: part for part in test_parts.of(turned)}
    says = {name: parts[name].says for name in ("newest", "arm64")}
    assert sorted(says.values()) == ["booted this commit", "mm/ is compiled this commit"]
    for name in says:
        assert bool(parts[name].kernels) == (says[name] == "booted this commit")
    assert set(test_parts.NEEDING) < set(turned.checked.programs)
    assert parts["checked"].says.endswith(f": KUnit, {', '.join(turned.checked.programs)}")


def test_each_commit_runs_one_of_those_that_take_turns_and_says_so() -> None:
    seen = set()
    for commit in range(5, 5 + 96):
        turned = replace(request("ci"), commit=commit)
        [part] = [each for each in test_parts.of(turned) if each.name in test_parts.IN_TURN]
        assert part.says == "this commit, of mainline, debian13, field, powercut, stock"
        seen.add((part.name, commit % rotation.TWELFTHS, rotation.first_of_two(commit)))
    # With each part of the programs and of the scenes, and with either kernel.
    assert len(seen) == 96


def test_twelve_commits_run_every_program_with_kasan_once() -> None:
    asked = request("checked")
    runs = [set(replace(asked, commit=commit).checked.programs) for commit in range(4, 16)]
    assert set.union(*runs) == set(selftests.names()) - set(test_parts.SELDOM_CHECKED)
    assert set.intersection(*runs) == set(test_parts.NEEDING)
    # Of two guests.
    assert max(sum(map(selftest_guests.seconds, run)) for run in runs) < 1200


def test_named_parts_do_not_rotate() -> None:
    says = {part.name: part.says for part in test_parts.of(request(*test_parts.IN_TURN))}
    assert says == dict.fromkeys(test_parts.IN_TURN, "")
    for commit in range(6):
        named = replace(request("newest", "arm64"), commit=commit)
        assert [bool(part.kernels) for part in test_parts.of(named)] == [True, True]


def test_all_is_every_part() -> None:
    names = {part.name for part in test_parts.of(request("all"))}
    assert names == {test_parts.KERNEL, *test_parts.PARTS} - set(test_parts.SHARING)


def test_most_tests_run_without_kasan_unless_another_variant_is_asked_for() -> None:
    parts = {part.name: part for part in test_parts.of(request("ci"))}
    assert [each.variant for each in parts["light"].kernels] == ["light"]
    assert [each.variant for each in parts["checked"].kernels] == [""]
    [asked] = test_parts.of(request("light", "--variant", "up"))
    assert [each.variant for each in asked.kernels] == ["up"]


def test_a_kernel_that_is_not_booted_is_compiled_without_warnings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = other_kernels.NEWEST.asked(request("newest").guest).kernel
    monkeypatch.setattr(mm_only, "BUILD", tmp_path)
    found = source.Source(tmp_path, Version.parse("7.3.4"), True)
    monkeypatch.setattr(source, "get", lambda *_: found)
    prepared = tree.Prepared(tmp_path, "")
    monkeypatch.setattr(build, "prepare", lambda *_: prepared)
    monkeypatch.setattr(config, "configure", lambda *_: None)
    lines = ["  CC      mm/unmap/evict.o", "mm/unmap/evict.c:3:1: warning: unused variable 'a'"]

    def stream(argv: list[str], log: Path, *_: object) -> int:
        assert argv[-2:] == ["W=1", "mm/"]
        log.parent.mkdir(exist_ok=True)
        log.write_text("\n".join(lines))
        return 0

    monkeypatch.setattr(process, "stream", stream)
    assert [each.verdict for each in mm_only.run("newest", wanted)] == [Verdict.FAILED]
    lines.pop()
    assert [each.verdict for each in mm_only.run("newest", wanted)] == [Verdict.PASSED]
