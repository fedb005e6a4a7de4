# SPDX-License-Identifier: GPL-2.0-only
"""The newest kernel is tested as the usual one is, but with fewer programs."""

from pathlib import Path

import pytest

from swathe.__main__ import parser
from swathe.base.verdicts import Test, Verdict
from swathe.check import newest, selftest_guests, selftests
from swathe.cli import test, test_parts
from swathe.kernel import hooks, source, version
from swathe.measure.columns import NEWEST


def request(*words: str) -> test_parts.TestRequest:
    return test.request_from(parser().parse_args(["test", *words]))


def test_there_are_hooks_for_it_and_for_none_newer() -> None:
    assert source.KERNELS[-1] == NEWEST
    assert hooks.fitting(hooks.load(), version.Version.parse(NEWEST))


def test_it_is_booted_as_the_usual_kernel_is(monkeypatch: pytest.MonkeyPatch) -> None:
    booted: list[selftests.SelftestRequest] = []

    def guests(wanted: selftests.SelftestRequest) -> list[Test]:
        booted.append(wanted)
        return [Test("guest swap: full", Verdict.FAILED, "why")]

    monkeypatch.setattr(selftest_guests, "run", guests)
    asked = request("newest", "--source", "/a/tree", "--cpus", "3", "--boot", "unmap=y")
    [part] = test_parts.of(asked)
    assert part.run() == [Test("newest: guest swap: full", Verdict.FAILED, "why")]
    [wanted] = booted
    assert (wanted.kernel.kernel, wanted.kernel.source) == (NEWEST, None)
    assert (wanted.kernel.flavor, wanted.cpus, wanted.boot) == ("debug", 3, "unmap=y")
    assert wanted.kunit
    assert asked.guest.kernel.source == Path("/a/tree")


def test_its_programs_are_some_of_all() -> None:
    assert set(newest.PROGRAMS) < set(selftests.names())
    # An eighth of what all take: CI has 45 minutes.
    every = sum(map(selftest_guests.seconds, selftests.names()))
    assert sum(map(selftest_guests.seconds, newest.PROGRAMS)) <= every / 8


def test_the_usual_kernel_is_tested_beside_it() -> None:
    names = [part.name for part in test_parts.of(request("newest", "swap"))]
    assert names == ["kernel", "newest"]
    assert "newest" in [part.name for part in test_parts.of(request("ci"))]
    assert "newest" not in [part.name for part in test_parts.of(request())]
