# SPDX-License-Identifier: GPL-2.0-only
"""New cases of the kernel's own tests: they fail without the patches and pass with them."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from swathe.base.verdicts import Verdict
from swathe.kernel.build import KernelRequest
from swathe.kselftests import mainline_cases
from swathe.kselftests.cases import END, Case, ProgramRun

PASSED, FAILED, SKIPPED = Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED


def ran(end: str = "", **verdicts: Verdict) -> ProgramRun:
    found = [Case(name, verdict) for name, verdict in verdicts.items()]
    return ProgramRun((*found, Case(END, FAILED if end else PASSED, end)), 1)


def judged(off: ProgramRun, on: ProgramRun) -> dict[str, str]:
    """What failed, with what is said of it; one is known, new is new."""
    tests = mainline_cases.judge("mm/a", off, on, ["new"])
    assert [test.name for test in tests] == [
        "mainline: mm/a: new", "mainline: mm/a: all else is the same",
    ]  # fmt: skip
    return {
        test.name.rpartition(": ")[2]: test.detail
        for test in tests
        if test.verdict is not Verdict.PASSED
    }


GOOD = ran(one=PASSED, new=PASSED)
BAD = ran("status 1", one=PASSED, new=FAILED)


def test_a_case_fails_without_the_patches_only() -> None:
    assert judged(BAD, GOOD) == {}


@pytest.mark.parametrize(
    ("off", "on", "said"),
    [
        (GOOD, GOOD, "passed without the patches, passed with them"),
        (BAD, BAD, "failed without the patches, failed with them"),
        (ran(one=PASSED, new=SKIPPED), GOOD, "skipped without the patches, passed with them"),
        (ran(one=PASSED), ran(one=PASSED), "missing without the patches, missing with them"),
    ],
)
def test_a_case_that_shows_nothing_fails(off: ProgramRun, on: ProgramRun, said: str) -> None:
    assert judged(off, on) == {"new": said}


def test_other_cases_and_the_end_must_be_the_same() -> None:
    worse = ran("status 1", one=FAILED, new=PASSED)
    said = "one: passed without the patches, failed with them"
    assert judged(BAD, worse) == {"all else is the same": said}
    killed = ran("signal 11", one=PASSED, new=PASSED)
    said = "with the patches it ended with signal 11"
    assert judged(BAD, killed) == {"all else is the same": said}


def test_every_patch_of_a_test_has_a_program_that_runs() -> None:
    patches = mainline_cases.patches()
    every = mainline_cases.wanted(patches)
    assert {entry.program for entry in every} == set(map(mainline_cases.program, patches))
    assert sum(map(len, every.values())) == sum(
        len(patch.selftest.cases) for patch in patches if patch.selftest
    )


def test_two_patches_of_one_program_share_a_run() -> None:
    patch = mainline_cases.patches()[0]
    ((entry, cases),) = mainline_cases.wanted([patch, changed(patch, name="other")]).items()
    assert patch.selftest
    assert entry.program == mainline_cases.program(patch)
    assert cases == [*patch.selftest.cases] * 2


def test_kernels_are_the_newest_without_and_with_the_patches() -> None:
    source = Path("linux")
    asked = KernelRequest("6.12", source=source)
    untouched, patched = mainline_cases.kernels(asked)
    assert (untouched.kernel, untouched.source, untouched.patches) == ("7.3", None, ())
    assert untouched.pristine and patched.pristine
    assert patched.patches == ("a",)
    assert mainline_cases.kernels(replace(asked, kernel="7.3"))[1].source == source
