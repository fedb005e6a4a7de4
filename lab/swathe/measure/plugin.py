# SPDX-License-Identifier: GPL-2.0-only
"""What the clock does not see: atomics, TLB invalidations, IPIs and page tables, counted in QEMU.

The plugin of profiler/ writes one list of counts for each program that reported
what it measured. All CPUs and all processes are in it, from marker to marker.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from swathe.base.errors import CheckFailed
from swathe.base.paths import ROOT
from swathe.guest import vm
from swathe.guest.sections import Section
from swathe.kernel import compiler
from swathe.kernel.arch import Arch
from swathe.measure import rows

PROFILER = ROOT / "profiler"
PER_PAGE = ("atomics", "tlb_single", "tlb_full", "tlb_remote", "ipis")
TABLES = ("tables_allocated", "tables_freed")

Counts = dict[str, int]


def symbols(out: Path) -> str:
    """The functions of System.map, sorted, as the plugin reads them."""
    found = []
    for line in (out / "System.map").read_text().splitlines():
        address, kind, name = line.split()
        if kind in "tTwW":
            found.append(f"{address} {name}")
    return "\n".join(sorted(found)) + "\n"


def written(home: Path) -> Path:
    """Where the plugin writes what it counted."""
    return home / "counted"


def plugin(target: Arch) -> Path:
    """The plugin for the QEMU that runs this architecture."""
    return compiler.plugin(PROFILER, vm.plugin_api(vm.version(target.qemu)))


def option(home: Path, out: Path, target: Arch, mode: str = "count") -> tuple[str, ...]:
    """QEMU's option that loads the plugin, for the kernel built in out."""
    (home / "symbols").write_text(symbols(out))
    words = (plugin(target), f"mode={mode}", f"symbols={home / 'symbols'}", f"out={written(home)}")
    return "-plugin", ",".join([*map(str, words), f"arch={target.name}"])


def chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines of each marked stretch; an unfinished last one is left out."""
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
    return CheckFailed(f"the profiler wrote a line that is none of its own: {line!r}")


def parse(path: Path) -> list[Counts]:
    """The counts of each run that reported."""
    return [dict(map(count, chunk)) for chunk in chunks(path.read_text().splitlines())]


def count(line: str) -> tuple[str, int]:
    words = line.split()
    if len(words) != 2 or not words[1].isdigit():
        raise foreign(line)
    return words[0], int(words[1])


def reported(sections: Sequence[Section]) -> list[Section]:
    """The runs that have a marked stretch: those that measured something."""
    return [section for section in sections if section.status == 0]


def attach(sections: Sequence[Section], counted: Sequence[Counts]) -> list[Section]:
    """Each successful run with what was counted in it, as metrics of its own.

    A run that failed may have passed its stretch or not; it will be told of, not this.
    """
    if any(section.status not in (0, rows.SKIPPED) for section in sections):
        return list(sections)
    runs = len(reported(sections))
    if len(counted) != runs:
        raise CheckFailed(f"{len(counted)} marked stretches were seen in {runs} runs")
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


def pages_of(section: Section) -> int:
    """What the program said that its call handled."""
    for line in section.lines:
        if line.startswith("= pages "):
            return int(line.split()[2])
    raise CheckFailed(f"{' '.join(section.words)} printed no pages")
