# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel on purpose, in one way after the other, and see that each is found.

The mutants are those of mutants/series, one boot for each, as many side by side as there are
processors. memx looks for them, or the test that the series names. First of all memx must find
nothing in a kernel that is not broken.
"""

from swathe.base import parallel, ui
from swathe.base.verdicts import Test, Verdict
from swathe.check import broken, selftests
from swathe.check.broken import Finding
from swathe.guest import vm
from swathe.kernel import build, mutants

NONE = "none"
MEMX = "memx"
QUIET_MINUTES = 0.5


def command(way: str, by: str, seed: int) -> str:
    minutes = QUIET_MINUTES if way == NONE else broken.MINUTES
    return f"memx --seed {seed} --procs 2 --minutes {minutes}" if by == MEMX else by


def run(kernel: build.KernelRequest, seed: int, cpus: int) -> list[Test]:
    """One boot for each way, and one for none."""
    built = build.build(kernel)
    programs = selftests.compile_tests(built)
    ui.note(f"breaking Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(way: str, by: str) -> parallel.Task[Finding]:
        boot = "" if way == NONE else f"unmap.mutants={way}"
        broke = broken.Kernel(built, way, cpus, boot)
        work = broken.job(command(way, by, seed), programs)
        return parallel.Task(
            lambda stop: broken.attempt(broke, by, work, stop),
            memory=vm.BYTES,
        )

    ways = [(NONE, MEMX), *((mutant.name, mutant.found_by) for mutant in mutants.load())]
    findings = parallel.run([task(*way) for way in ways], parallel.processors())
    title = f"Kernels broken on purpose (`./swathe test seeded`), seed {seed}"
    broken.record(built, cpus, "seeded", title, ("way", "found by"), findings)
    return [judge(finding) for finding in findings]


def judge(finding: Finding) -> Test:
    """Broken must be found; in a kernel that is not, nothing may be, by a program that ran."""
    good = finding.said == "nothing" if finding.way == NONE else finding.found
    verdict = Verdict.PASSED if good else Verdict.FAILED
    return Test(f"seeded {finding.way}", verdict, finding.said)
