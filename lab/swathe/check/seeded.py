# SPDX-License-Identifier: GPL-2.0-only
"""Boot the kernel with each mutant of mutants/series, and check that a test finds it.

Each mutant gets one boot; one guest per processor runs at a time. The test that the series
names must find it. In a kernel without mutants, memx must find nothing.
"""

from swathe.base import parallel, ui
from swathe.base.verdicts import Test, Verdict
from swathe.check import broken, selftests
from swathe.check.broken import Finding
from swathe.guest import vm
from swathe.kernel import build, mutants
from swathe.kernel.version import Version

NONE = "none"
MEMX = "memx"
QUIET_MINUTES = 0.5


def command(way: str, by: str, seed: int) -> str:
    minutes = QUIET_MINUTES if way == NONE else broken.MINUTES
    return f"memx --seed {seed} --procs 2 --minutes {minutes}" if by == MEMX else by


def run(kernel: build.KernelRequest, seed: int, cpus: int) -> list[Test]:
    """Boot once for each mutant, and once without one."""
    built = build.build(kernel)
    programs = selftests.compile_tests(built)
    ui.note(f"testing mutants in Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(way: str, by: str) -> parallel.Task[Finding]:
        boot = "" if way == NONE else f"unmap.mutants={way}"
        broke = broken.Kernel(built, way, cpus, boot)
        work = broken.job(command(way, by, seed), programs)
        return parallel.Task(
            lambda stop: broken.attempt(broke, by, work, stop),
            memory=vm.BYTES,
        )

    meant = mutants.meant_for(mutants.load(), Version.parse(built.version), kernel.arch)
    ways = [(NONE, MEMX), *((mutant.name, mutant.found_by) for mutant in meant)]
    findings = parallel.run([task(*way) for way in ways], parallel.processors())
    title = f"Kernels broken on purpose (`./swathe test seeded`), seed {seed}"
    broken.record(built, cpus, "seeded", title, ("way", "found by"), findings)
    return [judge(finding) for finding in findings]


def judge(finding: Finding) -> Test:
    """A mutant must be found; in a correct kernel the program must run and find nothing."""
    good = finding.said == "nothing" if finding.way == NONE else finding.found
    verdict = Verdict.PASSED if good else Verdict.FAILED
    return Test(f"seeded {finding.way}", verdict, finding.said)
