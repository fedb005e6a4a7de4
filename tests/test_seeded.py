# SPDX-License-Identifier: GPL-2.0-only
"""What counts as having found a bug that was put in on purpose, and how it is kept."""

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from swathe.base import results, table
from swathe.base.errors import VmLost
from swathe.base.verdicts import Verdict
from swathe.check import broken, proof, seeded, selftests
from swathe.guest import environment, initramfs, vm
from swathe.kernel import arch, build, mutants
from swathe.kernel.mutants import Mutant
from swathe.kernel.version import Version

HEAD = "@ guest memx\nTAP version 13\n1..1\n# seed 1\n"
MISMATCH = "process 0, operation 12: page 3 byte 0: 0x1 instead of 0"
MUTANT = Mutant("rss", ("run.h",), "law 4: a run counts as one page", "memx", "")
ABOUT = environment.Environment("6.12.1", "0", "q", "c", 2, "4G", "x", "today", "abc")


def watched(text: str) -> broken.Watch:
    watch = broken.Watch(threading.Event())
    watch(text)
    return watch


@pytest.mark.parametrize(
    ("text", "lost", "found", "said"),
    [
        (f"{HEAD}# {MISMATCH}\n", "", True, MISMATCH),
        (f"{HEAD}# the kernel's log has a BUG line\n", "", True, "BUG"),
        ("@ guest lazyfree\nnot ok 3 lazyfree.pinned\n", "", True, "lazyfree.pinned"),
        ("@ kunit unmap\n    not ok 3 table_end\n", "", True, "table_end"),
        (f"{HEAD}ok 1 memx: 5 operations\n? 0\n", "", False, "nothing"),
        (f"{HEAD}? 139\n", "", True, "139"),
        (HEAD, "the VM was lost: Kernel panic", True, "Kernel panic"),
        (HEAD, "the VM was lost: no verdict within 360 s", False, "no verdict"),
        ("", "the VM was lost: Kernel panic", False, "did not run"),
        ("", "", False, "did not run"),
    ],
)
def test_what_counts(text: str, lost: str, found: bool, said: str) -> None:
    finding = broken.conclude("rss", "memx", watched(text), lost)
    assert finding.found == found
    assert said in finding.said
    assert (seeded.judge(finding).verdict is Verdict.PASSED) == found


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
    quiet = broken.conclude(seeded.NONE, "memx", watched(f"{HEAD}ok 1 memx\n? 0\n"), "")
    assert seeded.judge(quiet).verdict is Verdict.PASSED
    for text, lost in ((f"{HEAD}# {MISMATCH}\n", ""), (HEAD, "lost: panic"), (f"{HEAD}? 1\n", "")):
        loud = broken.conclude(seeded.NONE, "memx", watched(text), lost)
        assert seeded.judge(loud).verdict is Verdict.FAILED
    silent = broken.conclude(seeded.NONE, "memx", watched(""), "")
    assert seeded.judge(silent).verdict is Verdict.FAILED


def test_a_guest_ends_with_all_others() -> None:
    all_end = threading.Event()
    watch = broken.Watch(all_end)
    watch(HEAD)
    assert not watch.is_set()
    all_end.set()
    assert watch.is_set()


def test_the_guest_is_ended_at_the_first_sign_and_the_results_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build.BuiltKernel("6.12.1", tmp_path, tmp_path, tmp_path, "0", arch.X86_64)
    booted = {}

    def boot(
        machine: vm.Machine,
        job: initramfs.Job,
        name: str,
        on_text: Callable[[str], None],
        stop: object,
        _: object,
    ) -> vm.Exit:
        booted[name] = machine.boot.split("mutants=")[1:]
        assert isinstance(stop, broken.Watch)
        if name == "broken-none":
            on_text(f"{HEAD}ok 1 memx: 9 operations\n? 0\n")
            return vm.Exit(0)
        if name == "broken-rss":
            on_text(HEAD)
            raise VmLost("the VM was lost: Kernel panic")
        on_text(f"{HEAD}# {MISMATCH}\n")
        assert stop.is_set()
        raise vm.Stopped("stopped")

    monkeypatch.setattr(results, "HERE", tmp_path)
    monkeypatch.setattr(build, "build", lambda request: built)
    monkeypatch.setattr(selftests, "compile_tests", lambda built: {"memx": tmp_path / "memx"})
    monkeypatch.setattr(mutants, "load", lambda: [MUTANT, structs.replace(MUTANT, name="flush")])
    monkeypatch.setattr(vm, "boot", boot)
    monkeypatch.setattr(environment, "look", lambda *args: ABOUT)
    tests = seeded.run(build.KernelRequest(flavor="debug"), 7, 2)
    assert [test.verdict for test in tests] == [Verdict.PASSED] * 3
    assert booted == {"broken-none": [], "broken-rss": ["rss"], "broken-flush": ["flush"]}
    kept = json.loads((tmp_path / "proof-6.12.1.json").read_text())
    assert [row[0] for row in kept["seeded"]["rows"]] == ["none", "rss", "flush"]
    assert f"| flush | memx | 0 | {MISMATCH} |" in (tmp_path / "proof-6.12.1.md").read_text()


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
