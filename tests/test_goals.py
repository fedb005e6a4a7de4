# SPDX-License-Identifier: GPL-2.0-only
"""The goals name what exists, and are read as they are written."""

import re

import pytest

from swathe.base import paths
from swathe.base.errors import CheckFailed
from swathe.measure import benches, goals


def test_every_goal_names_a_bench_and_a_case() -> None:
    cases = {(bench.name, case) for bench in benches.BENCHES for case in bench.cases}
    assert not [goal for goal in goals.load() if (goal.bench, goal.case) not in cases]


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
        for bench in benches.BENCHES
    }
    assert not [goal for goal in goals.load() if goal.metric not in printed[goal.bench]]


def test_every_goal_says_something_and_is_not_above_stock() -> None:
    for goal in goals.load():
        limit = goal.wanted(goal.stock)
        assert limit is not None
        if goal.stock is not None and goal.bench != "multifault":
            assert limit <= goal.stock, goal


def test_the_nine_rows_of_the_thread_and_their_source() -> None:
    assert sum(goal.bench == "zap" for goal in goals.load()) == 9
    assert "before this work" in goals.source()
    assert "without NUMA" in goals.source()


def test_an_entry_is_read_as_written() -> None:
    (goal,) = goals.parse('[zap."4K"]\ninstructions = { stock = 64.56e6, goal = 53e6 }\n')
    assert goal == goals.Goal("zap", "4K", "instructions", 64_560_000, None, 53_000_000)


def test_find_is_exact() -> None:
    found = goals.find("lazyfree", "64K", "split_deferred")
    assert found is not None
    assert (found.stock, found.newest, found.goal) == (2048, 0, 0)
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


@pytest.mark.parametrize("said", ["{ stokc = 1 }", '{ stock = "1" }', "{ goal = true }"])
def test_a_misspelt_entry_is_an_error(said: str) -> None:
    with pytest.raises(CheckFailed, match=r"zap\.4K\.instructions"):
        goals.parse(f'[zap."4K"]\ninstructions = {said}\n')
