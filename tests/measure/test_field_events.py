# SPDX-License-Identifier: GPL-2.0-only
"""The processor's counters in swathe-field: on processors that are made up, see perf_fake.c."""

import errno
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from conftest import DATA

from swathe.base.paths import BUILD
from swathe.kernel import arch, field_program
from swathe.measure import field_blocks
from swathe.measure.field_blocks import COUNTS, EVENT_NAMES, EVENTS, TIMES, FieldBlock

PLACE = BUILD / "events"
CPUINFO, PMUS, PARANOID = PLACE / "cpuinfo", PLACE / "devices", PLACE / "paranoid"
SWITCH = PLACE / "unmap" / "enabled"
SMALL = ("--mib", "4", "--pairs", "2")
PAGES = 1024
ROOT = os.geteuid() == 0
# As perf numbers them.
CYCLES, INSTRUCTIONS, LLC_OF_INTEL = "0:0", "0:0x1", "0:0x3"
L1D, LLC, DTLB, DTLB_STORE = "3:0x10000", "3:0x10002", "3:0x10003", "3:0x10103"
AMD, INTEL = "4:0x964", "4:0x3f24"
NAMED = (CYCLES, INSTRUCTIONS, L1D, AMD, LLC, DTLB, DTLB_STORE)
ZEN = "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: AMD EPYC\n"
ICE_LAKE = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\nmodel name\t: Xeon\n"
HYBRID = ICE_LAKE.replace("106", "151")


@pytest.fixture(scope="module")
def program() -> Path:
    flags = (
        str(DATA / "perf_fake.c"), "-Wl,--wrap=syscall", f'-DCPUINFO="{CPUINFO}"',
        f'-DPMUS="{PMUS}/"', f'-DPARANOID="{PARANOID}"', f'-DUNMAP="{SWITCH.parent}/"',
    )  # fmt: skip
    return field_program.MEASURE.compile(arch.X86_64, flags)


@pytest.fixture(autouse=True)
def machine() -> Iterator[None]:
    for directory in (SWITCH.parent, PMUS):
        directory.mkdir(parents=True, exist_ok=True)
    CPUINFO.write_text(ZEN)
    PARANOID.write_text("2\n")
    yield
    SWITCH.unlink(missing_ok=True)


def figures(each: float, enabled: int = 1000, running: int = 1000) -> str:
    """What an event counts in a call, so that it happens so often a page."""
    return f"{each * PAGES * running / enabled:.0f}/{enabled}/{running}"


def run(
    program: Path, events: Mapping[str, str], *argv: str, error: int = errno.ENOENT,
    log: Path | None = None,
) -> tuple[FieldBlock, str]:  # fmt: skip
    words = "".join(f" {event}={said}" for event, said in events.items())
    env = {"PERF": words, "PERF_ERROR": str(error), "PERF_LOG": str(log or "/dev/null")}
    stock = () if SWITCH.exists() else ("--stock",)
    argv = (*SMALL, *stock, *(argv or ("--rows", "zap:4K")))
    done = subprocess.run(
        [program, *argv], capture_output=True, text=True, check=True, timeout=120, env=env
    )
    (block,) = field_blocks.of_text(done.stdout, "its output")
    return block, done.stderr


def counted(block: FieldBlock, row: str = "zap:4K") -> dict[str, float]:
    """What a row says of the only state."""
    values = block.tables[EVENTS].get(row, (None,) * 2 * len(EVENT_NAMES))
    return {
        name: one for name, one in zip(EVENT_NAMES, values[::2], strict=True) if one is not None
    }


def left_out(block: FieldBlock) -> list[str]:
    return [text for key, text in block.heads if key == "left out"]


def test_each_event_has_its_figure(program: Path) -> None:
    events = {event: figures(10 * (n + 1)) for n, event in enumerate(NAMED)}
    block, said = run(program, events)
    assert counted(block) == {name: 10 * (n + 1) for n, name in enumerate(EVENT_NAMES)}
    assert (left_out(block), block.scaled, "only nanoseconds" in said) == ([], frozenset(), False)
    assert dict(block.heads)["events"] == (
        "2 more calls in each state for each of: cycles, instructions; L1D load misses, L2 misses "
        "(raw 0x964), LLC load misses; dTLB load misses, dTLB store misses"
    )


def test_an_absent_event_has_no_figure(program: Path) -> None:
    block, _ = run(
        program, {event: figures(7) for event in NAMED if event not in (LLC, DTLB_STORE)}
    )
    assert counted(block).keys() == {*EVENT_NAMES} - {"llc", "dtlb_store"}
    assert left_out(block) == [
        "perf events LLC load misses; dTLB store misses: this machine or kernel has none"
    ]


def test_an_event_that_stands_still_has_no_figure(program: Path) -> None:
    """A virtual machine can offer a counter that counts nothing: 0 would be wrong."""
    still = {L1D: figures(0), DTLB: figures(7, running=0)}
    block, _ = run(program, {**{event: figures(7) for event in NAMED}, **still})
    assert counted(block).keys() == {*EVENT_NAMES} - {"l1d", "dtlb"}
    assert left_out(block)[0].startswith(
        "perf events L1D load misses; dTLB load misses: no call counted any"
    )


def test_a_scaled_event_is_marked(program: Path) -> None:
    events = {CYCLES: figures(300, running=250), INSTRUCTIONS: figures(200)}
    block, _ = run(program, events)
    assert counted(block) == {"cycles": 300, "instructions": 200}
    assert block.scaled == {("zap:4K", 0)}


@pytest.mark.parametrize(
    ("error", "level", "said"),
    [
        (errno.EACCES, "4", "" if ROOT else "sysctl kernel.perf_event_paranoid=1"),
        (errno.EPERM, "1", "CAP_PERFMON"),
        (errno.ENOSYS, "2", "this kernel has none"),
        (errno.ENOENT, "2", "this machine or kernel has none"),
        (errno.EOPNOTSUPP, "2", "this machine or kernel has none"),
    ],
)
def test_what_is_missing_is_one_sentence(program: Path, error: int, level: str, said: str) -> None:
    PARANOID.write_text(f"{level}\n")
    block, told = run(program, {}, error=error)
    (text,) = left_out(block)
    assert text.startswith("perf events: ") and said in text
    reason = text.removeprefix("perf events: ")
    note = f"swathe-field: only nanoseconds, no perf events: {reason}\n"
    assert told.count(note) == 1
    assert (counted(block), "events" in dict(block.heads)) == ({}, False)
    assert block.tables[TIMES].keys() == {"zap:4K"}


@pytest.mark.skipif(not ROOT, reason="only root may be somebody else")
def test_another_user_is_told_of_the_sysctl(program: Path, tmp_path: Path) -> None:
    PARANOID.write_text("4\n")
    env = {"PERF_ERROR": str(errno.EACCES)}
    PLACE.parent.chmod(0o755)
    done = subprocess.run(
        [program, *SMALL, "--stock", "--rows", "zap:4K"], capture_output=True, text=True,
        check=True, timeout=120, env=env, user=65534, group=65534, extra_groups=[],
    )  # fmt: skip
    assert "sysctl kernel.perf_event_paranoid=1 allows it to others (it is 4)" in done.stderr
    assert "perf_event_paranoid=1" in " ".join(done.stdout.replace("\n+ ", " ").split())


def opened(log: Path) -> dict[str, list[tuple[str, bool]]]:
    """The events that each process opened, and whether another one led."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for line in log.read_text().splitlines():
        pid, event, led = line.split()
        found.setdefault(pid, []).append((event, led == "1"))
    return found


def test_timed_calls_open_nothing(program: Path, tmp_path: Path) -> None:
    """Each set is counted in calls of its own; the first process only tries."""
    SWITCH.write_text("11\n")
    log = tmp_path / "log"
    pages = f"{7 * PAGES}/1/1"
    block, _ = run(program, dict.fromkeys(NAMED, pages), "--rows", "zap:4K,zap:exit-4K", log=log)
    first, *children = opened(log).values()
    assert first == [(event, False) for event in NAMED]
    sets = ((CYCLES, INSTRUCTIONS), (L1D, AMD, LLC), (DTLB, DTLB_STORE))
    grouped = [tuple((event, event != one[0]) for event in one) for one in sets]
    # Two rounds in two states; the kernel counts nothing at the end of a process.
    assert Counter(map(tuple, children)) == dict.fromkeys(grouped, 4)
    assert block.tables[EVENTS] == {"zap:4K": (7,) * 14}
    assert block.tables[COUNTS].keys() == {"zap:4K", "zap:exit-4K"}


def test_what_was_timed_stays_when_counting_fails(program: Path) -> None:
    events = {**dict.fromkeys(NAMED, figures(7)), AMD: "x4"}
    block, _ = run(program, events, "--rows", "zap:4K,multifault:1")
    assert block.tables[TIMES].keys() == {"zap:4K", "multifault:1"}
    assert counted(block) == {"cycles": 7, "instructions": 7}
    assert left_out(block) == [
        f"perf events in some calls of {row}: no memory" for row in ("zap:4K", "multifault:1")
    ]


def test_a_row_that_breaks_while_it_is_counted_has_failed(program: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run(program, {**dict.fromkeys(NAMED, figures(7)), AMD: "x1"})
    assert (failed.value.returncode, "failed: zap:4K: no memory" in failed.value.stdout) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("cpuinfo", "raw"),
    [(ZEN, AMD), (ICE_LAKE, INTEL), (HYBRID, ""), (ZEN.replace("25", "21"), ""), ("", "")],
    ids=["Zen", "Ice Lake", "hybrid", "Bulldozer", "nothing"],
)
def test_l2_misses_of_known_processors(program: Path, cpuinfo: str, raw: str) -> None:
    CPUINFO.write_text(cpuinfo)
    block, _ = run(program, dict.fromkeys((CYCLES, AMD, INTEL), figures(5)))
    assert counted(block).keys() == {"cycles", *(["l2"] if raw else [])}
    unknown = [text for text in left_out(block) if text.startswith("perf events L2 misses: which")]
    assert len(unknown) == (not raw)
    assert (f"(raw {raw.partition(':')[2]})" in dict(block.heads)["events"]) == bool(raw)


def test_l2_misses_that_the_kernel_names(program: Path) -> None:
    """As on arm64: the PMU's own number stands for the type."""
    CPUINFO.write_text("processor\t: 0\n")
    pmu = PMUS / "armv8_pmuv3_0"
    (pmu / "events").mkdir(parents=True)
    try:
        (pmu / "type").write_text("10\n")
        (pmu / "events" / "l2d_cache_refill").write_text("event=0x0017\n")
        block, _ = run(program, {CYCLES: figures(5), "10:0x17": figures(3)})
        assert counted(block) == {"cycles": 5, "l2": 3}
    finally:
        (pmu / "events" / "l2d_cache_refill").unlink()


@pytest.mark.parametrize(
    ("cpuinfo", "known"), [(ICE_LAKE, True), (ZEN, False)], ids=["Intel", "AMD"]
)
def test_cache_misses_are_llc_misses_on_intel_only(
    program: Path, cpuinfo: str, known: bool
) -> None:
    CPUINFO.write_text(cpuinfo)
    block, _ = run(program, dict.fromkeys((CYCLES, LLC_OF_INTEL), figures(5)))
    assert ("llc" in counted(block)) == known


def may_count() -> bool:
    level = Path("/proc/sys/kernel/perf_event_paranoid")
    return ROOT or (level.is_file() and int(level.read_text()) < 2)


@pytest.mark.skipif(not may_count(), reason="the kernel lets only root count")
def test_the_kernel_counts_the_call_alone(program: Path) -> None:
    """Page faults in place of cycles: one a page, of all threads, and none of the preparation."""
    faults = {CYCLES: "s2", INSTRUCTIONS: "s5", L1D: "s2"}
    rows = {"multifault:1", "multifault:sparse"} | ({"multifault:many"} if CPUS > 1 else set())
    block, _ = run(program, faults, "--rows", ",".join(sorted(rows)))
    assert block.tables[EVENTS].keys() == rows
    for row in rows:
        found = counted(block, row)
        assert found.keys() == {"cycles", "instructions", "l1d"}
        assert all(1 <= value < 1.1 for value in found.values()), (row, found)
    assert block.scaled == frozenset()


CPUS = len(os.sched_getaffinity(0))
