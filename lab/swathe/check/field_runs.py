# SPDX-License-Identifier: GPL-2.0-only
"""Test swathe-field in a guest: it must measure, put everything back, and say what is lacking.

The guest counts instructions, so that its nanoseconds are exact: reclaim of lazyfree memory
must show the change that the benches show.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from swathe.base import parallel, ui
from swathe.base.errors import SwatheError
from swathe.base.verdicts import Test, Verdict
from swathe.guest import initramfs, session, vm
from swathe.guest.clock import Clock
from swathe.guest.sections import Section
from swathe.kernel import build, field_program
from swathe.measure import field_blocks
from swathe.measure.field_blocks import (
    CHANGE,
    COUNTS,
    TIME_OFF,
    TIMES,
    VMPTE_OFF,
    VMPTE_ON,
    FieldBlock,
)

CPUS = 2
LIMIT = 600
PROGRAM = "swathe-field --mib 4 --dir /mnt"
THP = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled"
LACKS = 3
# Less than half, as in the benches: docs/numbers.md.
HALVED = "lazyfree:64K"
EMPTIED = "ptetables:dontneed-64K"
# Without the threads' preparation, which takes longer than what is measured.
TOGETHER, ALONE = "dontneed:many", "zap:dontneed-4K"

# The program is stopped while the switch is off, so that something must be put back.
STOPPED = f"""\
stopped() {{ # SIGNAL
	{PROGRAM} --pairs 900 --rows multifault:1 &
	until [ "$(cat $SWITCH)" = 0x0000 ]; do :; done
	kill -$1 $!
	wait $!
	echo "status $?"
	sleep 1
}}
state() {{
	echo "switch $(cat $SWITCH)"
	echo "thp $(cat {THP})"
	echo "files $(ls -A /mnt | wc -l)"
	echo "processes $(ps | grep -c '[s]wathe-field')"
}}
"""
# What each run must leave behind, and the state before the first run.
BEFORE = "before"
SETTLED = ("thp always inherit madvise [never]", "files 0", "processes 0")


def lines(seed: int) -> list[str]:
    """The guest's script; each run is followed by what it left behind."""
    run = f"{PROGRAM} --seed {seed}"
    reported: dict[str, str] = {
        "all": f"{run} --thp --pairs 1",
        "exact": f"{run} --thp --pairs 8 --rows {HALVED},{EMPTIED},{ALONE},{TOGETHER}",
        "term": "stopped TERM",
        "int": "stopped INT",
        "kill": "stopped KILL",
        "huge": f"{run} --mib 1000000",
        "user": f"su -s /bin/sh -c '{run} --pairs 1 --rows zap:4K,lazyfree:4K' nobody",
        "absent": run,
        "stock": f"{run} --stock --pairs 1 --rows zap:4K",
    }
    hide = "mount -t tmpfs none ${SWITCH%/*}"
    found = [
        STOPPED, "mkdir /etc", "echo nobody:x:99:99::/:/bin/sh >/etc/passwd",
        f"report {BEFORE} -- state",
    ]  # fmt: skip
    for name, command in reported.items():
        found += [hide] if name == "absent" else []
        found += [f"report {name} -- {command}", f"report left {name} -- state"]
    return found


def run(kernel: build.KernelRequest, seed: int) -> list[Test]:
    """Boot the kernel, and judge each run of the program in it."""
    built = build.build(kernel)
    program = field_program.MEASURE.compile(built.target)
    ui.note(f"swathe-field in Linux {built.version} ({kernel.flavor}), seed {seed}")

    def task(stop: threading.Event) -> list[Test]:
        machine = replace(
            vm.checking(built, CPUS, LIMIT, vm.TWO_NODES, clock=Clock.EXACT),
            cpu=built.target.short_strings,
        )
        heard = session.run(machine, job(program, seed), "field-measure", stop=stop).not_stopped()
        return judge({" ".join(section.words): section for section in heard.sections})

    return parallel.run([parallel.Task(task, memory=vm.BYTES)], parallel.processors())[0]


def job(program: Path, seed: int) -> initramfs.Job:
    return session.job(lines(seed), {"/bin/swathe-field": program})


@dataclass(frozen=True)
class Expected:
    """What a run must end with and say; complaint() looks at its block."""

    status: int
    said: str = ""
    complaint: Callable[[FieldBlock], str] | None = None


def measured(block: FieldBlock) -> str:
    """Everything was measured but what needs other hardware."""
    odd = [text for key, text in block.heads if key in ("left out", "failed")]
    odd = [text for text in odd if not text.startswith("perf event")]
    return odd[0] if odd else ""


def changed(block: FieldBlock) -> str:
    """The rows changed as they do in the benches."""
    change = block.value(TIMES, HALVED, CHANGE)
    kept, left = (block.value(COUNTS, EMPTIED, column) for column in (VMPTE_OFF, VMPTE_ON))
    if change is None or change > -50 or not block.beyond(HALVED):
        return f"{HALVED} changed by {change} %"
    if kept is None or left is None or kept < 2000 or left > 100:
        return f"{EMPTIED} left {kept} kB of tables off and {left} kB on"
    many, one = (block.value(TIMES, row, TIME_OFF) for row in (TOGETHER, ALONE))
    if many is None or one is None or many > 2 * one:
        return f"a page of {TOGETHER} took {many} ns, of {ALONE} {one} ns"
    return ""


EXPECTED = {
    "all": Expected(0, complaint=measured),
    "exact": Expected(0, complaint=changed),
    "term": Expected(0, "status 143"),
    "int": Expected(0, "status 130"),
    "kill": Expected(0, "status 137"),
    "huge": Expected(LACKS, "too little memory is free"),
    "user": Expected(0, "only root may change it"),
    "absent": Expected(LACKS, "this kernel has no Swathe"),
    "stock": Expected(0, "a kernel without Swathe"),
}


def judge(found: Mapping[str, Section]) -> list[Test]:
    before = found.get(BEFORE)
    return [
        verdict(name, wanted, found.get(name), leftovers(name, found.get(f"left {name}"), before))
        for name, wanted in EXPECTED.items()
    ]


def verdict(name: str, wanted: Expected, said: Section | None, left: str) -> Test:
    wrong = complaint(wanted, said) or left
    return Test(f"field measure-{name}", Verdict.FAILED if wrong else Verdict.PASSED, wrong)


def complaint(wanted: Expected, said: Section | None) -> str:
    if said is None or said.status is None:
        return "it did not run to its end"
    if said.status != wanted.status:
        return f"status {said.status}: {said.lines[-1] if said.lines else ''}"
    if wanted.said not in said.text.replace("\n+ ", " "):
        return f"it did not say: {wanted.said}"
    if not wanted.complaint:
        return ""
    try:
        return wanted.complaint(field_blocks.of_text(said.text, "its output")[0])
    except SwatheError as error:
        return str(error)


def leftovers(name: str, left: Section | None, before: Section | None) -> str:
    """What the run left behind; the switch is hidden in the last two."""
    if left is None or before is None:
        return "the guest ended"
    hidden = name in ("absent", "stock")
    switch = () if hidden else tuple(line for line in before.lines if line.startswith("switch "))
    missing = [line for line in (*switch, *SETTLED) if line not in left.lines]
    return f"not so afterwards: {missing[0]}" if missing else ""
