# SPDX-License-Identifier: GPL-2.0-only
"""Break the kernel on purpose, in one way after the other, and see that each is found.

The ways are those of mm/unmap/sabotage.c, one boot for each, as many side by side as
there are processors: booting keeps but one of a guest's busy. memx looks for them; those that
change no byte it knows of are looked for by a test that does (OTHERS). First of all memx must
find nothing in a kernel that is not broken.
"""

import re

from swathe.base import parallel, ui
from swathe.base.errors import CheckFailed
from swathe.base.paths import OVERLAY
from swathe.base.verdicts import Test, Verdict
from swathe.check import broken, selftests
from swathe.check.broken import Finding
from swathe.guest import vm
from swathe.kernel import build

SABOTAGE = OVERLAY / "mm/unmap/sabotage.c"
WAY = re.compile(r'^\t\[UNMAP_SABOTAGE_\w+\]\s*= "(\w+)",$', re.MULTILINE)
NONE = "none"
# What memx cannot see, why, and what does: a program, and which of its tests.
OTHERS = {
    # The memory stays, and stays right: only its size is wrong.
    "extra_ref": "putback",
    # What lies behind a table does not continue a run by chance.
    "table_end": broken.KUNIT,
    # Two pages of a run differ in it only after a fork that one of them was kept from.
    "exclusive": "swap -t exclusive",
    # No byte is lost, only room in swap.
    "swap_leak": "swap -t content",
    # Counters may be off by what CPUs hold back: it takes many rounds to tell.
    "statistics": "discard -t statistics",
    # Nobody fills a table again between the look at it and its end, but by chance.
    "table_full": "tables -t refilled",
    # This processor has no cache of upper levels: what is missing is the request to flush.
    "table_flush": "tables -t flushed",
    # Who is late by less than a grace period is seldom met; that there is one can be counted.
    "table_rcu": "tables -t deferred",
    # What comes is right, but more than was asked for.
    "table_mark": "tables_thp -t pieces_64K",
    # Whoever comes late must meet a table that goes: a race with that one thing in it.
    "table_late": "tables -t uffd_fills",
    "table_missed": "tables -t uffd_fills",
    # Shmem is written by faults, which mark the folio, too.
    "dirty": "discard -t dirty",
    # What goes of a mapped file comes back, and is right.
    "zap_bounds": "discard -t content",
    # No byte is wrong: pages only count as mapped.
    "zap_count": "discard -t twice",
    # Gathers are full where there is no memory for more.
    "zap_rest": "discard -t full_gather",
}
QUIET_MINUTES = 0.5


def ways() -> list[str]:
    """All ways there are, in their order."""
    found = WAY.findall(SABOTAGE.read_text())
    if not found:
        raise CheckFailed(f"{SABOTAGE} names no way to break the laws")
    return found


def finder(way: str) -> str:
    return OTHERS.get(way, "memx")


def command(way: str, seed: int) -> str:
    by = finder(way)
    minutes = QUIET_MINUTES if way == NONE else broken.MINUTES
    return f"memx --seed {seed} --procs 2 --minutes {minutes}" if by == "memx" else by


def run(kernel: build.KernelRequest, seed: int, cpus: int) -> list[Test]:
    """One boot for each way, and one for none."""
    built = build.build(kernel)
    programs = selftests.compile_tests(built)
    ui.note(f"breaking Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(way: str) -> parallel.Task[Finding]:
        boot = "" if way == NONE else f"unmap.sabotage={way}"
        broke = broken.Kernel(built, way, cpus, boot)
        work = broken.job(command(way, seed), programs)
        return parallel.Task(
            lambda stop: broken.attempt(broke, finder(way), work, stop),
            memory=vm.BYTES,
        )

    findings = parallel.run([task(way) for way in (NONE, *ways())], parallel.processors())
    title = f"Kernels broken on purpose (`./swathe test seeded`), seed {seed}"
    broken.record(built, cpus, "seeded", title, ("way", "found by"), findings)
    return [judge(finding) for finding in findings]


def judge(finding: Finding) -> Test:
    """Broken must be found; in a kernel that is not, nothing may be, by a program that ran."""
    good = finding.said == "nothing" if finding.way == NONE else finding.found
    verdict = Verdict.PASSED if good else Verdict.FAILED
    return Test(f"seeded {finding.way}", verdict, finding.said)
