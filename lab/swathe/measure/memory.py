# SPDX-License-Identifier: GPL-2.0-only
"""Loads, stores, lines and cache misses of a bench's measured call, from the plugin's model.

profiler/memory.c says what the model is. What a count is of follows its name: lines.page are the
distinct lines of struct pages.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from msgspec import Struct

from swathe.base import reading
from swathe.base.errors import CheckFailed

FILE = Path(__file__).with_name("processors.toml")
PREFIX = "memory."
DEFAULT = "xeon-4210r"
# What profiler/areas.h calls them, and what is in them.
AREAS = {
    "page": "struct pages",
    "table": "page tables",
    "percpu": "per-CPU data",
    "heap": "slabs",
    "image": "the kernel's image",
    "stack": "stacks",
    "user": "content of pages",
}
LEVELS = {"l1": "L1", "l2": "L2", "llc": "last level", "dtlb": "first TLB", "stlb": "second TLB"}
KINDS = ("loads", "stores", "lines", "written", *LEVELS)
# Those of which each area's share is told.
SHARED_OUT = ("lines", "l2")
# What reports show, and records keep.
SHOWN = tuple(f"{PREFIX}{kind}" for kind in (*KINDS, "lines.page", "lines.table"))
LINE = 64


class Cache(Struct, frozen=True, forbid_unknown_fields=True):
    """A cache, or a TLB, whose size is in entries."""

    ways: int
    kib: int = 0
    entries: int = 0

    def __str__(self) -> str:
        return f"{self.entries or self.kib * 1024 // LINE}/{self.ways}"


class Processor(Struct, frozen=True, forbid_unknown_fields=True):
    """A processor of processors.toml."""

    name: str
    title: str
    l1: Cache
    l2: Cache
    llc: Cache
    dtlb: Cache
    stlb: Cache
    source: str

    def option(self) -> str:
        """Return the plugin's word for its caches."""
        return ":".join(str(getattr(self, level)) for level in LEVELS)


class ProcessorFile(Struct, frozen=True, forbid_unknown_fields=True):
    processor: tuple[Processor, ...]


@dataclass(frozen=True)
class Uses:
    """What one function did, without its callees."""

    loads: int = 0
    stores: int = 0
    l1: int = 0
    l2: int = 0
    llc: int = 0
    dtlb: int = 0
    stlb: int = 0


@functools.cache
def processors() -> dict[str, Processor]:
    """Return the processors of processors.toml by name."""
    found = reading.convert(reading.toml(FILE.read_text(), FILE.name), ProcessorFile, FILE.name)
    return {each.name: each for each in found.processor}


def is_function(line: str) -> bool:
    """Whether a line of the plugin is about a function, not about the whole."""
    return line.startswith("@")


def functions(lines: Iterable[str]) -> dict[str, Uses]:
    """Return what each function did in a marked region; functions of one name together."""
    found: dict[str, Uses] = {}
    for line in filter(is_function, lines):
        name, *numbers = line.removeprefix("@").split()
        if len(numbers) != len(fields(Uses)):
            raise CheckFailed(f"the profiler's output has an unknown line: {line!r}")
        found[name] = plus(found.get(name, Uses()), Uses(*map(int, numbers)))
    return found


def plus(one: Uses, other: Uses) -> Uses:
    return Uses(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(Uses)))


def metrics(counts: Mapping[str, int], pages: float) -> Iterator[tuple[str, float, str]]:
    """Yield a region's counts per page: the sum of each kind, and what each area has of some."""
    for kind in KINDS:
        of = {area: counts[f"{kind}.{area}"] for area in AREAS if f"{kind}.{area}" in counts}
        if not of:
            continue
        yield f"{PREFIX}{kind}", sum(of.values()) / pages, "per page"
        for area, count in of.items() if kind in SHARED_OUT else ():
            yield f"{PREFIX}{kind}.{area}", count / pages, "per page"
