# SPDX-License-Identifier: GPL-2.0-only
"""What counts as having found a bug that was put in on purpose, and how it is kept."""

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from msgspec import structs

from swathe.base import parallel, results, table
from swathe.base.errors import VmLost
from swathe.base.verdicts import Verdict
from swathe.check import broken, kcsan, proof, seeded, selftests
from swathe.check.broken import Defect, Finding
from swathe.guest import environment, initramfs, sections, session, vm
from swathe.guest.clock import Clock
from swathe.kernel import arch, build, mutants
from swathe.kernel.mutants import Mutant
from swathe.kernel.version import Version

HEAD = "@ rss\nTAP version 13\n1..1\n# seed 1\n"
MISMATCH = "process 0, operation 12: page 3 byte 0: 0x1 instead of 0"
MUTANT = Mutant("rss", ("run.h",), "law 4: a run counts as one page", "memx", "")
ABOUT = environment.Environment("6.12.1", "0", "q", "c", 2, "4G", "x", "today", "abc")
BUILT = build.BuiltKernel("6.12.1", Path(), Path(), Path(), "0", arch.X86_64)
DEFECT = Defect("rss", "memx --ops 9", "rss")
OURS = """\
------------[ cut here ]------------
WARNING: CPU: 0 PID: 440 at mm/unmap/evict_swap.c:129 unmap_swap_leave+0x6ad/0xca0
---[ end trace 0000000000000000 ]---
"""
# The stock function had been called by one of mm/unmap.
BELOW = """\
------------[ cut here ]------------
kernel BUG at mm/page_table_check.c:127!
Oops: invalid opcode: 0000 [#1] SMP
RIP: 0010:page_table_check_set.part.0+0x161/0x170
Call Trace:
 <TASK>
 __page_table_check_ptes_set+0x151/0x1c0
 unmap_run_put_back+0x154/0x170
 </TASK>
---[ end trace 0000000000000000 ]---
Kernel panic - not syncing: Fatal exception
"""
# A guess of the unwinder's is no caller.
STOCK = BELOW.replace(" unmap_run", " ? unmap_run")
ARM64 = "Oops: 0000000096000004\npc : unmap_run_put_back+0x154/0x170\nlr : evict+0x80/0xb0\n"
COUNTER = "BUG: Bad rss-counter state mm:00000000b89841d3 type:MM_ANONPAGES val:4\n"
LOST = "the VM was lost: Kernel panic"


@pytest.fixture(autouse=True)
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    own = kcsan.Names(frozenset({"unmap_run_put_back"}))
    monkeypatch.setattr(kcsan, "own_names", lambda _: own)


def concluded(defect: Defect, text: str, console: str = "", lost: str = "") -> Finding:
    section = next(iter(sections.parse(text)), None)
    return broken.conclude(BUILT, defect, section, console, lost)


@pytest.mark.parametrize(
    ("text", "console", "lost", "found", "said"),
    [
        (f"{HEAD}# {MISMATCH}\nnot ok 1 memx\n? 1\n", "", "", True, MISMATCH),
        (f"{HEAD}# {MISMATCH}\n", "", "", True, MISMATCH),
        (f"{HEAD}# the kernel's log has a BUG line\n? 1\n", COUNTER, "", True, "BUG line"),
        ("@ rss\nnot ok 3 lazyfree.pinned\n? 1\n", "", "", True, "lazyfree.pinned"),
        ("@ rss\nnot ok 3 lazyfree.pinned\n? 139\n", "", "", False, "status 139"),
        (f"{HEAD}ok 1 memx: 5 operations\n? 0\n", "", "", False, "nothing"),
        (f"{HEAD}? 1\n", "", "", False, "status 1"),
        (f"{HEAD}? 139\n", "", "", False, "status 139"),
        (f"{HEAD}? 143\n", "", "", False, "status 143"),
        (HEAD, "", LOST, False, "Kernel panic"),
        (HEAD, "", "the VM was lost: no verdict within 360 s", False, "no verdict"),
        (HEAD, OURS, LOST, True, "WARNING"),
        (HEAD, BELOW, LOST, True, "kernel BUG at mm/page_table_check.c"),
        (HEAD, ARM64, LOST, True, "Oops"),
        (HEAD, ARM64.replace("pc", "lr"), LOST, False, "Oops"),
        (HEAD, STOCK, LOST, False, "kernel BUG at mm/page_table_check.c"),
        (HEAD, STOCK + OURS, LOST, False, "kernel BUG at mm/page_table_check.c"),
        (HEAD, COUNTER + OURS, LOST, False, "Bad rss-counter"),
        ("", "", LOST, False, "did not run"),
        ("", OURS, LOST, False, "did not run"),
        ("", "", "", False, "did not run"),
    ],
)
def test_what_counts(text: str, console: str, lost: str, found: bool, said: str) -> None:
    finding = concluded(DEFECT, text, console, lost)
    assert finding.found == found
    assert said in finding.said
    assert (seeded.judge(finding).verdict is Verdict.PASSED) == found


def test_the_kernel_may_say_what_the_series_names() -> None:
    expected = replace(DEFECT, says="Bad rss-counter state")
    assert concluded(expected, HEAD, COUNTER + OURS, LOST).found
    assert concluded(expected, HEAD, OURS, LOST).found
    assert not concluded(expected, HEAD, STOCK + COUNTER, LOST).found
    assert not concluded(expected, HEAD, "Kernel panic - not syncing: OOM\n", LOST).found


def test_a_test_whose_time_was_up_has_found_nothing() -> None:
    late = "@ rss\n# raced: Test terminated by timeout\n#  FAIL  swap.raced\nnot ok 1 swap.raced\n"
    assert not concluded(DEFECT, f"{late}? 1\n").found
    assert concluded(DEFECT, f"{late}not ok 2 swap.content\n? 1\n").said == "not ok 2 swap.content"


def test_a_suite_that_fails_has_no_status() -> None:
    text = "@ table_end\n    not ok 3 unmap_run_ends_with_table\nnot ok 1 unmap_run\n? 0\n"
    suite = Defect("table_end", "kunit unmap_run", "table_end")
    assert concluded(suite, text).said == "not ok 3 unmap_run_ends_with_table"
    assert not concluded(replace(suite, by="memx"), text).found
    lines = broken.guest_lines(suite)
    assert "report table_end -- suite unmap_run" in lines
    assert not [line for line in lines if "killall" in line]


def test_a_mutant_of_code_that_a_kernel_does_not_run_is_left_out() -> None:
    old = structs.replace(MUTANT, name="ahead", max="6.13")
    assert mutants.meant_for([MUTANT, old], Version.parse("6.12.117"), "arm64") == [MUTANT, old]
    assert mutants.meant_for([MUTANT, old], Version.parse("7.3"), "arm64") == [MUTANT]


def test_a_mutant_is_left_out_where_no_test_can_find_it() -> None:
    marks = structs.replace(MUTANT, name="mark", arch="x86_64")
    kernel = Version.parse("6.12.117")
    assert mutants.meant_for([MUTANT, marks], kernel, "arm64") == [MUTANT]
    assert mutants.meant_for([MUTANT, marks], kernel, "x86_64") == [MUTANT, marks]


def test_in_a_kernel_that_is_not_broken_nothing_may_be_found() -> None:
    correct = Defect(seeded.NONE, "memx --ops 9")
    quiet = f"{HEAD}ok 1 memx\n? 0\n"
    assert seeded.judge(concluded(correct, quiet)).verdict is Verdict.PASSED
    for text, console, lost in (
        (f"{HEAD}# {MISMATCH}\n", "", ""),
        (HEAD, "", LOST),
        (f"{HEAD}? 1\n", "", ""),
        (quiet, OURS, ""),
        (quiet, STOCK, ""),
        ("", "", ""),
    ):
        loud = concluded(correct, text, console, lost)
        assert seeded.judge(loud).verdict is Verdict.FAILED, (text, console, lost)


def test_a_guest_ends_with_all_others_and_a_hasty_one_at_the_first_sign() -> None:
    all_end = threading.Event()
    calm, hasty = broken.Watch(all_end, hasty=False), broken.Watch(all_end, hasty=True)
    for watch in (calm, hasty):
        watch(HEAD)
        assert not watch.is_set()
        watch(f"# {MISMATCH}\n")
    assert hasty.is_set()
    assert not calm.is_set()
    all_end.set()
    assert calm.is_set()


WAYS = re.compile(r"^report (\w+) --", re.MULTILINE)
# What a guest says of a way, and what its kernel says.
Said = Mapping[str, tuple[str, str]]


@dataclass
class Boots:
    """Stands in for the guests: notes in order what was run in each, and by which clock."""

    said: Said
    ways: list[list[str]] = field(default_factory=list)
    clocks: list[Clock] = field(default_factory=list)

    def boot(
        self, machine: vm.Machine, job: initramfs.Job, name: str, on_text: Callable[[str], None],
        stop: vm.Signal, on_console: Callable[[str], None],
    ) -> vm.Exit:  # fmt: skip
        self.ways.append(WAYS.findall(job.texts[session.SCRIPT].partition("settle()")[2]))
        self.clocks.append(machine.wanted_clock)
        console = ""
        try:
            for way in self.ways[-1]:
                text, complaint = self.said.get(way, ("ok 1\n? 0\n", ""))
                on_text(f"@ {way}\n{text}")
                console += f"{broken.BEGINS}{way}\n{complaint}"
                if stop.is_set():
                    raise vm.Stopped("stopped")
                if "panic" in complaint:
                    raise VmLost(LOST)
        finally:
            on_console(console)
        return vm.Exit(0)


NOTICED = ("not ok 1 x\n? 1\n", "")


@pytest.fixture
def booted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Boots]:
    """Run the part with these mutants, in guests that say this."""
    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.setattr(build, "build", lambda _: BUILT)
    monkeypatch.setattr(selftests, "compile_tests", lambda _: {"memx": tmp_path / "memx"})
    monkeypatch.setattr(environment, "look", lambda *args: ABOUT)
    monkeypatch.setattr(parallel, "processors", lambda: 1)

    def make(series: list[Mutant], said: Said) -> Boots:
        boots = Boots(said)
        monkeypatch.setattr(mutants, "load", lambda: series)
        monkeypatch.setattr(vm, "boot", boots.boot)
        return boots

    return make


def named(*names: str, alone: bool = False, parallel: bool = False) -> list[Mutant]:
    return [structs.replace(MUTANT, name=name, alone=alone, parallel=parallel) for name in names]


def verdicts() -> list[tuple[str, Verdict]]:
    tests = seeded.run(build.KernelRequest(flavor="debug", variant="light"), 7, 2)
    return [(test.name.removeprefix("seeded "), test.verdict) for test in tests]


def test_mutants_share_a_guest_that_must_be_sound_at_its_end(
    booted: Callable[..., Boots], tmp_path: Path
) -> None:
    said = {"a": NOTICED, "b": (f"# {MISMATCH}\nnot ok 1 memx\n? 1\n", ""), "c": NOTICED}
    series = [*named("c", alone=True), *named("a", "b"), *named("d", alone=True, parallel=True)]
    boots = booted(series, said)
    assert verdicts() == [
        ("none", Verdict.PASSED), ("none", Verdict.PASSED), ("c", Verdict.PASSED),
        ("a", Verdict.PASSED), ("b", Verdict.PASSED), ("d", Verdict.FAILED),
    ]  # fmt: skip
    assert boots.ways == [["none", "a", "b", "none"], ["c"], ["d"]]
    assert boots.clocks == [Clock.COUNTED, Clock.COUNTED, Clock.HOST]
    kept = json.loads((tmp_path / "proof-6.12.1.json").read_text())
    assert [row[0] for row in kept["seeded"]["rows"]] == ["none", "none", "c", "a", "b", "d"]
    assert f"| {MISMATCH} |" in (tmp_path / "proof-6.12.1.md").read_text()


def test_a_guest_that_was_changed_for_good_is_not_sound(booted: Callable[..., Boots]) -> None:
    booted(named("a"), {"a": NOTICED, "none": NOTICED})
    assert verdicts() == [
        ("none", Verdict.FAILED), ("none", Verdict.FAILED), ("a", Verdict.PASSED),
    ]  # fmt: skip


@pytest.mark.parametrize("complaint", [f"{OURS}Kernel panic\n", COUNTER])
def test_a_mutant_that_damages_a_shared_guest_gets_its_own_and_the_rest_another(
    booted: Callable[..., Boots], complaint: str
) -> None:
    loud = ("ok 1\n? 0\n" if complaint == COUNTER else "", complaint)
    boots = booted(named("a", "b", "c"), {"a": NOTICED, "b": loud, "c": NOTICED})
    found = Verdict.PASSED if "mm/unmap" in complaint else Verdict.FAILED
    assert verdicts()[2:] == [("a", Verdict.PASSED), ("b", found), ("c", Verdict.PASSED)]
    assert boots.ways[1:] == [["b"], ["c", "none"]]


def test_what_does_not_run_at_all_is_no_verdict(
    booted: Callable[..., Boots], monkeypatch: pytest.MonkeyPatch
) -> None:
    booted(named("a"), {})

    def lost(*_: object) -> vm.Exit:
        raise VmLost(LOST)

    monkeypatch.setattr(vm, "boot", lost)
    with pytest.raises(VmLost):
        verdicts()


def test_the_part_says_which_kernels_it_wants() -> None:
    light = build.KernelRequest(flavor="debug", variant="light")
    assert seeded.needs(light) == [light]


def test_a_mutant_is_on_while_its_command_runs() -> None:
    lines = broken.guest_lines(DEFECT)
    on, ran, off = (lines.index(line) for line in (
        f"echo rss >{broken.MUTANTS} || exit 9",
        f"report rss -- timeout {broken.LIMIT} memx --ops 9",
        f"echo >{broken.MUTANTS} || exit 9",
    ))  # fmt: skip
    assert on < ran < off
    assert not [line for line in broken.guest_lines(replace(DEFECT, mutant="")) if "exit 9" in line]


def test_a_section_replaces_the_one_of_its_name_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    for name, cell in (("a", "old"), ("b", "other"), ("a", "new")):
        section = proof.ResultTable(
            name, f"title {name}", ABOUT, ("what",), ((cell,),), ("a note",)
        )
        path = proof.record(section)
    text = path.read_text()
    assert "| new |" in text
    assert "| other |" in text
    assert "old" not in text
    assert text.count("- a note") == 2
    assert text.startswith("<!-- SPDX")


def test_each_architecture_has_a_record_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    for about in (ABOUT, replace(ABOUT, arch="arm64")):
        proof.record(proof.ResultTable("a", "title", about, ("what",), ((about.arch,),)))
    assert "| x86_64 |" in (tmp_path / "proof-6.12.1.md").read_text()
    assert "| arm64 |" in (tmp_path / "proof-6.12.1-arm64.md").read_text()


def test_numbers_are_set_to_the_right() -> None:
    found = table.markdown(
        table.of_text(("what", "s"), (("a|b", "1.5"), ("all", ""))), table.as_it_is
    )
    assert found.splitlines() == ["| what | s |", "|---|---:|", "| a\\|b | 1.5 |", "| all |  |"]
