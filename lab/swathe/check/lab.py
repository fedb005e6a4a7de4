# SPDX-License-Identifier: GPL-2.0-only
"""The lab's own tests: pytest, and the tools that check its source."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

from swathe.base import parallel, process, processors
from swathe.base.errors import CheckFailed
from swathe.base.paths import BUILD, ROOT
from swathe.base.verdicts import Test, Verdict

REPORT = BUILD / "test" / "pytest.xml"
TIME_LIMIT = 3600
TOOLS = {
    "ruff check": ["ruff", "check"],
    "ruff format": ["ruff", "format", "--check"],
    "mypy": ["mypy"],
}


def run() -> list[Test]:
    return [*(tool(name, argv) for name, argv in TOOLS.items()), *pytest()]


def tool(name: str, argv: list[str]) -> Test:
    """Run one tool over the whole lab, as one test."""
    done = process.run([sys.executable, "-m", *argv], cwd=ROOT, timeout=1800)
    verdict = Verdict.PASSED if done.ok else Verdict.FAILED
    return Test(f"lab: {name}", verdict, "" if done.ok else process.last_line(done.output))


def pytest() -> list[Test]:
    """Run pytest, and read every test case from its report."""
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.unlink(missing_ok=True)
    workers = str(parallel.processors())
    argv = [sys.executable, "-m", "pytest", "-n", workers, f"--junitxml={REPORT}"]
    try:
        with processors.one():
            done = process.run(argv, cwd=ROOT, timeout=TIME_LIMIT)
    except CheckFailed as error:
        return [Test("lab: pytest", Verdict.FAILED, str(error))]
    found = read_junit(REPORT) if REPORT.is_file() else []
    if done.ok and found:
        return found
    if any(test.verdict is Verdict.FAILED for test in found):
        return found
    return [*found, Test("lab: pytest", Verdict.FAILED, process.last_line(done.output))]


def read_junit(path: Path) -> list[Test]:
    """Return the test cases of a JUnit report."""
    found = []
    for case in ET.parse(path).iter("testcase"):
        name = f"lab: {case.get('classname', '').removeprefix('tests.')}.{case.get('name')}"
        problem = next(
            (case.find(tag) for tag in ("failure", "error") if case.find(tag) is not None), None
        )
        skip = case.find("skipped")
        if problem is not None:
            found.append(Test(name, Verdict.FAILED, problem.get("message", "").split("\n")[0]))
        elif skip is not None:
            found.append(Test(name, Verdict.SKIPPED, skip.get("message", "")))
        else:
            found.append(Test(name, Verdict.PASSED))
    return found
