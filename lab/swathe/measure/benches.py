# SPDX-License-Identifier: GPL-2.0-only
"""The table of benches: their cases, what they need, and what their figures exclude."""

import itertools
import re
import textwrap
from dataclasses import dataclass

from swathe.base.errors import UsageError
from swathe.guest import vm

ALWAYS_EXCLUDED = "idle time, wall time"
# A case that its program draws.
DRAWN = re.compile(r"\d+-\d+")


@dataclass(frozen=True)
class Bench:
    """A program of workloads/, which is called once for each case.

    The further cases run only when they are named or with --full.
    """

    name: str
    summary: str
    cases: tuple[str, ...]
    excludes: str
    further: tuple[str, ...] = ()
    memory: str = "4G"
    disk: str = "2G"
    full_memory: str = "4G"
    full_disk: str = "2G"
    clears: bool = False  # the measured call clears or copies pages
    own_time: bool = False  # count its processes' instructions, not all between the markers
    boot: str = ""  # additional kernel parameters
    cpus: int = 1  # least number of processors
    sized: bool = False  # accepts --mib
    seconds: float = 1  # approximate duration of one run of a case: long benches start first
    guests: int = 1  # maximum number of guests to distribute its cases over
    packages: tuple[str, ...] = ()  # additional Debian packages; if any, it runs only when named
    drawn: bool = False  # its cases are SEED-NUMBER; it runs only when named, once in each config

    @property
    def known(self) -> tuple[str, ...]:
        """All cases, in the order of the tables."""
        return self.cases + self.further

    @property
    def usual(self) -> bool:
        """Whether it runs when no bench is named."""
        return not self.packages and not self.drawn

    def has(self, case: str) -> bool:
        return case in self.known or (self.drawn and bool(DRAWN.fullmatch(case)))

    def groups(self, cases: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The cases of each boot."""
        parts = min(self.guests, len(cases))
        return [cases[part::parts] for part in range(parts)]


MOVED = (
    "4K", "4K-shuffled", "64K", "64K-shared", "64K-straddled", "1024K", "2048K", "file",
)  # fmt: skip
# What a run without names measures of dirtyflush: each way in which its cases can differ, once.
WRITTEN = (
    "4x4K", "4x64K", "4x4K-shmem", "4x4K-reclaim", "4x4K-reclaim-four", "4x4K-reclaim-shuffled",
)  # fmt: skip


def written_cases() -> tuple[str, ...]:
    """Return all other cases of dirtyflush: processors, folio size, memory, call and order."""
    every = itertools.product(
        (2, 4, 8), ("4K", "64K"), ("", "-shmem"), ("", "-reclaim"), ("", "-four", "-shuffled")
    )
    names = (f"{cpus}x{''.join(words)}" for cpus, *words in every)
    return tuple(name for name in names if name not in WRITTEN)


BENCHES = (
    Bench(
        "lazyfree",
        "MADV_PAGEOUT of 128 MiB of MADV_FREE'd folios, by folio size",
        ("4K", "64K", "1024K", "4K-shuffled", "1024K-alternate"),
        "allocating and clearing the pages, MADV_FREE itself",
        sized=True,
        seconds=1,
    ),
    Bench(
        "filemap",
        "reclaim of a mapped file on XFS in large folios, and in single pages",
        ("pageout", "single", "reclaim", "reclaim-4K"),
        "reading the file, faulting its pages in",
        memory="4G",
        disk="2G",
        full_memory="14G",
        full_disk="16G",
        sized=True,
        seconds=6,
    ),
    Bench(
        "zap",
        "munmap(), MADV_DONTNEED and exit, 256 MiB of folios mapped by PTEs, by folio size",
        (
            *(f"{1 << n}K" for n in (2, *range(4, 12))),
            "dontneed-4K",
            "dontneed-64K",
            "dontneed-2048K",
            "exit-4K",
            "exit-64K",
            "exit-2048K",
            "swapped-4K",
            "swapped-64K",
            "sparse-4K",
            "written-4K",
        ),
        "allocating and clearing the pages; exit includes waking and reaping the child",
        sized=True,
        guests=2,
        seconds=2,
    ),
    Bench(
        "swapout",
        "MADV_PAGEOUT of 128 MiB of anonymous folios to zram (zeroes, random) or XFS, by size",
        ("4K", "16K", "64K", "1024K", "4K-random", "64K-random", "4K-xfs", "64K-xfs"),
        "allocating and filling the pages, swapping them in again",
        sized=True,
        seconds=2,
    ),
    Bench(
        "dirtyflush",
        "reclaim of 32 MiB of written pages while threads of the process run on 2, 4 or 8 of "
        "8 processors: flush IPIs a page; instructions are those of all processors",
        WRITTEN,
        "faulting the pages in, swapping them in again",
        further=written_cases(),
        sized=True,
        seconds=4,
        cpus=8,
        guests=2,
    ),
    Bench(
        "pageout_rate",
        "a round of reading 2 MiB of a file on XFS and MADV_PAGEOUT, processes x files",
        ("1x1", "4x4"),
        "waiting for the disk; faulting and reading are included",
        own_time=True,
        seconds=1,
    ),
    Bench(
        "ptetables",
        "page tables that remain after all their pages were unmapped",
        (
            "dontneed-2M",
            "dontneed-64K",
            "dontneed-unaligned",
            "lazyfree",
            "punch-hole",
            "truncate",
            "dontunmap",
            "uffd-move",
            "file-pageout",
            "fork-exit",
        ),
        "touching the pages, except in dontneed-2M",
        clears=True,
        seconds=1,
    ),
    Bench(
        "sharedtables",
        "memory.high falls below what processes use that map the same memory, or file: "
        "page tables of those that sleep, and of those that go on",
        ("shmem", "shmem-64K", "file"),
        "mapping and touching the memory, waking up and reading all of it afterwards",
        full_memory="14G",
        seconds=20,
        guests=2,
    ),
    Bench(
        "largefile",
        "a file larger than its memory that a process maps and reads: page tables, over time",
        ("in-order", "at-random"),
        "making and mapping the file, waiting",
        own_time=True,
        seconds=20,
    ),
    Bench(
        "multifault",
        "page faults: by 1 and 8 threads, with a zapping thread, one fault per 2 MiB",
        ("1", "8", "zapped", "sparse", "sparse-kept"),
        "making threads; clearing pages is included",
        clears=True,
        seconds=3,
    ),
    Bench(
        "thp_refault",
        "128 MiB purged in pieces and faulted in again as huge pages, by size of the pieces",
        (
            "4K",
            "64K",
            "2M",
            "unaligned",
            "shmem",
            "whole",
            "mixed",
            "64K-never",
            "64K-madvise",
            "64K-huge",
            "64K-pressure",
        ),
        "the first filling and purging, reading RSS",
        clears=True,
        sized=True,
        guests=2,
        seconds=2,
    ),
    Bench(
        "migrate",
        "move_pages() of 128 MiB to another memory node and back, by folio size",
        MOVED,
        "allocating and filling the pages; copying them is included",
        clears=True,
        sized=True,
        seconds=5,
        boot=vm.TWO_NODES,
    ),
    Bench(
        "movewait",
        "a thread on another processor reads pages at random, which move meanwhile: how long it "
        "waits; instructions are those of the thread that moves them",
        ("move_pages", "compact"),
        "allocating and filling the pages",
        cpus=2,
        own_time=True,
        guests=2,
        seconds=20,
        boot=vm.TWO_NODES,
    ),
    Bench(
        "split",
        "MADV_COLD of one page in each folio of 128 MiB, which splits it; figures per folio",
        ("64K", "64K-zero", "1024K", "2048K", "2048K-zero"),
        "allocating and filling the pages, reading them afterwards",
        sized=True,
        seconds=2,
    ),
    Bench(
        "compact",
        "compaction of a memory node, and a page of 1 GiB in it, where every fourth folio is "
        "left; figures per 2 MiB won",
        ("64K", "64K-contig"),
        "filling the node, giving back three of four folios",
        further=("4K", "4K-contig"),
        memory="6G",
        full_memory="6G",
        seconds=60,
        guests=2,
        boot=vm.TWO_NODES,
    ),
    Bench(
        "allocators",
        "heaps of jemalloc and Go programs, 170 MiB, freed and given back to the kernel",
        ("jemalloc", "jemalloc-live", "go", "go-live"),
        "filling and freeing the heap, other processes; Go's garbage collection is included",
        own_time=True,
        guests=2,
        seconds=4,
        packages=("libjemalloc-dev", "golang-go"),
    ),
    Bench(
        "search",
        "random programs that touch memory and give it back: which of them get dearer",
        (),
        "the first four rounds of each",
        seconds=1,
        guests=4,
        drawn=True,
    ),
)


@dataclass(frozen=True)
class Choice:
    """A bench and the requested cases of it."""

    bench: Bench
    cases: tuple[str, ...]

    def sized(self, mibs: tuple[int, ...]) -> "Choice":
        """Return a choice with every case at every size, named CASE@SIZEM."""
        if mibs and not self.bench.sized:
            sized = ", ".join(bench.name for bench in BENCHES if bench.sized)
            raise UsageError(
                f"bench {self.bench.name} takes no --mib: the benches that do are {sized}"
            )
        if not mibs:
            return self
        return Choice(self.bench, tuple(f"{case}@{n}M" for case in self.cases for n in mibs))


def arguments(case: str) -> str:
    """Return the arguments of a bench's program for a case."""
    name, _, size = case.partition("@")
    return f"{name} --mib {size.removesuffix('M')}" if size else name


def mib(case: str) -> int:
    """Return the MiB in a case's name, or 0."""
    size = case.partition("@")[2]
    return int(size.removesuffix("M")) if size else 0


def in_order(bench: Bench, cases: list[str]) -> tuple[str, ...]:
    """The cases in the order of the table, each once."""
    if bench.drawn:
        return tuple(dict.fromkeys(cases))
    return tuple(case for case in bench.known if case in cases)


def listing() -> str:
    """Return the list of all benches and cases for the help text."""
    return "\n".join(map(described, BENCHES))


def described(bench: Bench) -> str:
    """Return a bench's summary and its cases."""
    indent = " " * 15
    said = [" ".join(bench.cases) or "SEED-NUMBER, or drawn from --seed: only when named"]
    if bench.further:
        said.append(f"with --full or named: {' '.join(bench.further)}")
    if bench.packages:
        said.append(f"only when named: needs {' '.join(bench.packages)}")
    lines = (
        textwrap.fill(
            text, 80, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
        )
        for text in said
    )
    return "\n".join((f"  {bench.name:12} {bench.summary}", *lines))


def choose(names: list[str], full: bool = False) -> list[Choice]:
    """Return the choices that NAME and NAME:CASE arguments mean, in the table's order.

    Without arguments these are all benches that need no additional packages. A bench's further
    cases are chosen by their names, or by full.
    """
    wanted: dict[str, list[str]] = {}
    known = {bench.name: bench for bench in BENCHES}
    for name in names or [bench.name for bench in BENCHES if bench.usual]:
        head, _, case = name.partition(":")
        if head not in known:
            raise UsageError(f"there is no bench {head!r}; the benches are: {', '.join(known)}")
        bench = known[head]
        if case and not bench.has(case):
            cases = "SEED-NUMBER" if bench.drawn else ", ".join(bench.known)
            raise UsageError(f"bench {head} has no case {case!r}; its cases are: {cases}")
        usual = bench.known if full else bench.cases
        wanted.setdefault(head, []).extend([case] if case else usual)
    return [
        Choice(bench, in_order(bench, wanted[bench.name]))
        for bench in BENCHES
        if bench.name in wanted
    ]
