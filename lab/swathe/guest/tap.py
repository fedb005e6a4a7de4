# SPDX-License-Identifier: GPL-2.0-only
"""Read TAP and KTAP, the formats of kselftest and KUnit.

Only leaf tests count: a suite's result line summarises its subtests. If a
document has no tests, stops early, or has more or fewer tests than its plan
says, a failed test is added.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from swathe.base.verdicts import Test, Verdict

LINE = re.compile(r"^(?P<indent> *)(?P<not>not )?ok (?P<number>\d+)(?P<rest>.*)$")
PLAN = re.compile(r"^(?P<indent> *)1\.\.(?P<count>\d+)(?: *# *SKIP *(?P<skip>.*))?$")
# What a test prints before its result: the failed conditions and its own remarks.
REMARK = re.compile(r"^# (\S+\.c:\d+:.*)$")
FAILED_CONDITION = re.compile(r":Expected ")
MOST_REMARKS = 4
BAIL = re.compile(r"^Bail out!\s*(.*)$")


def reason_of(remarks: list[str]) -> str:
    """Return the first failed condition, then what the test said besides."""
    failed = [remark for remark in remarks if FAILED_CONDITION.search(remark)][:1]
    said = [remark for remark in remarks if not FAILED_CONDITION.search(remark)]
    return "; ".join(failed + said[:MOST_REMARKS])


@dataclass
class Level:
    """A nesting level that is being read."""

    indent: int
    failed_before: int = 0
    plan: int | None = None
    seen: int = 0


def split_rest(rest: str) -> tuple[str, str]:
    """Split a result line into the test's name and the directive."""
    name, _, directive = rest.partition(" #")
    name = name.strip().removeprefix("-").strip()
    return name, directive.strip()


def verdict_of(failed: bool, directive: str) -> Verdict:
    word = directive.split(" ")[0].upper() if directive else ""
    if word == "SKIP":
        return Verdict.SKIPPED
    if word in ("TODO", "XFAIL"):
        return Verdict.SKIPPED if failed else Verdict.PASSED
    return Verdict.FAILED if failed else Verdict.PASSED


class TapReader:
    """Collects the leaf tests of one document; their names get the prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.levels = [Level(0)]
        self.tests: list[Test] = []
        self.skip_all: str | None = None
        self.remarks: list[str] = []

    def fail(self, name: str, detail: str) -> None:
        self.tests.append(Test(f"{self.prefix}: {name}", Verdict.FAILED, detail))

    def level(self, indent: int) -> Level:
        """Return the level at this indentation; open it if it is new."""
        while self.levels[-1].indent > indent:
            self.close(self.levels.pop())
        if self.levels[-1].indent < indent:
            self.levels.append(Level(indent, self.failed()))
        return self.levels[-1]

    def close(self, level: Level) -> None:
        if level.plan is not None and level.plan != level.seen:
            self.fail("plan", f"{level.seen} tests ran instead of {level.plan}")

    def result(self, match: re.Match[str]) -> None:
        """Handle a result line: of a leaf test, or of the suite that has just ended."""
        indent = len(match["indent"])
        children = [level for level in self.levels if level.indent > indent]
        level = self.level(indent)
        level.seen += 1
        name, directive = split_rest(match["rest"])
        verdict = verdict_of(bool(match["not"]), directive)
        full = f"{self.prefix}: {name or match['number']}"
        if not children:
            reason = reason_of(self.remarks) if verdict is Verdict.FAILED else ""
            self.tests.append(Test(full, verdict, directive or reason))
        elif verdict is Verdict.FAILED and self.failed() == children[0].failed_before:
            self.tests.append(Test(full, verdict, "the suite failed, but none of its tests did"))
        self.remarks = []

    def failed(self) -> int:
        return sum(test.verdict is Verdict.FAILED for test in self.tests)

    def line(self, line: str) -> None:
        if match := PLAN.match(line):
            if match["skip"] is not None:
                self.skip_all = match["skip"]
            else:
                self.level(len(match["indent"])).plan = int(match["count"])
        elif match := LINE.match(line):
            self.result(match)
        elif match := BAIL.match(line):
            self.fail("bail out", match[1])
        elif match := REMARK.match(line):
            self.remarks.append(match[1])

    def end(self) -> list[Test]:
        while self.levels:
            self.close(self.levels.pop())
        if self.skip_all is not None and not self.tests:
            self.tests.append(Test(self.prefix, Verdict.SKIPPED, self.skip_all))
        if not self.tests:
            self.fail("no tests", "the output holds no test results")
        return self.tests


def parse(text: str, prefix: str) -> list[Test]:
    """Return all leaf tests of one document."""
    reader = TapReader(prefix)
    for line in lines(text):
        reader.line(line)
    return reader.end()


def lines(text: str) -> Iterator[str]:
    """Yield the lines without kernel time stamps, with tabs as KTAP's four spaces."""
    for line in text.splitlines():
        yield re.sub(r"^\[ *\d+\.\d+\] ?", "", line).expandtabs(4).rstrip()
