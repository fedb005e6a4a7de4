# SPDX-License-Identifier: GPL-2.0-only
"""A test's name and verdict, and the counts of each verdict."""

from dataclasses import dataclass
from enum import Enum


class Verdict(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Test:
    """One leaf test; detail is the reason of a skip or failure."""

    name: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True)
class Count:
    """How many tests passed, failed and were skipped."""

    passed: int
    failed: int
    skipped: int

    @property
    def ok(self) -> bool:
        return self.failed == 0 and self.passed > 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count(tests: list[Test]) -> Count:
    verdicts = [test.verdict for test in tests]
    return Count(
        verdicts.count(Verdict.PASSED),
        verdicts.count(Verdict.FAILED),
        verdicts.count(Verdict.SKIPPED),
    )
