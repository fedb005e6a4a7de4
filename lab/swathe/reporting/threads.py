# SPDX-License-Identifier: GPL-2.0-only
"""The five threads, and which benches answer them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from swathe.measure.rows import MAIN_METRIC
from swathe.reporting import quotes
from swathe.reporting.blocks import Quote

METRICS = {
    "split_deferred": "Folios queued for deferred split",
    "per_round": "A round",
    "per_fault": "A page fault",
    "per_table": "A page table, allocated and left or freed",
    "vmpte_after": "Page tables afterwards (VmPTE)",
    "rss": "Memory after one touch in each 2 MiB (RSS)",
    "refill": "Filling all of it again",
    "repurge": "Purging it again",
}


@dataclass(frozen=True)
class Part:
    """One bench's place: which of its metrics are compared, and what is drawn.

    The call is what its instructions are counted of; groups are the cases, by how
    they begin, that make another call.
    """

    bench: str
    title: str
    call: str
    metrics: tuple[str, ...] = (MAIN_METRIC,)
    plotted: tuple[str, ...] = (MAIN_METRIC,)
    groups: Mapping[str, str] = field(default_factory=dict)
    by_folio: bool = False
    by_size: tuple[str, ...] = ()
    series: tuple[tuple[str, str], ...] = ()
    profiles: tuple[str, ...] = ()

    def what(self, metric: str) -> str:
        return self.call if metric == MAIN_METRIC else METRICS.get(metric, metric)


@dataclass(frozen=True)
class Thread:
    """The key row is the one that the summary shows: bench, case and metric."""

    key: str
    title: str
    short: str
    quote: Quote
    parts: tuple[Part, ...]
    key_rows: tuple[tuple[str, str, str], ...]


THREADS = (
    Thread(
        "S0", "Lazyfree folios, by folio size", "Lazyfree", quotes.LAZYFREE,
        (
            Part(
                "lazyfree", "Reclaim of MADV_FREE'd folios", "MADV_PAGEOUT",
                (MAIN_METRIC, "split_deferred"),
                by_folio=True, by_size=("64K",), profiles=("64K",),
            ),
        ),
        (("lazyfree", "64K", MAIN_METRIC),),
    ),
    Thread(
        "S1", "File-backed folios", "Mapped files", quotes.FILEMAP,
        (Part("filemap", "Reclaim of a mapped file", "Reclaim", profiles=("pageout",)),),
        (("filemap", "reclaim", MAIN_METRIC),),
    ),
    Thread(
        "S2", "Zap: munmap(), MADV_DONTNEED, exit", "Zap", quotes.ZAP,
        (
            Part(
                "zap", "Unmapping, by folio size", "munmap()",
                groups={
                    "dontneed-": "MADV_DONTNEED", "exit-": "exit",
                    "swapped-": "munmap() of memory in swap",
                    "sparse-": "munmap(), one page in 64 touched",
                },
                by_folio=True, by_size=("64K",), profiles=("4K", "64K"),
            ),
        ),
        (("zap", "4K", MAIN_METRIC), ("zap", "64K", MAIN_METRIC)),
    ),
    Thread(
        "S3", "Pageout rate, swap and migration", "Pageout, swap, migrate", quotes.RATE,
        (
            Part(
                "pageout_rate", "Rounds of MADV_PAGEOUT", "All rounds",
                ("per_round",), ("per_round",), profiles=("1x1",),
            ),
            Part(
                "swapout", "Anonymous folios to swap", "MADV_PAGEOUT to zram",
                by_folio=True, by_size=("64K",),
            ),
            Part("migrate", "Moving folios between nodes", "Migration", by_folio=True),
        ),
        (("pageout_rate", "1x1", "per_round"), ("swapout", "64K", MAIN_METRIC)),
    ),
    Thread(
        "S4", "Empty page tables", "Page tables", quotes.TABLES,
        (
            Part(
                "ptetables", "Page tables that stay behind", "Emptying the range",
                ("vmpte_after", MAIN_METRIC), ("vmpte_after",),
                series=(("dontneed-2M", "vmpte"),),
            ),
            Part(
                "multifault", "What a page fault pays", "All faults",
                ("per_fault", "per_table"), ("per_fault", "per_table"),
            ),
            Part(
                "thp_refault", "Huge pages where tables were", "Touching a page in each 2 MiB",
                ("rss", "vmpte_after", MAIN_METRIC, "refill", "repurge"), ("rss",),
            ),
        ),
        (("ptetables", "dontneed-2M", "vmpte_after"), ("multifault", "1", "per_fault")),
    ),
)  # fmt: skip


def unthreaded(bench: str) -> Part:
    """A bench that none of the threads is about."""
    return Part(bench, bench, "The measured call")


def known() -> set[str]:
    return {part.bench for thread in THREADS for part in thread.parts}
