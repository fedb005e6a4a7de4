# SPDX-License-Identifier: GPL-2.0-only
"""arm64's part of CI: the usual kernel, cross-compiled, with KUnit and a program of its own."""

import pytest

from swathe.__main__ import parser
from swathe.base.verdicts import Test, Verdict
from swathe.check import arm64, selftest_guests, selftests
from swathe.cli import test, test_parts
from swathe.kernel.arch import ARM64


def request(*words: str) -> test_parts.TestRequest:
    return test.request_from(parser().parse_args(["test", *words]))


def test_it_is_booted_as_the_usual_kernel_is(monkeypatch: pytest.MonkeyPatch) -> None:
    booted: list[selftests.SelftestRequest] = []

    def guests(wanted: selftests.SelftestRequest) -> list[Test]:
        booted.append(wanted)
        return [Test("guest hugetlb: full", Verdict.FAILED, "why")]

    monkeypatch.setattr(selftest_guests, "run", guests)
    asked = request("arm64", "--cpus", "3", "--boot", "unmap=y")
    [part] = test_parts.of(asked)
    assert part.run() == [Test("arm64: guest hugetlb: full", Verdict.FAILED, "why")]
    [wanted] = booted
    assert (wanted.kernel.kernel, wanted.kernel.arch) == (asked.guest.kernel.kernel, "arm64")
    assert (wanted.kernel.flavor, wanted.cpus, wanted.boot) == ("debug", 3, "unmap=y")
    assert wanted.kunit
    # It is emulated more slowly than x86-64.
    assert wanted.timeout == asked.guest.timeout * ARM64.patience


def test_its_programs_are_some_of_all() -> None:
    assert set(arm64.PROGRAMS) < set(selftests.names())


def test_only_ci_and_its_name_ask_for_it() -> None:
    assert "arm64" in [part.name for part in test_parts.of(request("ci"))]
    assert "arm64" not in [part.name for part in test_parts.of(request())]
