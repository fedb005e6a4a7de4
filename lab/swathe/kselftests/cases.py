# SPDX-License-Identifier: GPL-2.0-only
"""What one of the kernel's own tests said, and where two runs of it differ.

A case is one line of TAP, or what uffd-unit-tests and khugepaged have instead. How
the program ended is a case, too: "status 1", "signal 11", "time limit". Cases of
two runs are matched by their names without numbers (sizes, addresses, counts)
and by their order among equal names.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from swathe.base.verdicts import Verdict
from swathe.guest import sections, tap

NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
UFFD = re.compile(r"^Testing (?P<name>.+?)\.\.\.(?P<rest>.*)$")
UFFD_WORD = re.compile(r"(?:^|.*\s)(?P<word>done|failed|skipped)(?: \[reason: (?P<detail>.*)\])?$")
UFFD_WORDS = {"done": Verdict.PASSED, "failed": Verdict.FAILED, "skipped": Verdict.SKIPPED}
# khugepaged says in colours how the steps of a test went.
RUN_TEST = re.compile(r"^Run test: (.*)$")
RED, YELLOW = "\x1b[31m", "\x1b[33m"
TIMES = re.compile(r"^# swathe: seconds (\S+) (\S+)$")
SKIPPED = 4
KILLED = (128 + 15, 128 + 9)
END = "end"


class Case(Struct, frozen=True, array_like=True):
    """One verdict; name as the program printed it."""

    name: str
    verdict: Verdict
    detail: str = ""


class ProgramRun(Struct, frozen=True):
    """One run of one program. The last case is how it ended."""

    cases: tuple[Case, ...]
    seconds: float

    @property
    def end(self) -> Case:
        return self.cases[-1]

    @property
    def inner(self) -> tuple[Case, ...]:
        return self.cases[:-1]

    @property
    def skipped(self) -> bool:
        return all(case.verdict is Verdict.SKIPPED for case in self.cases)

    def summary(self) -> str:
        """Such as "12 passed, 1 skipped"; the end only where it says more."""
        counts = Counter(case.verdict.value for case in self.inner)
        words = [f"{counts[v.value]} {v.value}" for v in Verdict if counts[v.value]]
        if not words or self.end.verdict is Verdict.FAILED:
            words.append(self.end.detail or self.end.verdict.value)
        return ", ".join(words)


def tap_cases(lines: Sequence[str], prefix: str = "") -> list[Case]:
    """The leaves of a TAP document; what is wrong with the document is a failed case."""
    if not any(tap.LINE.match(line) or tap.PLAN.match(line) for line in lines):
        return []
    found = tap.parse("\n".join(lines), prefix)
    return [
        Case(test.name.removeprefix(f"{prefix}: "), test.verdict, test.detail) for test in found
    ]


def uffd_cases(lines: Sequence[str]) -> list[Case]:
    """Its verdict ends a test's line, or a later one if the test itself said something."""
    found: list[Case] = []
    open_case = False
    for line in lines:
        if match := UFFD.match(line):
            found.append(Case(match["name"], Verdict.FAILED, "no verdict"))
            open_case = True
        word = UFFD_WORD.match(match["rest"] if match else line)
        if open_case and word:
            verdict = UFFD_WORDS[word["word"]]
            found[-1] = Case(found[-1].name, verdict, word["detail"] or "")
            open_case = False
    return found


def khugepaged_cases(lines: Sequence[str]) -> list[Case]:
    """One red step is a failure; a yellow one makes what is not a failure a skip."""
    found: list[Case] = []
    for line in lines:
        if match := RUN_TEST.match(line):
            found.append(Case(match[1], Verdict.PASSED))
        elif found and RED in line:
            step = line.split(RED)[0].split("\r")[-1].strip()
            found[-1] = Case(found[-1].name, Verdict.FAILED, step)
        elif found and YELLOW in line and found[-1].verdict is Verdict.PASSED:
            found[-1] = Case(found[-1].name, Verdict.SKIPPED)
    return found


def ending(status: int, seconds: float, limit: float) -> Case:
    """How the program ended, as a case."""
    if status in KILLED and seconds >= limit:
        return Case(END, Verdict.FAILED, "time limit")
    if status == SKIPPED:
        return Case(END, Verdict.SKIPPED)
    if status > 128:
        return Case(END, Verdict.FAILED, f"signal {status - 128}")
    return Case(
        END, Verdict.FAILED if status else Verdict.PASSED, f"status {status}" * (status > 0)
    )


def read(section: sections.Section, limit: float) -> ProgramRun:
    """One program's section of a guest's report."""
    lines = [line for line in section.lines if not TIMES.match(line)]
    times = [match for line in section.lines if (match := TIMES.match(line))]
    seconds = float(times[-1][2]) - float(times[-1][1]) if times else 0.0
    assert section.status is not None
    end = ending(section.status, seconds, limit)
    cases = uffd_cases(lines) or khugepaged_cases(lines) or tap_cases(lines)
    if end.detail == "time limit":
        # A plan that was not kept says nothing new.
        cases = [case for case in cases if case.name not in ("plan", "no tests")]
    return ProgramRun((*cases, end), round(seconds, 1))


def keyed(outcome: ProgramRun) -> dict[tuple[str, int], Case]:
    """Cases by what identifies them in another run."""
    seen: Counter[str] = Counter()
    found = {}
    for case in outcome.cases:
        name = NUMBER.sub("N", case.name)
        found[name, seen[name]] = case
        seen[name] += 1
    return found


@dataclass(frozen=True)
class Difference:
    """A case whose verdicts differ; None where it is missing."""

    off: Case | None
    on: Case | None

    @property
    def name(self) -> str:
        case = self.off or self.on
        assert case is not None
        return case.name

    def __str__(self) -> str:
        return f"{self.name}: {said(self.off)} off, {said(self.on)} on"


def said(case: Case | None) -> str:
    if case is None:
        return "missing"
    return f"{case.verdict.value} ({case.detail})" if case.detail else case.verdict.value


def same(off: Case | None, on: Case | None) -> bool:
    """Details may differ (they hold addresses and counts), but not in how a program ended."""
    if off is None or on is None or off.verdict is not on.verdict:
        return False
    return off.name != END or off.verdict is Verdict.SKIPPED or off.detail == on.detail


def differences(off: ProgramRun, on: ProgramRun) -> list[Difference]:
    """Where the two runs disagree, in the order of the first."""
    a, b = keyed(off), keyed(on)
    keys = [*a, *(key for key in b if key not in a)]
    return [Difference(a.get(key), b.get(key)) for key in keys if not same(a.get(key), b.get(key))]
