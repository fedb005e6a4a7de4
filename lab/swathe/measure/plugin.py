# SPDX-License-Identifier: GPL-2.0-only
"""Count atomics, TLB invalidations, IPIs and page tables with a QEMU plugin.

The plugin of profiler/ writes one list of counts for each marked region: everything that
all CPUs and processes did between a program's two markers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import filterfalse
from pathlib import Path

from swathe.base.errors import CheckFailed
from swathe.base.paths import ROOT
from swathe.guest import vm
from swathe.guest.sections import Section
from swathe.kernel import compiler
from swathe.kernel.arch import Arch
from swathe.measure import memory, rows

PROFILER = ROOT / "profiler"
PER_PAGE = ("atomics", "tlb_single", "tlb_full", "tlb_remote", "ipis")
TABLES = ("tables_allocated", "tables_freed")

Counts = dict[str, int]


def symbols(out: Path) -> str:
    """Return the functions of System.map, sorted, in the plugin's format."""
    found = []
    for line in (out / "System.map").read_text().splitlines():
        address, kind, name = line.split()
        if kind in "tTwW":
            found.append(f"{address} {name}")
    return "\n".join(sorted(found)) + "\n"


def written(home: Path) -> Path:
    """Return the file that the plugin writes its counts to."""
    return home / "counted"


def plugin(target: Arch) -> Path:
    """Compile the plugin for the QEMU of this architecture."""
    return compiler.plugin(PROFILER, vm.plugin_api(vm.version(target.qemu)))


def option(home: Path, out: Path, target: Arch, mode: str = "count") -> tuple[str, ...]:
    """Return QEMU's option that loads the plugin, for the kernel built in out.

    mode is a mode of the plugin: see modes.h, and memory_mode().
    """
    (home / "symbols").write_text(symbols(out))
    words = (plugin(target), f"mode={mode}", f"symbols={home / 'symbols'}", f"out={written(home)}")
    return "-plugin", ",".join([*map(str, words), f"arch={target.name}"])


def memory_mode(processor: memory.Processor) -> str:
    """Return the mode in which the plugin counts accesses to memory."""
    return f"memory,caches={processor.option()}"


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of each marked region; an unfinished last one is left out."""
    found: list[str] | None = None
    for line in lines:
        if line.startswith("region "):
            found = []
        elif line == "end" and found is not None:
            yield found
            found = None
        elif found is None:
            raise foreign(line)
        else:
            found.append(line)


def foreign(line: str) -> CheckFailed:
    return CheckFailed(f"the profiler's output has an unknown line: {line!r}")


def parse(path: Path) -> list[Counts]:
    """Parse the counts of each run that reported."""
    found = chunks(path.read_text().splitlines())
    return [dict(map(count, filterfalse(memory.is_function, chunk))) for chunk in found]


def count(line: str) -> tuple[str, int]:
    words = line.split()
    if len(words) != 2 or not words[1].isdigit():
        raise foreign(line)
    return words[0], int(words[1])


def reported(sections: Sequence[Section]) -> list[Section]:
    """Return the runs that have a marked region."""
    return [section for section in sections if section.status == 0]


def attach(sections: Sequence[Section], counted: Sequence[Counts]) -> list[Section]:
    """Add its counts to each successful run, as metrics.

    If a run failed, it may or may not have a region: nothing is added, because the caller
    reports that failure.
    """
    if any(section.status not in (0, rows.SKIPPED) for section in sections):
        return list(sections)
    runs = len(reported(sections))
    if len(counted) != runs:
        raise CheckFailed(f"the plugin saw {len(counted)} marked regions in {runs} runs")
    each = iter(counted)
    return [
        replace(section, counted=tuple(metrics(section, next(each))))
        if section.status == 0
        else section
        for section in sections
    ]


def metrics(section: Section, counts: Counts) -> Iterator[tuple[str, float, str]]:
    pages = pages_of(section)
    for name in PER_PAGE:
        yield name, counts[name] / pages, "per page"
    for name in TABLES:
        yield name, counts[name], "tables"
    yield from memory.metrics(counts, pages)


def pages_of(section: Section) -> int:
    """Return the number of pages that the program reports for its call."""
    for line in section.lines:
        if line.startswith("= pages "):
            return int(line.split()[2])
    raise CheckFailed(f"{' '.join(section.words)} printed no number of pages")
