# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel with each mutant of mutants/series, and check that a test finds it.

The test that the series names must find it, if that is no scene (those are ./swathe race's).
Mutants share guests: each is switched on while its
test runs. Those that damage the kernel get a boot of their own, as does one that ends a guest
which it shares. Without a mutant, memx must find nothing, nor must the last test of a shared
guest.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from swathe.base import parallel, ui
from swathe.base.verdicts import Test, Verdict
from swathe.check import broken, selftests
from swathe.check.broken import Defect, Finding, Kernel, Watch
from swathe.guest import kernel_log, session, vm
from swathe.guest.clock import Clock
from swathe.kernel import build, mutants
from swathe.kernel.mutants import Mutant
from swathe.kernel.version import Version

PART = "seeded"
NONE = "none"
MEMX = "memx"
# Of each process of memx: ten times what it needs to find a mutant, and what must pass.
OPERATIONS = 20000
QUIET = 500


def needs(kernel: build.KernelRequest) -> list[build.KernelRequest]:
    """Return the kernels that run() wants to be built."""
    return [kernel]


def run(kernel: build.KernelRequest, seed: int, cpus: int) -> list[Test]:
    """Try each mutant, and a kernel without one."""
    built = build.build(kernel)
    booted = Kernel(built, selftests.compile_tests(built), cpus, Clock.COUNTED)
    kind = " ".join(filter(None, (kernel.flavor, kernel.variant)))
    ui.note(f"testing mutants in Linux {built.version} ({kind}), seed {seed}")
    every = mutants.meant_for(mutants.load(), Version.parse(built.version), kernel.arch)
    meant = [mutant for mutant in every if not mutant.scene]
    order = [NONE, *(mutant.name for mutant in meant)]
    findings = parallel.run(tasks(booted, meant, seed), parallel.processors())
    found = sorted((f for group in findings for f in group), key=lambda f: order.index(f.way))
    title = f"Kernels broken on purpose (`./swathe test {PART}`), seed {seed}"
    broken.record(built, cpus, PART, title, ("way", "found by"), found)
    return [judge(finding) for finding in found]


def tasks(kernel: Kernel, meant: Sequence[Mutant], seed: int) -> list[parallel.Task[list[Finding]]]:
    """Return the guests: one for each processor, which mutants share, and those of one mutant."""
    quiet = Defect(NONE, command(MEMX, seed, QUIET))
    defects = [quiet, *(defect_of(mutant, seed) for mutant in meant if not mutant.alone)]
    guests = parallel.processors()
    shares = [share for share in (defects[first::guests] for first in range(guests)) if share]
    found = [
        parallel.Task(partial(attend, kernel, share), cost=len(share), memory=vm.BYTES)
        for share in shares
    ]
    for mutant in meant:
        if mutant.alone:
            clocked = replace(kernel, clock=Clock.HOST if mutant.parallel else kernel.clock)
            work = partial(attempt, clocked, defect_of(mutant, seed))
            found.append(parallel.Task(work, memory=vm.BYTES))
    return found


def command(by: str, seed: int, operations: int = OPERATIONS) -> str:
    return f"memx --seed {seed} --procs 2 --ops {operations}" if by == MEMX else by


def defect_of(mutant: Mutant, seed: int) -> Defect:
    return Defect(mutant.name, command(mutant.found_by, seed), mutant.name, mutant.says)


def attempt(kernel: Kernel, defect: Defect, stop: threading.Event) -> list[Finding]:
    return [broken.attempt(kernel, defect, stop)]


def attend(kernel: Kernel, defects: Sequence[Defect], stop: threading.Event) -> list[Finding]:
    """Boot a guest that the defects share, and more guests for those that it did not get to."""
    found: list[Finding] = []
    rest = [*defects, Defect(NONE, defects[-1].by)]
    while rest:
        done = share(kernel, rest, stop)
        found += done
        rest = rest[len(done) :]
        if rest:
            ui.note(f"  {rest[0].way}: the guest that it shared is damaged; it gets its own")
            found.append(broken.attempt(kernel, rest[0], stop))
            rest = rest[1:]
    return found


def share(kernel: Kernel, defects: Sequence[Defect], stop: threading.Event) -> list[Finding]:
    """Boot, and return what was found up to the first defect whose mutant damaged the guest: a
    damaged guest must not judge. A guest that is damaged without a mutant must be judged.
    """
    watch = Watch(stop, hasty=False)
    work = broken.job(defects, kernel.programs)
    machine = broken.machine(kernel, defects)
    heard = session.run(machine, work, f"{PART}-{defects[0].way}", watch, watch).not_stopped()
    if heard.lost and not heard.sections:
        raise heard.lost
    found: list[Finding] = []
    consoles = heard.console.split(broken.BEGINS)[1:]
    for defect, section, console in zip(defects, heard.sections, consoles, strict=False):
        damaged = section.status is None or kernel_log.first_report(console)
        if damaged and defect.mutant:
            break
        # The guest may have been lost later, with another mutant.
        lost = broken.cause(heard) if section.status is None else ""
        finding = broken.conclude(kernel.built, defect, section, console, lost)
        found.append(broken.tell(replace(finding, seconds=watch.took(len(found)))))
        if damaged:
            break
    return found


def judge(finding: Finding) -> Test:
    """A mutant must be found; in a correct kernel the program must run and find nothing."""
    good = finding.said == "nothing" if finding.way == NONE else finding.found
    verdict = Verdict.PASSED if good else Verdict.FAILED
    return Test(f"{PART} {finding.way}", verdict, finding.said)
