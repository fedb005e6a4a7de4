# SPDX-License-Identifier: GPL-2.0-only
"""The patches of mainline/series that add cases to the kernel's own tests: what the cases show.

Their programs run in two guests, on the untouched kernel and on the same with all patches of the
series. New cases must fail on the first, and pass on the second; every other case must say the same
on both. The programs must compile without a warning that those of the untouched tree do not give.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import structs

from swathe.base import parallel, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import scratch
from swathe.base.verdicts import Test, Verdict
from swathe.check import corrections
from swathe.guest import initramfs, session, vm
from swathe.guest.clock import Clock
from swathe.guest.session import Transcript
from swathe.kernel import build, mainline
from swathe.kernel.build import BuiltKernel, KernelRequest
from swathe.kernel.mainline import MainlinePatch
from swathe.kselftests import builds, cases, guests, listing
from swathe.kselftests.cases import Case, ProgramRun
from swathe.kselftests.listing import Entry

# mm/migration wants one beside its own two.
PROCESSORS = 3


def patches() -> list[MainlinePatch]:
    return [patch for patch in mainline.load().patch if patch.selftest]


def kernels(asked: KernelRequest) -> tuple[KernelRequest, KernelRequest]:
    """Return the untouched kernel, and that with the patches."""
    newest = mainline.load().kernel
    untouched = KernelRequest(
        newest, asked.source if asked.kernel == newest else None,
        flavor=corrections.FLAVOR, variant=corrections.VARIANT, pristine=True,
    )  # fmt: skip
    letters = tuple(sorted({patch.letter for patch in patches()}))
    return untouched, replace(untouched, patches=letters)


def program(patch: MainlinePatch) -> str:
    """Return the program that a patch changes, as mm/soft-dirty."""
    return str(Path(patch.file).relative_to(builds.SELFTESTS).with_suffix(""))


def entry(patch: MainlinePatch) -> Entry:
    """Return how the program is run: as it is among the kernel's own tests."""
    assert patch.selftest
    name = program(patch)
    known = next(each for each in listing.load().entries if each.program == name)
    return structs.replace(known, args=patch.selftest.args)


def wanted(found: Sequence[MainlinePatch]) -> dict[Entry, list[str]]:
    """Return the runs of programs, each with the cases that it must show."""
    every: dict[Entry, list[str]] = {}
    for patch in found:
        if patch.selftest:
            every.setdefault(entry(patch), []).extend(patch.selftest.cases)
    return every


def run(asked: KernelRequest) -> list[Test]:
    every = wanted(patches())
    built = [build.build(kernel) for kernel in kernels(asked)]
    with scratch(corrections.PART) as stage:
        made = [compiled(each, list(every), stage / each.out.name) for each in built]
        new = made[1].complaints - made[0].complaints
        work = guests.job(tuple(every), made[1].programs, PROCESSORS)
        ui.note(f"booting Linux {built[0].version} without and with the patches")
        tasks = [parallel.Task(partial(boot, each, work, tuple(every))) for each in built]
        off, on = (guests.outcomes(each, tuple(every)) for each in parallel.run(tasks, len(tasks)))
    return [
        corrections.judge("the kernel's own tests compile", "; ".join(sorted(new))),
        *chain.from_iterable(
            judge(each.name, off[number], on[number], cases_of)
            for number, (each, cases_of) in enumerate(every.items())
        ),
    ]


@dataclass(frozen=True)
class Compiled:
    """Programs by name, and what the compiler complained of."""

    programs: dict[str, Path]
    complaints: set[str]


def compiled(built: BuiltKernel, entries: Sequence[Entry], directory: Path) -> Compiled:
    """Compile programs of a kernel's tree."""
    names = tuple(dict.fromkeys(each.program for each in entries))
    targets = tuple(dict.fromkeys(map(builds.target, names)))
    made = builds.Tree(built.tree, build.user_headers(built), targets, built.target)
    said = builds.build_single(made, names, directory)
    programs = builds.programs_in(directory, targets)
    for name in names:
        if name not in programs:
            raise CheckFailed(
                f"{name} does not compile: {builds.log(builds.target(name))} says why"
            )
    return Compiled(programs, corrections.complaints(said))


def boot(
    built: BuiltKernel, work: initramfs.Job, entries: Sequence[Entry], stop: threading.Event
) -> Transcript:
    limit = guests.BOOT_TIME + sum(each.limit + 30 for each in entries)
    machine = replace(
        vm.checking(built, PROCESSORS, limit, vm.TWO_NODES, clock=Clock.COUNTED),
        memory=guests.MEMORY, cpu=guests.processor(built.target),
    )  # fmt: skip
    return session.run(machine, work, f"{corrections.PART}-{built.out.name}", stop=stop).whole()


def judge(name: str, off: ProgramRun, on: ProgramRun, new: Sequence[str]) -> list[Test]:
    """Return a test for each new case, and one for all others."""
    a, b = ({case.name: case for case in run.inner} for run in (off, on))
    found = [verdict(name, case, a.get(case), b.get(case)) for case in new]
    others = [
        f"{item.name}: {cases.said(item.off)} without the patches, {cases.said(item.on)} with them"
        for item in cases.differences(off, on) if item.name not in (*new, cases.END)
    ]  # fmt: skip
    if on.end.detail not in ("", "status 1"):
        others.append(f"with the patches it ended with {on.end.detail}")
    return [*found, corrections.judge(f"{name}: all else is the same", "; ".join(others))]


def verdict(name: str, case: str, off: Case | None, on: Case | None) -> Test:
    shows = bool(off and on and (off.verdict, on.verdict) == (Verdict.FAILED, Verdict.PASSED))
    said = f"{cases.said(off)} without the patches, {cases.said(on)} with them"
    return corrections.judge(f"{name}: {case}", "" if shows else said)
