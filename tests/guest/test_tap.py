# SPDX-License-Identifier: GPL-2.0-only
"""The TAP and KTAP reader, on recorded logs."""

from collections.abc import Callable

import pytest

from swathe.base import verdicts
from swathe.base.verdicts import Count, Verdict
from swathe.guest import tap

Data = Callable[[str], str]


def counted(text: str) -> Count:
    return verdicts.count(tap.parse(text, "x"))


def test_kunit_counts_leaves_only(data: Data) -> None:
    assert counted(data("kunit.log")) == Count(4, 0, 1)


def test_kunit_failure_counts_once(data: Data) -> None:
    tests = tap.parse(data("kunit-failed.log"), "kunit unmap_run")
    assert verdicts.count(tests) == Count(1, 1, 0)
    failed = [test.name for test in tests if test.verdict is Verdict.FAILED]
    assert failed == ["kunit unmap_run: unmap_run_put_back"]


def test_selftest(data: Data) -> None:
    assert counted(data("selftest.log")) == Count(2, 0, 1)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1..2\nok 1 a\n", Count(1, 1, 0)),
        ("1..1\nok 1 a\nok 2 b\n", Count(2, 1, 0)),
        ("", Count(0, 1, 0)),
        ("TAP version 13\n1..0\n", Count(0, 1, 0)),
        ("1..0 # SKIP no such device\n", Count(0, 0, 1)),
        ("1..2\nok 1 a\nBail out! no memory\n", Count(1, 2, 0)),
        ("not ok 1 a # TODO later\n1..1\n", Count(0, 0, 1)),
        ("ok 1 a # SKIP because\nok 2 b\n", Count(1, 0, 1)),
        ("    ok 1 a\nnot ok 1 suite\n", Count(1, 1, 0)),
        ("    1..2\n    ok 1 a\nok 1 suite\n", Count(1, 1, 0)),
        ("[    1.234567] ok 1 a\n", Count(1, 0, 0)),
        ("# ok 1 only a remark\nok 1 a\n", Count(1, 0, 0)),
    ],
)
def test_small_documents(text: str, count: Count) -> None:
    assert counted(text) == count


def test_two_failed_suites_both_count() -> None:
    text = "    not ok 1 a\nnot ok 1 one\n    ok 1 b\nnot ok 2 two\n"
    assert counted(text) == Count(1, 2, 0)


@pytest.mark.parametrize(
    ("count", "ok"),
    [(Count(1, 0, 0), True), (Count(1, 1, 0), False), (Count(0, 0, 5), False)],
)
def test_success_needs_a_pass(count: Count, ok: bool) -> None:
    assert count.ok is ok


def test_last_line() -> None:
    assert str(Count(3, 2, 1)) == "3 passed, 2 failed, 1 skipped"


def test_what_does_not_hold_is_the_reason() -> None:
    text = "1..2\n# a.c:5: turns is 1 instead of 2\n# a.c:9: later\nnot ok 1 a\nnot ok 2 b\n"
    details = [test.detail for test in tap.parse(text, "guest")]
    assert details == ["a.c:5: turns is 1 instead of 2; a.c:9: later", ""]


def test_a_failed_condition_comes_before_remarks() -> None:
    """The kernel's harness prints remarks (TH_LOG) and failed conditions in the same form."""
    remarks = "".join(f"# k.c:{line}:t:remark {line}\n" for line in range(1, 7))
    failed = "# k.c:9:t:Expected 2 (2) > self->on (3)\n"
    (test,) = tap.parse(f"1..1\n{remarks}{failed}not ok 1 t\n", "x")
    assert test.detail.split("; ") == [
        "k.c:9:t:Expected 2 (2) > self->on (3)",
        *(f"k.c:{line}:t:remark {line}" for line in range(1, 5)),
    ]
