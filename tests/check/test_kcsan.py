# SPDX-License-Identifier: GPL-2.0-only
"""What KCSAN says: reading its reports, and whose races they are."""

import json
from pathlib import Path

import pytest

from swathe.base import process, results, verdicts
from swathe.base.errors import CheckFailed
from swathe.check import kcsan
from swathe.check.kcsan import Names, Race, RaceReport
from swathe.guest.environment import Environment
from swathe.kernel import build
from swathe.kernel.arch import X86_64

NAMES = Names(frozenset({"unmap_run_clear", "evict_from_vma"}), frozenset({"folio_test_large"}))
CONSOLE = """\
[    1.0] random: crng init done
[    2.5] ==================================================================
[    2.5] BUG: KCSAN: data-race in do_anonymous_page / unmap_run_clear
[    2.5]\x20
[    2.5] write to 0xffff888003f0a0b8 of 8 bytes by task 99 on cpu 1:
[    2.5]  unmap_run_clear+0x22/0x80
[    2.5]  evict_from_vma+0x12/0x40
[    2.6] sh (134): drop_caches: 3
[    2.5]  shrink_folio_list+0x33/0x44
[    2.5]\x20
[    2.5] read to 0xffff888003f0a0b8 of 8 bytes by task 98 on cpu 0:
[    2.5]  do_anonymous_page.isra.0+0x55/0x66
[    2.5]  handle_mm_fault+0x1/0x2
[    2.5]\x20
[    2.5] value changed: 0x0000000000000001 -> 0x0000000000000002
[    2.5]\x20
[    2.5] Reported by Kernel Concurrency Sanitizer on:
[    2.5] CPU: 0 UID: 0 PID: 98 Comm: memx Not tainted 6.12.117 #1
[    2.5] ==================================================================
BUG: KCSAN: data-race in folio_remove_rmap_ptes / folio_mapped

read-write (marked) to 0xffffea00000fc0d8 of 4 bytes by task 9 on cpu 1:
 folio_remove_rmap_ptes+0x1/0x2
 evict_from_vma+0x12/0x40

read to 0xffffea00000fc0d8 of 4 bytes by task 8 on cpu 0:
 folio_mapped+0x1/0x2
==================================================================
==================================================================
BUG: KCSAN: data-race in shrink_node+0x3/0x9

race at unknown origin, with read to 0xffffffff82a0c0d8 of 8 bytes by task 7 on cpu 0:
 shrink_node+0x3/0x9
 kswapd+0x3/0x9
==================================================================
 mentioned_later+0x1/0x2
"""


def result(console: str = CONSOLE, watched: int = 5) -> RaceReport:
    return RaceReport(tuple(kcsan.parse(console)), {"setup_watchpoints": watched}, NAMES)


def test_reports_have_two_stacks_or_one() -> None:
    first, second, third = kcsan.parse(CONSOLE)
    assert first.title == "data-race in do_anonymous_page / unmap_run_clear"
    assert first.accesses == (
        ("write", ("unmap_run_clear", "evict_from_vma", "shrink_folio_list")),
        ("read", ("do_anonymous_page.isra.0", "handle_mm_fault")),
    )
    assert second.makers() == ("folio_remove_rmap_ptes", "folio_mapped")
    assert third.accesses == (
        ("race at unknown origin, with read", ("shrink_node", "kswapd")),
    )  # fmt: skip


def test_a_race_belongs_to_who_makes_the_access() -> None:
    found = result()
    assert [len(part) for part in (found.ours, found.below, found.stock)] == [1, 1, 1]
    assert "1 by mm/unmap, 1 in stock functions that it calls, 1 elsewhere" in kcsan.summary(found)


def test_a_copy_of_an_inline_function_belongs_to_its_caller() -> None:
    race = Race("x", (("read", ("folio_test_large", "madvise_pageout", "do_madvise")),))
    assert not race.by(NAMES)
    ours = Race("x", (("read", ("folio_test_large", "evict_from_vma")),))
    assert ours.by(NAMES)
    assert not Race("x", (("read", ("folio_test_large",)),)).by(NAMES)


def test_only_our_races_fail() -> None:
    assert verdicts.count(kcsan.judge(result())) == verdicts.Count(1, 1, 0)
    stock = CONSOLE[CONSOLE.index("BUG: KCSAN: data-race in folio_remove") :]
    assert verdicts.count(kcsan.judge(result(stock))) == verdicts.Count(1, 0, 0)


def test_a_kcsan_that_did_not_look_has_failed() -> None:
    assert verdicts.count(kcsan.judge(result("", watched=0))).failed == 1
    assert verdicts.count(kcsan.judge(RaceReport((), {}, NAMES))).failed == 1


def test_a_report_that_is_cut_off_counts() -> None:
    cut = CONSOLE[: CONSOLE.index("[    2.5]  evict_from_vma")]
    (only,) = kcsan.parse(cut)
    assert only.by(NAMES)


def test_counters() -> None:
    lines = ["enabled: 1", "setup_watchpoints: 712", "", "blacklisted functions: none"]
    assert kcsan.counters(lines) == {"enabled": 1, "setup_watchpoints": 712}


def test_names_are_those_of_the_objects(tmp_path: Path) -> None:
    built = build.BuiltKernel("6.12.1", tmp_path, tmp_path, tmp_path, "hash", X86_64)
    with pytest.raises(CheckFailed, match="was not built"):
        kcsan.own_names(built)
    (tmp_path / "mm" / "unmap").mkdir(parents=True)
    inner = "static __attribute__((noinline, used)) int a(void) { return 1; }"
    copied = "static __attribute__((noinline, used)) int copied(void) { return 2; }"
    (tmp_path / "a.c").write_text(f"{inner}\n{copied}\nint b(void) {{ return a(); }}\n")
    (tmp_path / "c.c").write_text(f"{copied}\n")
    ours, linked = tmp_path / "mm" / "unmap" / "a.o", tmp_path / "vmlinux"
    process.check(["gcc", "-c", f"{tmp_path}/a.c", "-o", f"{ours}"], "compiling")
    process.check(["gcc", "-c", f"{tmp_path}/c.c", "-o", f"{tmp_path}/c.o"], "compiling")
    process.check(["ld", "-r", f"{ours}", f"{tmp_path}/c.o", "-o", f"{linked}"], "linking")
    assert kcsan.own_names(built) == Names(frozenset({"a", "b"}), frozenset({"copied"}))


def test_results_name_every_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path / "build" / "results")
    monkeypatch.setattr(results, "KEPT", tmp_path / "docs")
    where = Environment("6.12.1", "hash", "qemu", "gcc", 2, "4G", "swathe test", "date", "commit")
    kcsan.record(result(), ["guest memx"], where, keep=True)
    text = (tmp_path / "docs" / "kcsan-6.12.1.md").read_text()
    assert (
        "| data-race in folio_remove_rmap_ptes / folio_mapped | 1 | read-write (marked): " in text
    )
    assert "Ran: guest memx." in text
    data = json.loads((tmp_path / "docs" / "kcsan-6.12.1.json").read_text())
    assert [race["title"] for race in data["races"]] == [race.title for race in result().races]
    kcsan.record(RaceReport((), {}, NAMES), [], where, keep=False)
    assert (tmp_path / "build" / "results" / "kcsan-6.12.1.md").read_text().count("None.") == 3


def test_frames_of_no_access_are_not_taken() -> None:
    assert kcsan.parse("BUG: KCSAN: x\n stray+0x1/0x2\n")[0] == Race("x", ())
