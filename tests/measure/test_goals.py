# SPDX-License-Identifier: GPL-2.0-only
"""The goals name what exists, and are read as they are written."""

import re

import pytest

from swathe.base import paths
from swathe.base.errors import CheckFailed
from swathe.measure import benches, columns, figures, goals, locks, memory
from swathe.measure.goals import Goal


def every() -> list[Goal]:
    return [goal for kernel in columns.KERNELS for goal in goals.load(kernel.series).goals]


def test_every_goal_names_a_bench_and_a_case() -> None:
    cases = {(bench.name, case) for bench in benches.BENCHES for case in bench.known}
    assert not [goal for goal in every() if (goal.bench, goal.case) not in cases]


def test_every_goal_names_a_metric_that_its_program_prints() -> None:
    printed = {
        bench.name: {
            name
            for path in [
                paths.WORKLOADS / "lib" / "report.c",
                *paths.WORKLOADS.glob(f"{bench.name}*.c"),
            ]
            for name in re.findall(r'metric\("(\w+)"', path.read_text())
        }
        | {figures.BUT_WRITING}
        | locks.METRICS
        | {f"{memory.PREFIX}{kind}" for kind in memory.KINDS}
        for bench in benches.BENCHES
    }
    assert not [goal for goal in every() if goal.metric not in printed[goal.bench]]


def test_every_goal_says_something_and_is_not_above_stock() -> None:
    for goal in every():
        limit = goal.wanted(goal.stock)
        assert limit is not None or goal.of_stock is not None
        if limit is not None and goal.stock is not None and goal.bench != "multifault":
            assert limit <= goal.stock, goal


def test_no_row_has_two_goals() -> None:
    for kernel in columns.KERNELS:
        rows = [(goal.bench, goal.case, goal.metric) for goal in goals.load(kernel.series).goals]
        assert len(rows) == len(set(rows))


def test_the_nine_rows_of_the_thread_and_their_source() -> None:
    found = goals.load()
    of_zap = [
        goal.case for goal in found.goals if (goal.bench, goal.metric) == ("zap", "instructions")
    ]
    assert sum("-" not in case for case in of_zap) == 9
    assert [case for case in of_zap if "-" in case] == ["dontneed-4K", "exit-4K"]
    assert "before this work" in found.source
    assert "without NUMA" in found.source


def test_the_newer_kernels_goals_are_relative_to_what_it_takes_itself() -> None:
    found = goals.load("7.3")
    assert "stock 7.3.4" in found.source
    assert found.switched_off == 1.004
    rows = {f"{1 << n}K" for n in (2, *range(4, 12))}
    of_zap = {goal.case: goal.of_stock for goal in found.goals if goal.bench == "zap"}
    assert rows | {"swapped-4K", "swapped-64K", "sparse-4K"} == of_zap.keys()
    assert (of_zap["4K"], of_zap["64K"], of_zap["2048K"]) == (0.66, 0.78, 0.92)
    assert all(fraction and fraction <= 1 for fraction in of_zap.values())
    floor = {case for bench in benches.BENCHES if bench.name == "ptetables" for case in bench.cases}
    assert {goal.case for goal in found.goals if goal.bench == "ptetables"} == floor
    assert not [goal for goal in found.goals if goal.newest is not None]


def test_a_kernel_of_which_nothing_is_wanted_has_no_goals() -> None:
    assert goals.load("5.10") == goals.KernelGoals()


def test_goals_on_6_18_are_relative_too() -> None:
    found = goals.load("6.18")
    fractions = [goal.of_stock for goal in found.goals if goal.metric == "instructions"]
    assert all(fraction and fraction <= 1 for fraction in fractions)
    floor = {case for bench in benches.BENCHES if bench.name == "ptetables" for case in bench.cases}
    assert {goal.case for goal in found.goals if goal.bench == "ptetables"} == floor


def test_an_entry_is_read_as_written() -> None:
    text = """
switched_off = 1.005
[zap.4K]
instructions = { stock = 64.56e6, goal = 53e6 }
["7.3".zap.4K]
instructions = { stock = 70e6, of_stock = 0.8 }
"""
    found = goals.parse(text)
    assert found["6.12"].goals == (
        goals.Goal("zap", "4K", "instructions", 64_560_000, None, 53_000_000),
    )
    assert found["7.3"].goals == (goals.Goal("zap", "4K", "instructions", 70e6, of_stock=0.8),)
    assert (found["6.12"].switched_off, found["7.3"].switched_off) == (1.005, None)


def test_locks_may_be_held_no_longer_than_by_stock_or_to_a_bound_with_a_reason() -> None:
    found = [goal for goal in every() if goal.metric in locks.METRICS]
    assert len({(goal.bench, goal.case) for goal in found}) == 10
    for goal in found:
        assert (goal.of_stock or 1) <= 1.1
        assert goal.of_stock or goal.note


def test_find_is_exact() -> None:
    found = goals.find("lazyfree", "64K", "split_deferred")
    assert found is not None
    assert (found.stock, found.newest, found.goal) == (2048, 0, 0)
    newer = goals.find("lazyfree", "64K", "split_deferred", "7.3")
    assert newer is not None
    assert (newer.stock, newer.goal) == (0, 0)
    assert goals.find("lazyfree", "64K", "pages") is None


@pytest.mark.parametrize(("value", "met"), [(69, True), (70, True), (70.1, False)])
def test_a_goal_is_met_by_what_is_not_above_it(value: float, met: bool) -> None:
    assert goals.Goal("ptetables", "truncate", "vmpte_after", None, None, 70).met(value) is met


def test_a_goal_may_be_what_stock_takes() -> None:
    goal = goals.Goal("multifault", "1", "per_fault", 6233, None, 6264, of_stock=1.005)
    assert (goal.met(6500, 6500), goal.met(6531, 6500), goal.met(6533, 6500)) == (True, True, False)
    assert goal.wanted() == 6264
    assert not goal.met(6265)


def test_a_goal_may_be_a_fraction_of_stock_alone() -> None:
    goal = goals.Goal("zap", "4K", "instructions", 70e6, of_stock=0.8)
    assert (goal.wanted(), goal.wanted(71e6)) == (56e6, 71e6 * 0.8)
    assert (goal.met(56.5e6), goal.met(56.5e6, 71e6)) == (False, True)
    assert goals.Goal("zap", "4K", "instructions", of_stock=0.8).wanted() is None


@pytest.mark.parametrize("above", ["", '"7.3".'])
@pytest.mark.parametrize("said", ["{ stokc = 1 }", '{ stock = "1" }', "{ goal = true }"])
def test_a_misspelt_entry_is_an_error(said: str, above: str) -> None:
    series = "7.3" if above else "6.12"
    with pytest.raises(CheckFailed, match=rf"{series}: zap\.4K\.instructions"):
        goals.parse(f'[{above}zap."4K"]\ninstructions = {said}\n')


@pytest.mark.parametrize("said", ['switched_off = "none"', "switched_of = 1.004", "zap = 3"])
def test_a_misspelt_line_of_a_kernel_is_an_error(said: str) -> None:
    with pytest.raises(CheckFailed, match=r"goals\.toml: 7\.3"):
        goals.parse(f'["7.3"]\n{said}\n')
