# SPDX-License-Identifier: GPL-2.0-only
"""What the five threads on the mailing lists measured, in their own shape."""

from swathe.base.table import Cell, Column, Table
from swathe.reporting.blocks import Link, Quote


def table(caption: str, columns: str, *rows: str) -> Table:
    """A table from text, its cells parted by |."""
    heads = [head.strip() for head in columns.split("|")]
    return Table(
        caption,
        tuple(Column(head, numeric=index > 0) for index, head in enumerate(heads)),
        tuple(tuple(Cell(cell.strip()) for cell in row.split("|")) for row in rows),
    )


LAZYFREE = Quote(
    "Reclaims 128 MiB of `MADV_FREE`'d memory in folios of 64 KiB with `MADV_PAGEOUT`.",
    table(
        "64 KiB folios, sixteen runs without the patch and seventeen with it",
        " | without | with | change",
        "shortest, s | 0.170 | 0.071 | −58 %",
        "median, s | 0.172 | 0.072 | −58 %",
        "longest, s | 0.178 | 0.076 | −57 %",
        "split_deferred | 2048 | 0 |",
    ),
    "Barry Song, [PATCH v4 3/4] mm: Support batched unmap for lazyfree large folios during "
    "reclamation, 14 February 2025. Median and change are computed here from its list of times.",
    Link("the message", "https://lore.kernel.org/all/20250214093015.51024-4-21cnbao@gmail.com/"),
)

FILEMAP = Quote(
    "Maps 10 GiB of a clean file in a memory cgroup and reclaims 8 GiB of it by `memory.reclaim`.",
    table(
        "Arm64, 32 cores",
        " | without | with | change",
        "real, s | 1.018 | 0.249 | −76 %",
        "sys, s | 1.018 | 0.249 | −76 %",
    ),
    "Baolin Wang, [PATCH v5 5/5] mm: rmap: support batched unmapping for file large folios, "
    "26 December 2025. Its text says 75 % there, and 50 % and more on an x86 machine.",
)

ZAP = Quote(
    "Unmaps 1 GiB by `munmap()`, mapped by PTEs in folios of one size, on a Xeon Silver 4210R.",
    table(
        "Runtime of munmap() in seconds, standard deviation below 1 %",
        "Folio Size | mm-unstable | New | Change",
        "4KiB | 0.058110 | 0.057715 | −1 %",
        "16KiB | 0.044198 | 0.035469 | −20 %",
        "32KiB | 0.034216 | 0.023522 | −31 %",
        "64KiB | 0.029207 | 0.018434 | −37 %",
        "128KiB | 0.026579 | 0.014026 | −47 %",
        "256KiB | 0.025130 | 0.011756 | −53 %",
        "512KiB | 0.024292 | 0.010703 | −56 %",
        "1024KiB | 0.023812 | 0.010294 | −57 %",
        "2048KiB | 0.023785 | 0.009910 | −58 %",
    ),
    "David Hildenbrand, [PATCH v2 00/10] mm/memory: optimize unmap/zap with PTE-mapped THP, 2024. "
    "Linux 6.12 has that series: stock here is its New column.",
)

RATE = Quote(
    "96 processes read 2 MiB of a file each, on XFS, and give it to `MADV_PAGEOUT`, "
    "for one second, on IceLake with 96 threads.",
    table(
        "Rounds in a second, and shares of the profile with what each calls, in percent",
        " | without | with",
        "rounds | 58865 | 63247",
        "try_to_unmap_one | 18.26 | 9.87",
        "rmap removal | 10.71 | 1.18",
        "… its __mod_lruvec_page_state | 9.81 | 0.53",
        "ptep_clear_flush | 5.41 | 5.21",
        "… its native_flush_tlb_one_user | 3.56 | 3.17",
        "percpu_counter_add_batch | 0.75 | 0.82",
        "PageHeadHuge | 0.53 | 0.57",
    ),
    "Yin Fengwei, [PATCH v4 0/5] batched remove rmap in try_to_unmap_one(), March 2023. "
    "Rmap removal is page_remove_rmap without, and "
    "folio_remove_rmap_and_update_count with the series.",
)

TABLES = Quote(
    "Maps 50 GiB; over and over touches 2 MiB and gives them to `MADV_DONTNEED`. Then counts page "
    "faults of 1, 8 and 16 threads.",
    table(
        "Memory after the loop, and page faults in a minute",
        " | before | after | change",
        "VIRT | 50.0 GB | 50.0 GB |",
        "RES | 3.1 MB | 3.6 MB |",
        "VmPTE | 102640 kB | 248 kB |",
        "1 thread | 32,085,255 | 31,880,833 | −0.64 %",
        "8 threads | 101,674,967 | 100,588,311 | −1.17 %",
        "16 threads | 113,207,000 | 112,801,832 | −0.36 %",
    ),
    "Qi Zheng, [PATCH v3 00/15] Free user PTE page table pages, 10 November 2021.",
    Link(
        "the message",
        "https://lore.kernel.org/all/20211110105428.32458-1-zhengqi.arch@bytedance.com/",
    ),
)
