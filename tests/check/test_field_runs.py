# SPDX-License-Identifier: GPL-2.0-only
"""swathe-field in a guest: what it must end with, and what it must leave behind."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from swathe.base.verdicts import Verdict
from swathe.check import field_runs
from swathe.guest.sections import Section
from swathe.measure.field_blocks import COUNTS, TIMES, FieldBlock

GOOD = FieldBlock(
    "",
    (),
    {
        TIMES: {
            field_runs.HALVED: (700, 1, 200, 1, -71.4, -72, -71),
            field_runs.ALONE: (850, 1, 680, 1, -20, -20, -20),
            field_runs.TOGETHER: (1050, 1, 900, 1, -14, -15, -13),
        },
        COUNTS: {field_runs.EMPTIED: (512, 0, 0, 0, 0, 2052, 4)},
    },
)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (GOOD, ""),
        (
            replace(
                GOOD,
                tables={
                    **GOOD.tables,
                    TIMES: {field_runs.HALVED: (700, 1, 200, 1, -71.4, -72, 1)},
                },
            ),
            "changed by",
        ),
        (replace(GOOD, tables={**GOOD.tables, TIMES: {}}), "changed by None"),
        (
            replace(GOOD, tables={**GOOD.tables, TIMES: {field_runs.HALVED: (1, 1, 1, 1, -40)}}),
            "changed by -40",
        ),
        (
            replace(
                GOOD,
                tables={**GOOD.tables, COUNTS: {field_runs.EMPTIED: (512, 0, 0, 0, 0, 2052, 2052)}},
            ),
            "2052 kB on",
        ),
        (
            replace(
                GOOD,
                tables={
                    **GOOD.tables,
                    TIMES: {**GOOD.tables[TIMES], field_runs.TOGETHER: (3913, 1, 3779, 1, -3)},
                },
            ),
            "a page of dontneed:many took 3913 ns, of zap:dontneed-4K 850 ns",
        ),
    ],
)
def test_a_change_that_is_missing_is_seen(block: FieldBlock, said: str) -> None:
    found = field_runs.changed(block)
    assert said in found if said else found == ""


def test_a_row_that_is_missing_is_seen() -> None:
    left = replace(GOOD, heads=(("left out", "swapout:4K: there is no swap"),))
    events = replace(GOOD, heads=(("left out", "perf event cycles: none"),))
    assert field_runs.measured(left) == "swapout:4K: there is no swap"
    assert field_runs.measured(events) == field_runs.measured(GOOD) == ""


SETTLED = ("switch 0x000b", *field_runs.SETTLED)


def section(name: str, status: int | None, lines: Sequence[str]) -> Section:
    return Section((name,), tuple(lines), status)


@pytest.mark.parametrize(
    ("status", "lines", "left", "said"),
    [
        (0, ["status 143"], SETTLED, ""),
        (0, ["status 0"], SETTLED, "it did not say: status 143"),
        (1, ["oops"], SETTLED, "status 1: oops"),
        (None, [], SETTLED, "did not run to its end"),
        (0, ["status 143"], ["switch 0x0000", *SETTLED[1:]], "switch 0x000b"),
        (0, ["status 143"], SETTLED[:-1], "processes 0"),
    ],
)
def test_what_a_run_must_leave(
    status: int | None, lines: list[str], left: Sequence[str], said: str
) -> None:
    found = {
        "before": section("before", 0, SETTLED), "term": section("term", status, lines),
        "left term": section("left", 0, left),
    }  # fmt: skip
    test = next(test for test in field_runs.judge(found) if test.name == "field measure-term")
    assert (test.verdict is Verdict.PASSED, said in test.detail) == (not said, True)


def test_a_guest_that_ends_fails_every_run() -> None:
    assert {test.verdict for test in field_runs.judge({})} == {Verdict.FAILED}


def test_the_guest_reports_what_is_judged() -> None:
    text = "\n".join(field_runs.lines(7))
    for name in field_runs.EXPECTED:
        assert f"report {name} -- " in text
        assert f"report left {name} -- state" in text
