# SPDX-License-Identifier: GPL-2.0-only
"""Locks: their classes, and what is made of the plugin's counts."""

import json
from pathlib import Path

import pytest

from swathe import __main__
from swathe.base import results
from swathe.base.errors import CheckFailed, UsageError
from swathe.cli import profile
from swathe.guest.environment import Environment
from swathe.guest.sections import Section
from swathe.measure import goals, lock_classes, lock_tables, locks
from swathe.measure.functions import ProfileRequest
from swathe.measure.locks import Hold, LockRegion, LockRun, Taken

LINES = """\
region 0
instructions 1000
lock a000 pte_alloc_one zap 8 8 80 30
lock b000 - shrink;folio_lruvec_lock_irq 4 4 40 10
lock b000 - strange 2 2 30 20
lock b000 - seen_before 0 0 0 0
lock c000 - strange.constprop.0 1 1 7 7
lock d000 - unmap_find 1 1 5 5
lock e000 - folio_lruvec_lock_irq 0 0 0 0
lock e000 - __vm_munmap 0 0 0 0
lock e000 - either 1 1 6 6
off preemption zap 3 90 40
contradictions 0
off interrupts one 2 20 15
end
""".splitlines()


def test_locks_by_class() -> None:
    (found,) = locks.parse(LINES)
    assert found.classes() == {
        "pte": Hold(8, 8, 80, 30, "zap"),
        "lruvec": Hold(6, 6, 70, 20, "strange"),
        "ours": Hold(1, 1, 5, 5, "unmap_find"),
        "other: strange.constprop.0": Hold(1, 1, 7, 7, "strange.constprop.0"),
        "other: either": Hold(1, 1, 6, 6, "either"),
    }
    assert found.off["preemption"] == Hold(3, 3, 90, 40, "zap")


def test_callers_of_a_class() -> None:
    (found,) = locks.parse(LINES)
    assert found.callers("lruvec") == {
        "shrink": Hold(4, 4, 40, 10, "shrink;folio_lruvec_lock_irq"),
        "strange": Hold(2, 2, 30, 20, "strange"),
    }
    assert list(found.callers("other: either")) == ["either"]


def test_nothing_is_dropped() -> None:
    (found,) = locks.parse(LINES)
    total = sum((one.hold for one in found.taken), Hold())
    assert sum(found.classes().values(), Hold()).total == total.total
    assert sum(one.acquired for one in found.classes().values()) == total.acquired


@pytest.mark.parametrize(
    ("initialiser", "taker", "takers", "expected"),
    [
        ("__pmd_alloc", "page_vma_mapped_walk", (), "pmd"),
        ("pte_alloc_one", "page_vma_mapped_walk", (), "pte"),
        ("pte_alloc_one_noprof", "anything", (), "pte"),
        ("-", "stock_rmap_walk_anon", (), "rmap"),
        ("-", "rmap_walk_file.isra.0", (), "i_mmap"),
        ("-", "unknown", ("rmap_walk_file", "unlink_file_vma_batch_add"), "i_mmap"),
        ("-", "unknown", ("rmap_walk_file", "rmap_walk_anon"), None),
        ("-", "unmap_batch_free", ("do_madvise",), "mmap"),
        ("-", "unmap_batch_free", ("another",), None),
        ("-", "unmap_batch_free", (), "ours"),
        ("-", "unknown", (), None),
    ],
)
def test_the_class_of_a_lock(
    initialiser: str, taker: str, takers: tuple[str, ...], expected: str | None
) -> None:
    assert lock_classes.class_of(initialiser, taker, [taker, *takers]) == expected


def test_no_function_is_in_two_classes() -> None:
    for members in (lock_classes.INITIALISERS, lock_classes.TAKERS):
        names = [name for text in members.values() for name in text.split()]
        assert len(names) == len(set(names))
        assert members.keys() <= set(lock_classes.NAMES)


@pytest.mark.parametrize("line", ["lock a000 - one 1 1 1", "odd", "off interrupts one 1 1", "x -1"])
def test_a_foreign_line_is_an_error(line: str) -> None:
    with pytest.raises(CheckFailed, match="has an unknown line"):
        locks.parse([*LINES[:-1], line, "end"])


def test_the_output_of_another_mode_is_an_error() -> None:
    with pytest.raises(CheckFailed, match="not that of its mode locks"):
        locks.parse(["region 0", "atomics 3", "end"])


def request(*words: str) -> ProfileRequest:
    args = __main__.parser().parse_args(["profile", "zap", "64K", "--locks", *words])
    assert args.locks
    return profile.request_from(args)


def report(repeat: str, instructions: int) -> Section:
    lines = (f"= instructions {instructions} instructions", "= pages 10 pages")
    return Section(("zap", "64K", "stock", repeat), lines, 0)


def region_lines(instructions: int = 1000, contradictions: int = 0) -> list[str]:
    changed = {
        "instructions 1000": f"instructions {instructions}",
        "contradictions 0": f"contradictions {contradictions}",
    }
    return [changed.get(line, line) for line in LINES]


def test_a_run_and_its_region() -> None:
    lines = [*region_lines(5, 3), *region_lines(1009)]
    (found,) = locks.pair(request(), [report("0", 1), report("1", 1000)], lines)
    assert (found.config, found.pages, found.region.instructions) == ("stock", 10, 1009)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (region_lines(1011), "counted 1011 instructions, but the guest's clock 1000"),
        (region_lines(1000, 2), "2 spinlocks were taken while they were held"),
    ],
)
def test_a_region_must_agree_with_the_clock_and_itself(lines: list[str], complaint: str) -> None:
    with pytest.raises(CheckFailed, match=complaint):
        list(locks.pair(request(), [report("1", 1000)], lines))


def test_another_architecture_is_refused() -> None:
    with pytest.raises(UsageError, match="--locks knows the locks of x86_64 only"):
        locks.require_countable(request("--arch", "arm64"))


def test_several_processors_are_refused() -> None:
    args = __main__.parser().parse_args(["profile", "dirtyflush", "--locks"])
    with pytest.raises(UsageError, match="bench dirtyflush runs on 8"):
        locks.require_countable(profile.request_from(args))
    locks.require_countable(request())


def run_of(config: str, **longest: int) -> LockRun:
    """A run with locks of these functions."""
    taken = [
        Taken(f"{n}000", "-", Hold(n, n, n * most, most, who))
        for n, (who, most) in enumerate(longest.items(), 1)
    ]
    off = {what: Hold(1, 1, 9, 9, "one") for what in locks.OFF}
    return LockRun(config, LockRegion(100, tuple(taken), off, 0), 512)


RUNS = (
    run_of("stock", rmap_walk_anon=100, __vm_munmap=50, odd=7, even=1),
    run_of("swathe", rmap_walk_anon=101, __vm_munmap=40, free_one_page=6, odd=8),
)


def test_the_table_has_stock_beside_swathe() -> None:
    found = [[cell.text for cell in row] for row in lock_tables.holds_table(RUNS, 4).rows]
    assert found[0][0] == "rmap: anon_vma"
    assert found[0][1:] == ["0.00195", "0.00195", "100", "101", "100", "101", "rmap_walk_anon"]
    assert [row[0] for row in found] == [
        "rmap: anon_vma", "mmap: mmap_lock", "zone: buddy allocator", "other: odd", "1 others",
    ]  # fmt: skip
    assert found[2][1:] == ["", "0.00586", "", "6", "", "6", "free_one_page"]
    assert found[4][1:] == ["0.00781", "", "1", "", "1", "", "even"]


def test_a_class_has_its_callers_below_it() -> None:
    ours = run_of("swathe", rmap_walk_anon=9, folio_lock_anon_vma_read=12)
    found = [
        [cell.text for cell in row] for row in lock_tables.holds_table([RUNS[0], ours], 1).rows
    ]
    assert [row[0] for row in found] == [
        "rmap: anon_vma", "  rmap_walk_anon", "  folio_lock_anon_vma_read", "3 others",
    ]  # fmt: skip
    assert found[0][5:] == ["100", "12", "rmap_walk_anon / folio_lock_anon_vma_read"]
    assert found[2][5:] == ["", "12", ""]


def test_every_row_has_a_cell_for_each_head() -> None:
    for found in (lock_tables.holds_table(RUNS, 1), lock_tables.off_table(RUNS)):
        assert {len(row) for row in found.rows} == {len(found.columns)}


def test_the_longest_of_each_class_can_have_a_goal() -> None:
    found = {(row.config, row.metric): row.value for row in locks.wanted_rows(request(), RUNS)}
    assert found["stock", "longest_rmap"] == 100
    assert found["swathe", "longest_rmap"] == 101
    assert found["stock", "longest_zone"] == 0
    assert found["swathe", "interrupts_off"] == 9
    assert {metric for _, metric in found} <= locks.METRICS


def test_goals_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = (
        goals.Goal("zap", "64K", "longest_rmap", of_stock=1),
        goals.Goal("zap", "64K", "longest_mmap", of_stock=1),
        goals.Goal("zap", "64K", "longest_zone", goal=6),
    )
    monkeypatch.setattr(goals, "load", lambda series: goals.KernelGoals(goals=wanted))
    assert list(lock_tables.judged(request(), RUNS)) == [
        "longest_rmap: 100 → 101, goal 100: missed by 1.0 %",
        "longest_mmap: 50 → 40, goal 50: met",
        "longest_zone: 0 → 6, goal 6: met",
    ]
    assert list(lock_tables.judged(request("--flavor", "distro"), RUNS)) == []


def test_figures_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "HERE", tmp_path)
    about = Environment("7.3.4", "0", "QEMU", "gcc", 1, "4G", "swathe profile", "2026-01-01", "abc")
    path = locks.save(request("--kernel", "7.3"), locks.LockResult(RUNS, about))
    assert path.name == "locks-zap-64K-7.3.json"
    swathe = json.loads(path.read_text())["configs"]["swathe"]
    assert swathe["pages"] == 512
    assert (swathe["locks"]["rmap"]["longest"], swathe["off"]["preemption"]["longest"]) == (101, 9)
    assert swathe["locks"]["rmap"]["callers"]["rmap_walk_anon"]["acquired"] == 1
