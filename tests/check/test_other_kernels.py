# SPDX-License-Identifier: GPL-2.0-only
"""The newest kernel and arm64 are tested as the usual kernel is, but with fewer programs."""

from pathlib import Path

import pytest

from swathe.__main__ import parser
from swathe.base.verdicts import Test, Verdict
from swathe.check import other_kernels, selftest_guests, selftests
from swathe.cli import test, test_parts
from swathe.kernel import hooks, source, version
from swathe.kernel.arch import ARM64
from swathe.measure.columns import NEWEST

WHAT = ("newest", "arm64")


def request(*words: str) -> test_parts.TestRequest:
    return test.request_from(parser().parse_args(["test", *words]))


def test_there_are_hooks_for_the_newest_and_for_none_newer() -> None:
    assert source.KERNELS[-1] == NEWEST
    assert hooks.fitting(hooks.load(), version.Version.parse(NEWEST))


@pytest.mark.parametrize("what", WHAT)
def test_it_is_booted_as_the_usual_kernel_is(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    booted: list[selftests.SelftestRequest] = []

    def guests(wanted: selftests.SelftestRequest) -> list[Test]:
        booted.append(wanted)
        return [Test("guest swap: full", Verdict.FAILED, "why")]

    monkeypatch.setattr(selftest_guests, "run", guests)
    asked = request(what, "--source", "/a/tree", "--cpus", "3", "--boot", "unmap=y")
    [part] = test_parts.of(asked)
    assert part.run() == [Test(f"{what}: guest swap: full", Verdict.FAILED, "why")]
    [wanted] = booted
    usual, kernel = asked.guest.kernel, wanted.kernel
    given = Path("/a/tree")
    assert (kernel.kernel, kernel.source, kernel.arch) == {
        "newest": (NEWEST, None, usual.arch), "arm64": (usual.kernel, given, "arm64"),
    }[what]  # fmt: skip
    assert (kernel.flavor, wanted.cpus, wanted.boot) == ("debug", 3, "unmap=y")
    assert wanted.kunit
    assert usual.source == given
    # arm64 is emulated more slowly than x86-64.
    slower = ARM64.patience if what == "arm64" else 1
    assert wanted.timeout == asked.guest.timeout * slower


def test_its_programs_are_some_of_all() -> None:
    for other in (other_kernels.NEWEST, other_kernels.CROSS):
        assert set(other.programs) < set(selftests.names())
        # A third of what all take: CI has 45 minutes.
        every = sum(map(selftest_guests.seconds, selftests.names()))
        assert sum(map(selftest_guests.seconds, other.programs)) <= every / 3


@pytest.mark.parametrize("what", WHAT)
def test_the_usual_kernel_is_tested_beside_it(what: str) -> None:
    names = [part.name for part in test_parts.of(request(what, "swap"))]
    assert names == ["kernel", what]
    assert what in [part.name for part in test_parts.of(request("ci"))]
    assert what not in [part.name for part in test_parts.of(request())]
