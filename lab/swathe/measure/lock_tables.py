# SPDX-License-Identifier: GPL-2.0-only
"""What profile --locks prints: each class of locks, stock beside swathe, and the verdicts."""

from collections.abc import Iterator, Sequence

from swathe.base import table
from swathe.base.table import Column, Table
from swathe.measure import columns, compare, goals, lock_classes
from swathe.measure.compare import number
from swathe.measure.functions import ProfileRequest
from swathe.measure.locks import OFF, Hold, LockRun, wanted_rows

MEANS = """\
in instructions, without those of interrupts that arrive meanwhile; preemption is off while a
spinlock or read-write lock is held, interrupts are while code outside of interrupts masks them"""
# A figure below this says only that it is not nothing.
LEAST = 0.0005


def per_page(count: float, pages: float) -> str:
    value = count / pages
    return f"{value:.3g}" if value >= LEAST else ("< 0.001" if value else "")


def figures(found: Sequence[Hold], runs: Sequence[LockRun]) -> Iterator[str]:
    """Acquisitions a page, mean and longest hold, each of every config."""
    yield from (per_page(one.acquired, r.pages) for one, r in zip(found, runs, strict=True))
    yield from (number(round(one.mean())) if one.times else "" for one in found)
    yield from (number(one.longest) if one.times else "" for one in found)


def longest_of(found: Sequence[Hold]) -> str:
    """Which function began the longest: stock's, and swathe's if it is another."""
    return " / ".join(dict.fromkeys(one.caller() for one in found[:2] if one.times))


def heads(first: str, runs: Sequence[LockRun]) -> list[Column | str]:
    kinds = ("per page", "mean", "longest")
    return [
        first,
        *(Column(f"{run.config}\n{kind}") for kind in kinds for run in runs),
        "the longest is by",
    ]


def titled(name: str) -> str:
    about = lock_classes.ABOUT.get(name)
    return f"{name}: {about}" if about else name


def names(runs: Sequence[LockRun]) -> list[str]:
    """The classes of any config, then other takers, those that hold longest in all first."""
    classes = [run.region.classes() for run in runs]
    others = set().union(*classes) - set(lock_classes.NAMES)
    total = {name: sum(one.get(name, Hold()).total for one in classes) for name in others}
    known = [name for name in lock_classes.NAMES if any(name in one for one in classes)]
    return [*known, *sorted(others, key=lambda name: (-total[name], name))]


def callers_rows(name: str, runs: Sequence[LockRun]) -> Iterator[list[str]]:
    """Who has the locks of a class taken, if there are several: those that hold longest first."""
    every = [run.region.callers(name) for run in runs]
    callers = set().union(*every)
    most = {one: max(found.get(one, Hold()).longest for found in every) for one in callers}
    for caller in sorted(callers, key=lambda one: (-most[one], one)) if len(callers) > 1 else ():
        yield [f"  {caller}", *figures([found.get(caller, Hold()) for found in every], runs), ""]


def holds_table(runs: Sequence[LockRun], top: int) -> Table:
    """One row for each class; of other takers as many as fit, and the sum of the rest."""
    classes = [run.region.classes() for run in runs]
    every = names(runs)
    rows = []
    for name in every[:top]:
        found = [one.get(name, Hold()) for one in classes]
        rows.append([titled(name), *figures(found, runs), longest_of(found)])
        rows += callers_rows(name, runs)
    if rest := every[top:]:
        sums = [sum((one.get(name, Hold()) for name in rest), Hold()) for one in classes]
        rows.append([f"{len(rest)} others", *figures(sums, runs), longest_of(sums)])
    return table.make("", heads("lock", runs), rows)


def off_table(runs: Sequence[LockRun]) -> Table:
    rows = []
    for what in OFF:
        found = [run.region.off[what] for run in runs]
        rows.append([what, *figures(found, runs), longest_of(found)])
    return table.make("", heads("off", runs), rows)


def judged(request: ProfileRequest, runs: Sequence[LockRun]) -> Iterator[str]:
    """The goals for this case on this kernel: met or missed."""
    if not goals.are_for(request.kernel):
        return
    wanted = goals.load(request.kernel.kernel).goals
    for line in compare.lines(wanted_rows(request, runs), wanted):
        if line.goal:
            values = (number(line.value(config)) for config in (columns.STOCK, columns.SWATHE))
            yield (
                f"{line.metric}: {' → '.join(values)}, goal {number(line.wanted())}: "
                f"{compare.verdict_text(line)}"
            )
