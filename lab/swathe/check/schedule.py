# SPDX-License-Identifier: GPL-2.0-only
"""Run the parts of the tests side by side: each says once what it needs.

Downloads begin at once, in the order of the parts; kernels are built one after another; a part
runs when its kernels are there. Earlier parts get processors first: the longest belong there. A
part that cannot be done has failed, and the others go on.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from swathe.base import parallel, process, processors, table, ui, verdicts
from swathe.base.errors import SwatheError
from swathe.base.processors import Account
from swathe.base.table import Column, Table
from swathe.base.verdicts import Test, Verdict
from swathe.kernel import build
from swathe.kernel.build import KernelRequest

POLL = 0.2
# A full disk is an OSError.
EXPECTED = (SwatheError, OSError)


@dataclass(frozen=True)
class TestPart:
    """A part of the tests, the kernels that must be built for it, and what it will download.

    fetch: functions that may be called beforehand, beside anything else
    says: what of it runs this time, where that changes from commit to commit
    """

    name: str
    run: Callable[[], list[Test]]
    kernels: tuple[KernelRequest, ...] = ()
    fetch: tuple[Callable[[], object], ...] = ()
    says: str = ""


@dataclass(frozen=True)
class PartResult:
    """The tests of one part, and where its time went, in seconds.

    built: its kernels, without those that an earlier part wanted; waited: until it had kernels
    and a processor; ran: the rest
    """

    name: str
    tests: list[Test]
    built: float
    waited: float
    ran: float


@dataclass
class Builds:
    """The kernels to build, each with the first part that wants it, and how long each took."""

    owners: dict[KernelRequest, str]
    changed: threading.Condition = field(default_factory=threading.Condition)
    seconds: dict[KernelRequest, float] = field(default_factory=dict)

    def make(self) -> None:
        """Build one after another. The part that needs a kernel reports what went wrong."""
        for request in self.owners:
            begin = time.monotonic()
            try:
                build.build(request)
            except EXPECTED as error:
                ui.note(str(error))
            finally:  # nobody must wait for a kernel that will not come
                with self.changed:
                    self.seconds[request] = time.monotonic() - begin
                    self.changed.notify_all()

    def wait(self, requests: Sequence[KernelRequest]) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.seconds.keys() >= set(requests))

    def took(self, part: TestPart) -> float:
        """Return the seconds of the kernels that no earlier part wanted."""
        return sum(
            self.seconds[request] for request in part.kernels if self.owners[request] == part.name
        )


def run(parts: Sequence[TestPart]) -> list[PartResult]:
    """Run all parts; one alone raises its errors."""
    for part in parts:
        if part.says:
            ui.result(f"{part.name}: {part.says}")
    if len(parts) == 1:
        return [alone(parts[0])]
    with processors.shared():
        return side_by_side(parts)


def alone(part: TestPart) -> PartResult:
    begin = time.monotonic()
    tests = part.run()
    result = PartResult(part.name, tests, 0, 0, time.monotonic() - begin)
    tell(result)
    return result


def side_by_side(parts: Sequence[TestPart]) -> list[PartResult]:
    """Run each part in a thread; if this one is interrupted, the programs of all are ended."""
    owners: dict[KernelRequest, str] = {}
    for part in parts:
        for request in part.kernels:
            owners.setdefault(request, part.name)
    builds, found, begin = Builds(owners), dict[str, PartResult](), time.monotonic()

    def do(part: TestPart, rank: int) -> None:
        found[part.name] = attend(part, Account(part.name, rank), builds, begin)

    threads = [
        *(
            threading.Thread(target=do, args=[part, rank], daemon=True)
            for rank, part in enumerate(parts)
        ),
        threading.Thread(target=builds.make, daemon=True),
        threading.Thread(target=fetch_all, args=[parts], daemon=True),
    ]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            look_later()
    except BaseException:
        parallel.end_all()
        process.end_all()
        raise
    missing = [part.name for part in parts if part.name not in found]
    if missing:
        raise RuntimeError(f"the part {missing[0]} ended without a result")
    return [found[part.name] for part in parts]


def look_later() -> None:
    time.sleep(POLL)


def attend(part: TestPart, account: Account, builds: Builds, begin: float) -> PartResult:
    """Wait for a part's kernels, run it, and print its result."""
    with processors.charged(account):
        builds.wait(part.kernels)
        started = time.monotonic()
        tests = tests_of(part)
        ran = time.monotonic() - started - account.waited
        built = builds.took(part)
        waited = max(0.0, started - begin - built) + account.waited
        result = PartResult(part.name, tests, built, waited, ran)
        tell(result)
    return result


def tests_of(part: TestPart) -> list[Test]:
    try:
        return part.run()
    except EXPECTED as error:
        return [Test(part.name, Verdict.FAILED, str(error))]


def fetch_all(parts: Sequence[TestPart]) -> None:
    """Download; whoever needs what is missing tries again, and says what is wrong."""
    for function in dict.fromkeys(function for part in parts for function in part.fetch):
        try:
            function()
        except EXPECTED as error:
            ui.note(f"not fetched beforehand: {error}")


def failure(test: Test) -> str:
    return f"failed: {test.name}" + (f" ({test.detail})" if test.detail else "")


def tell(result: PartResult) -> None:
    """Print a line for each failure, each reason to skip, and the part itself."""
    for test in result.tests:
        if test.verdict is Verdict.FAILED:
            ui.result(failure(test))
    reasons = Counter(test.detail for test in result.tests if test.verdict is Verdict.SKIPPED)
    for reason, times in reasons.items():
        ui.result(f"skipped {times}: {reason.removeprefix('SKIP ')}")
    ui.result(f"{result.name}: {verdicts.count(result.tests)} ({result.ran:.0f} s)")


def summary(found: Sequence[PartResult]) -> Table:
    """A table of the parts: verdicts, and where the time went."""
    heads = ("passed", "failed", "skipped", "built", "waited", "ran")
    rows = []
    for part in found:
        count = verdicts.count(part.tests)
        seconds = (f"{number:.0f}" for number in (part.built, part.waited, part.ran))
        rows.append([part.name, *map(str, (count.passed, count.failed, count.skipped)), *seconds])
    return table.make("", ["part", *map(Column, heads)], rows)
