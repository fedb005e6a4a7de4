# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel on purpose, one way after the other, and see memx find each.

The ways are those of mm/unmap/sabotage.c. A way counts as found when memx reports a
mismatch, or when a check of the kernel's own ends the machine while memx runs.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from swathe import build, guesttests, initramfs, sections, ui, vm
from swathe.errors import CheckFailed, VmLost
from swathe.paths import OVERLAY
from swathe.tap import Test, Verdict

SABOTAGE = OVERLAY / "mm/unmap/sabotage.c"
WAY = re.compile(r'^\t\[UNMAP_SABOTAGE_\w+\]\s*= "(\w+)",$', re.MULTILINE)
# What breaks a promise without changing a byte: memx cannot see it, system-call tests do.
NOT_DATA = {
    "extra_ref": "the memory stays, and stays right: lazyfree tests it",
    "table_end": "what lies behind a table does not continue a run by chance: KUnit puts it there",
}
MINUTES = 2
BOOT_LIMIT = 120


@dataclass(frozen=True)
class Finding:
    """How a broken kernel fared."""

    way: str
    seconds: float
    found: bool
    said: str


def ways() -> list[str]:
    """All ways there are, in their order."""
    found = WAY.findall(SABOTAGE.read_text())
    if not found:
        raise CheckFailed(f"{SABOTAGE} names no way to break the laws")
    return found


def run(kernel: build.Request, seed: int, cpus: int) -> list[Test]:
    """One boot for each way."""
    built = build.build(kernel)
    program = guesttests.compile_tests(built)["memx"]
    command = f"memx --seed {seed} --procs 2 --minutes {MINUTES}"
    job = initramfs.Job(
        ["/bin/sh", "/seeded.sh"],
        {"/bin/memx": program},
        {"/seeded.sh": sections.script([f"report memx -- {command}"])},
    )
    tests = []
    for way in ways():
        if way in NOT_DATA:
            tests.append(Test(f"seeded {way}", Verdict.SKIPPED, NOT_DATA[way]))
            continue
        finding = attempt(built, job, way, cpus)
        ui.note(f"  {way}: {finding.said} ({finding.seconds:.0f} s)")
        tests.append(judge(finding))
    return tests


def attempt(built: build.Result, job: initramfs.Job, way: str, cpus: int) -> Finding:
    """Boot broken in this way, and run memx until it says something or its time is over."""
    machine = vm.Machine(
        built.image, built.out, cpus, exact=False, boot=f"unmap.sabotage={way}",
        timeout=BOOT_LIMIT + 60 * MINUTES * 2, target=built.target,
    )  # fmt: skip
    text: list[str] = []
    began: list[float] = []

    def on_text(more: str) -> None:
        text.append(more)
        if not began and any("# seed" in part for part in text):
            began.append(time.monotonic())

    try:
        vm.boot(machine, job, f"seeded-{way}", on_text)
        said = ""
    except VmLost as error:
        said = str(error)
    seconds = time.monotonic() - (began or [time.monotonic()])[0]
    return conclude(way, seconds, sections.parse("".join(text)), said)


def conclude(way: str, seconds: float, reports: Sequence[sections.Section], lost: str) -> Finding:
    """What memx printed, or what ended the machine; a machine that never ran memx shows nothing."""
    if not reports:
        return Finding(way, seconds, False, f"memx did not run: {lost or 'no output'}")
    if lost:
        return Finding(way, seconds, "within" not in lost, lost)
    report = reports[-1]
    mismatch = next((line for line in report.lines if line.startswith("# process ")), "")
    return Finding(way, seconds, bool(report.status), mismatch or "nothing found")


def judge(finding: Finding) -> Test:
    verdict = Verdict.PASSED if finding.found else Verdict.FAILED
    return Test(f"seeded {finding.way}", verdict, finding.said)
