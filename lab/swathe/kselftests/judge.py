# SPDX-License-Identifier: GPL-2.0-only
"""Two runs of each of the kernel's own tests: are they the same, and what fails in stock?"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from swathe.base import results, table, ui
from swathe.base.table import Column
from swathe.base.verdicts import Test, Verdict
from swathe.guest.environment import Environment
from swathe.kselftests import cases
from swathe.kselftests.cases import ProgramRun
from swathe.kselftests.listing import FILE, PART, Catalogue


class Comparison(Struct, frozen=True):
    """Both runs of one program; None where it did not end. commit: which swathe ran it.

    before: how two earlier runs of the same boots differed, which these runs do not confirm.
    """

    name: str = field(name="test")
    off: ProgramRun | None
    on: ProgramRun | None
    commit: str = field(default="", name="swathe")
    before: str = ""


def unexplained(pair: Comparison, catalogue: Catalogue) -> list[cases.Case]:
    """What fails in stock without a known reason; a status needs none if a case has failed."""
    assert pair.off is not None
    inner = [case for case in pair.off.inner if case.verdict is Verdict.FAILED]
    end = pair.off.end
    explained = inner and end.detail == "status 1"
    failed = [*inner, *([end] if end.verdict is Verdict.FAILED and not explained else [])]
    return [case for case in failed if not catalogue.reason(pair.name, case.name)]


def unsteady(pair: Comparison, name: str, catalogue: Catalogue) -> bool:
    known = catalogue.reason(pair.name, name)
    return bool(known and known.unsteady)


def differing(pair: Comparison, catalogue: Catalogue) -> str:
    """Return how the verdicts differ, without cases that are known to be unsteady."""
    if pair.off is None or pair.on is None:
        return ""
    return "; ".join(
        str(item) for item in cases.differences(pair.off, pair.on)
        if not unsteady(pair, item.name, catalogue)
    )  # fmt: skip


def judge(pair: Comparison, catalogue: Catalogue) -> list[Test]:
    """One test for the comparison, and one for each failure that nobody has explained."""
    full = f"{PART} {pair.name}"
    if pair.off is None or pair.on is None:
        where = "off" if pair.off is None else "on"
        return [Test(full, Verdict.FAILED, f"it did not end with swathe {where}")]
    found = [
        Test(f"{full}: {case.name}", Verdict.FAILED,
             f"fails in stock, too ({case.detail or 'silent'}): {FILE.name} has no reason for it")
        for case in unexplained(pair, catalogue)
    ]  # fmt: skip
    if difference := differing(pair, catalogue):
        return [Test(full, Verdict.FAILED, difference), *found]
    if pair.off.skipped:
        detail = next((case.detail for case in pair.off.cases if case.detail), "it skips itself")
        return [Test(full, Verdict.SKIPPED, detail), *found]
    return [Test(full, Verdict.PASSED), *found]


def tell_passing(pair: Comparison, catalogue: Catalogue) -> None:
    """Known failures that did not happen."""
    if pair.off is None:
        return
    failed = [case.name for case in pair.off.cases if case.verdict is Verdict.FAILED]
    for known in catalogue.known:
        idle = known.test == pair.name and not any(known.means(pair.name, n) for n in failed)
        if idle and not known.unsteady:
            ui.result(f"known to fail, but passes: {pair.name}: {known.case} ({known.reason})")


def row(pair: Comparison, catalogue: Catalogue) -> list[str]:
    """One line of the table."""

    def side(outcome: ProgramRun | None) -> list[str]:
        return [outcome.summary(), f"{outcome.seconds:.0f}"] if outcome else ["did not end", ""]

    word = "same"
    if judge(pair, catalogue)[0].verdict is Verdict.FAILED:
        word = "**differs**"
    elif pair.before:
        word = "differed once"
    elif pair.off and pair.on and cases.differences(pair.off, pair.on):
        word = "unsteady"
    (off, off_time), (on, on_time) = side(pair.off), side(pair.on)
    return [f"`{pair.name}`", off, on, word, off_time, on_time]


def written(found: Sequence[Comparison], catalogue: Catalogue, where: str) -> str:
    """The results as Markdown."""
    heads = ("test", "off", "on", "", Column("seconds, off"), Column("on"))
    verdicts = table.make("", heads, [row(pair, catalogue) for pair in found])
    lines = [
        results.SPDX, "# The kernel's own tests", "",
        f"Verdicts with Swathe off and on, in two guests that run side by side. {where}.", "",
        table.markdown(verdicts, table.as_it_is), "",
    ]  # fmt: skip
    commits = Counter(pair.commit for pair in found)
    if len(commits) > 1:
        lines += [
            f"Not all in one run: {'; '.join(f'{n} by {c}' for c, n in commits.items())}.",
            "",
        ]
    ran = {pair.name for pair in found}
    known = [item for item in catalogue.known if item.test in ran]
    if known:
        lines += ["Known to fail in stock under emulation, or sometimes (unsteady):", ""]
        lines += [f"- `{item.test}`, {item.case}: {item.reason}" for item in known] + [""]
    return "\n".join(lines)


class Recorded(Struct):
    environment: Environment
    tests: list[Comparison]


def whole(
    found: Sequence[Comparison], kept: Sequence[Comparison], catalogue: Catalogue
) -> list[Comparison]:
    """What was found now, and what was found earlier and not now, in the catalogue's order."""
    by_name = {pair.name: pair for pair in [*kept, *found]}
    return [by_name[entry.name] for entry in catalogue.entries if entry.name in by_name]


def record(
    found: Sequence[Comparison], catalogue: Catalogue, where: Environment, keep: bool
) -> None:
    """What was found now; what was not tried stays as it was found earlier."""
    now = [replace(pair, commit=where.swathe) for pair in found]

    def make(before: Recorded | None) -> tuple[Recorded, str]:
        """Results of another configuration say nothing about this one."""
        same = before and before.environment.config_hash == where.config_hash
        every = whole(now, before.tests if before and same else [], catalogue)
        return Recorded(where, every), written(every, catalogue, where.line())

    for path in results.record(f"{PART}-{where.system}", keep, Recorded, make):
        ui.note(f"results: {path}")
