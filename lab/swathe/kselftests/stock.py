# SPDX-License-Identifier: GPL-2.0-only
"""The verdicts of stock, which are recorded: stock-SERIES-FLAVOR-ARCH[-VARIANT].toml.

While the kernel, its configuration and a test stay the same, so do the verdicts with swathe off.
So a run compares those with swathe on with the record, and only programs that differ run with
swathe off, too. A record that is out of date costs time, and changes no verdict.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from swathe.base import reading, ui
from swathe.base.paths import write_if_changed
from swathe.kernel.build import BuiltKernel, KernelRequest
from swathe.kernel.version import Version
from swathe.kselftests import cases, judge
from swathe.kselftests.cases import Case, ProgramRun
from swathe.kselftests.judge import Comparison
from swathe.kselftests.listing import PART, Catalogue, Entry

HOME = Path(__file__).parent
RENEW = f"./swathe test {PART} --record"
# Options that describe the tools of the build, or mm/unmap, say nothing about stock.
NOT_STOCK = (
    "CONFIG_CC_", "CONFIG_GCC", "CONFIG_CLANG", "CONFIG_AS_", "CONFIG_LD_", "CONFIG_LLD_",
    "CONFIG_PAHOLE", "CONFIG_RUST", "CONFIG_TOOLS_", "CONFIG_UNMAP",
)  # fmt: skip
HEAD = """\
# SPDX-License-Identifier: GPL-2.0-only
# Verdicts of the kernel's own tests with swathe off. "{renew}" writes them.
kernel = "{kernel}"
configuration = "{configuration}"
"""


class StockTest(Struct, frozen=True, forbid_unknown_fields=True):
    """One program's cases; the last is how it ended. prepare: what the guest did before."""

    name: str
    prepare: str
    cases: tuple[Case, ...]

    def is_of(self, entry: Entry) -> bool:
        return (self.name, self.prepare) == (entry.name, entry.prepare)


class StockRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The verdicts of one kernel in one configuration."""

    kernel: str = ""
    configuration: str = ""
    tests: tuple[StockTest, ...] = field(name="test", default=())

    def run_of(self, entry: Entry) -> ProgramRun | None:
        """Return what is recorded of a test, as a run of unknown duration."""
        found = [test for test in self.tests if test.is_of(entry)]
        return ProgramRun(found[0].cases, 0) if found else None


def path(request: KernelRequest, built: BuiltKernel) -> Path:
    series = Version.parse(built.version).series
    words = [series, request.flavor, built.target.name, request.variant]
    return HOME / f"stock-{'-'.join(filter(None, words))}.toml"


def configuration(built: BuiltKernel) -> str:
    """Return a checksum of what stock is configured with."""
    found = sorted(f"{name}={value}" for name, value in built.options.items()
                   if not name.startswith(NOT_STOCK))  # fmt: skip
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:12]


def load(request: KernelRequest, built: BuiltKernel) -> StockRecord:
    """Return the record of this very kernel; an empty one if there is none."""
    empty = StockRecord(built.version, configuration(built))
    file = path(request, built)
    if request.source or not file.is_file():
        return empty
    found = reading.convert(reading.toml(file.read_text(), file.name), StockRecord, file.name)
    same = (found.kernel, found.configuration) == (empty.kernel, empty.configuration)
    return found if same else empty


def kept(case: Case) -> Case:
    """Return a case as it is recorded: numbers in names are of one run only."""
    return Case(cases.NUMBER.sub("N", case.name), case.verdict, case.detail)


def renewed(
    before: StockRecord,
    found: Iterable[Comparison],
    entries: Sequence[Entry],
    order: Sequence[Entry],
) -> StockRecord:
    """Return a record with what was found now, and what was found before of other tests."""
    prepared = {entry.name: entry.prepare for entry in entries}
    tests = {test.name: test for test in before.tests}
    for pair in found:
        if pair.off:
            recorded = tuple(map(kept, pair.off.cases))
            tests[pair.name] = StockTest(pair.name, prepared[pair.name], recorded)
    sorted_ = tuple(tests[entry.name] for entry in order if entry.name in tests)
    return StockRecord(before.kernel, before.configuration, sorted_)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def listed(case: Case) -> str:
    words = [case.name, case.verdict.value, *([case.detail] if case.detail else [])]
    return f"  [{', '.join(map(quoted, words))}],"


def written(record: StockRecord) -> str:
    """Return a record as TOML, a case a line."""
    lines = [
        HEAD.format(renew=RENEW, kernel=record.kernel, configuration=record.configuration).rstrip()
    ]
    for test in record.tests:
        lines += [
            "",
            "[[test]]",
            f"name = {quoted(test.name)}",
            f"prepare = {quoted(test.prepare)}",
        ]
        lines += ["cases = [", *map(listed, test.cases), "]"]
    return "\n".join(lines) + "\n"


def write(file: Path, record: StockRecord) -> None:
    if write_if_changed(file, written(record).encode()):
        ui.note(f"stock's verdicts: {file}")


def tell_outdated(
    record: StockRecord, found: Iterable[Comparison], entries: Iterable[Entry],
    catalogue: Catalogue,
) -> None:  # fmt: skip
    """Name the tests whose verdicts with swathe off are not those of the record."""
    known = {entry.name: record.run_of(entry) for entry in entries}
    for pair in found:
        before = Comparison(pair.name, known[pair.name], pair.off)
        if known[pair.name] is None or judge.differing(before, catalogue):
            ui.result(f"the record of stock lacks what {pair.name} said now: renew it by {RENEW}")
