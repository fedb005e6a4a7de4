# SPDX-License-Identifier: GPL-2.0-only
"""Which system-call tests skip themselves in which kernel: skips.toml. Anything else is a failure.

A configuration option that is lost, or a tool that a test no longer finds, would otherwise remove
tests without a word. `./swathe test light checked --record` writes the file anew.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from swathe.base import reading, ui
from swathe.base.paths import BUILD, locked, write_atomically
from swathe.base.verdicts import Test, Verdict
from swathe.check.selftests import SelftestRequest
from swathe.kernel.version import Version

FILE = Path(__file__).with_name("skips.toml")
# What was found last, whether expected or not.
LAST = BUILD / "test" / FILE.name
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-only
# How many tests of each program skip themselves, by kernel and by the reason that they print.
# Written by ./swathe test PART --record; see skips.py.
"""
# By kernel, program and reason.
Skips = dict[str, dict[str, dict[str, int]]]


def load(file: Path) -> Skips:
    text = file.read_text() if file.is_file() else ""
    return reading.convert(reading.toml(text, file.name), Skips, file.name)


def kernel_of(request: SelftestRequest, version: str) -> str:
    """Return the name of a kernel, and of how much of the programs ran in it."""
    kernel = request.kernel
    words = [Version.parse(version).series, kernel.arch, kernel.flavor, kernel.variant]
    return " ".join(filter(None, [*words, "on-only" if request.on_only else ""]))


def program_of(test: Test) -> str:
    """Return the program whose test it is; all KUnit suites count as one."""
    kind, _, rest = test.name.partition(" ")
    return rest.split(":")[0] if kind == "guest" else kind


def count(tests: Iterable[Test]) -> dict[str, Counter[str]]:
    """Count the skipped tests by program and reason."""
    found: dict[str, Counter[str]] = {}
    for test in tests:
        found.setdefault(program_of(test), Counter())
        if test.verdict is Verdict.SKIPPED:
            found[program_of(test)][test.detail.removeprefix("SKIP").strip()] += 1
    return found


def judge(tests: Sequence[Test], request: SelftestRequest, version: str) -> list[Test]:
    """Return a failed test for each program that skipped other tests than the file says."""
    name, expected, found = kernel_of(request, version), load(FILE), count(tests)
    record(LAST, name, found)
    if request.keep:
        record(FILE, name, found)
        return []
    if name not in expected:
        ui.note(f"{FILE.name} does not know which tests are skipped in {name}: none is judged")
        return []
    return [
        Test(f"guest {program}: skips", Verdict.FAILED, differences)
        for program, reasons in found.items()
        if (differences := compare(reasons, Counter(expected[name].get(program, {}))))
    ]


def compare(found: Counter[str], expected: Counter[str]) -> str:
    return "; ".join(
        f"{found[reason]} skipped instead of {expected[reason]}: {reason}"
        for reason in sorted({*found, *expected})
        if found[reason] != expected[reason]
    )


def record(file: Path, name: str, found: dict[str, Counter[str]]) -> None:
    """Write what was found to a file; programs that did not run stay as they were."""
    with locked(file.name):
        every = load(file)
        every[name] = {**every.get(name, {}), **{key: dict(value) for key, value in found.items()}}
        write_atomically(file, text_of(every).encode())


def text_of(skips: Skips) -> str:
    """Return the file's text; programs that skip nothing are left out."""
    lines = [HEAD]
    for name, programs in sorted(skips.items()):
        lines.append(f"[{json.dumps(name)}]\n")
        for program, reasons in sorted(programs.items()):
            if reasons:
                lines.append(f"[{json.dumps(name)}.{program}]")
                lines += [f"{json.dumps(reason)} = {n}" for reason, n in sorted(reasons.items())]
                lines.append("")
    return "\n".join(lines)
