# SPDX-License-Identifier: GPL-2.0-only
"""The model of time: its fit, its check, and what it is read from."""

import json
from pathlib import Path

import numpy
import pytest
from msgspec.structs import replace

from swathe.base.errors import CheckFailed
from swathe.measure import memory, timing
from swathe.measure.timing import Published, UnitCosts, Work

TABLE = Published(
    source="nobody", bench="zap", processor=memory.DEFAULT, pages=1000,
    fitted=("a", "b", "c"), seconds={}, locked=5.0, more_locked=1.0, as_today=("a",),
)  # fmt: skip
WORKS = {
    "a": Work(1000, 4, 1, 1),
    "b": Work(300, 3, 1, 2),
    "c": Work(60, 2, 0, 2),
    "d": Work(100, 2, 1, 1),
    "e": Work(200, 2, 1, 1),
}
COSTS = UnitCosts(0.2, 4, 10, 5.0)


def table(**changed: float) -> Published:
    """What a machine with COSTS would have taken, but for the rows that are given."""
    taken = {case: COSTS.of(work) * 1e-6 for case, work in WORKS.items()}
    return replace(TABLE, seconds={**taken, **changed})


def test_costs_are_found_again_and_predict_the_others() -> None:
    found = timing.check(WORKS, table())
    assert found.costs.instruction == pytest.approx(0.2)
    assert found.costs.hit == pytest.approx(4)
    assert found.costs.line == pytest.approx(10)
    assert found.median_error == pytest.approx(0)
    assert [row.fitted for row in found.rows] == [True, True, True, False, False]


def test_rows_that_were_fitted_say_nothing_of_the_error() -> None:
    """Of d and e one is predicted half too low, the other right: the median is between them."""
    off = COSTS.of(WORKS["d"]) * 2e-6
    found = timing.check(WORKS, table(d=off))
    assert found.median_error == pytest.approx(0.25)
    assert not found.holds
    assert timing.check(WORKS, table()).holds


def test_memory_is_no_faster_than_the_last_level_cache() -> None:
    odd = {case: UnitCosts(0.2, 10, 4, 5.0).of(work) * 1e-6 for case, work in WORKS.items()}
    costs = timing.check(WORKS, table(**odd)).costs
    assert costs.line == costs.hit


def test_no_cost_is_negative() -> None:
    """The best line has a slope below zero in its second unknown: it is left out."""
    left = numpy.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    assert timing.solve(left, numpy.array([3.0, 2.0, 1.0])) == [pytest.approx(2), 0]


def test_the_tables_kernel_did_more_in_large_folios() -> None:
    assert TABLE.as_it_was("a", WORKS["a"]).locked == 4
    assert TABLE.as_it_was("b", WORKS["b"]).locked == 4


def test_the_published_table_is_whole() -> None:
    told = timing.published()
    assert set(told.fitted) | set(told.as_today) <= set(told.seconds)
    assert len(told.fitted) == 3
    assert told.mib == 1024
    assert told.wanted("2048K") == pytest.approx(37.8, abs=0.01)


def test_work_is_read_of_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "memory.json"
    counts = {"instructions": 500, "atomics": 20, "l2.page": 12, "l2.table": 8, "llc.page": 5}
    path.write_text(json.dumps({"configs": {"stock": {"pages": 10, "counts": counts}}}))
    assert timing.read(path, "stock") == Work(50, 2, 1.5, 0.5)
    with pytest.raises(CheckFailed, match=r"is no file of profile --memory: KeyError\('swathe'\)"):
        timing.read(path, "swathe")
