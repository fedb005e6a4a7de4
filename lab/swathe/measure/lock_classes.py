# SPDX-License-Identifier: GPL-2.0-only
"""What lock it is: its class, by the functions that initialise and take it.

The functions that take locks of one class alone are listed here. What they say holds for their
lock, whoever else takes it. A lock of which they say nothing, or two things, has no class: it is
shown under the name of each function that takes it.
"""

import functools
from collections.abc import Iterable, Mapping

from swathe.measure.calltree import plain

PTE, PMD, RMAP, I_MMAP, MMAP, VMA = "pte", "pmd", "rmap", "i_mmap", "mmap", "vma"
LRUVEC, CLUSTER, SWAP, CACHE, ZONE, PCP, OURS = (
    "lruvec", "cluster", "swap", "cache", "zone", "pcp", "ours",
)  # fmt: skip
ABOUT = {
    PTE: "page table",
    PMD: "table of page tables",
    RMAP: "anon_vma",
    I_MMAP: "a file's mappings",
    MMAP: "mmap_lock",
    VMA: "one VMA",
    LRUVEC: "LRU lists",
    CLUSTER: "swap cluster",
    SWAP: "swap device, its cgroups",
    CACHE: "page or swap cache, inode",
    ZONE: "buddy allocator",
    PCP: "per-CPU page lists",
    OURS: "only mm/unmap's",
}
NAMES = tuple(ABOUT)
# Functions of stock 6.12 and 7.3 and of mm/unmap/; a * stands for any ending. A name without one
# goes before one with, and a longer beginning before a shorter one.
INITIALISERS: Mapping[str, str] = {
    PTE: "pte_alloc_one*",
    PMD: "__pmd_alloc pmd_alloc_one*",
}
TAKERS: Mapping[str, str] = {
    PTE: "__pte_offset_map_lock pte_offset_map_lock",
    PMD: "__pmd_trans_huge_lock zap_huge_pmd change_huge_pmd move_huge_pmd",
    RMAP: """
        folio_lock_anon_vma_read rmap_walk_anon unlink_anon_vmas anon_vma_clone anon_vma_fork
        __anon_vma_prepare __put_anon_vma
    """,
    I_MMAP: """
        rmap_walk_file __rmap_walk_file unmap_mapping_pages unmap_mapping_folio unlink_file_vma*
        vma_link_file
    """,
    MMAP: """
        do_madvise madvise_lock* __vm_munmap vm_mmap_pgoff vm_brk_flags lock_mm_and_find_vma
        mmap_read_lock* mmap_write_lock* __x64_sys_move_pages do_mprotect_pkey
        __gup_longterm_locked get_user_pages_*
    """,
    VMA: "lock_vma_under_rcu vms_gather_munmap_vmas __vma_start_write",
    LRUVEC: """
        folio_lruvec_lock* lruvec_lock* shrink_active_list move_folios_to_lru lru_note_cost
        shrink_inactive_list evict_folios
    """,
    CLUSTER: """
        lock_cluster_or_swap_info __swap_duplicate put_swap_folio folio_free_swap swap_swapcount
        alloc_swap_scan_cluster cluster_swap_free_nr free_swap_and_cache_nr swap_cluster_lock*
        swp_swapcount __try_to_reclaim_swap swap_free_nr swap_put_entries*
    """,
    SWAP: """
        get_swap_pages swap_cgroup_record swap_cgroup_cmpxchg swap_range_alloc swap_range_free
        has_usable_swap free_swap_slot drain_slots_cache_cpu swapcache_free_entries
        swap_entry_range_free
    """,
    CACHE: """
        __remove_mapping add_to_swap_cache delete_from_swap_cache swap_cache_* __filemap_add_folio
        filemap_remove_folio delete_from_page_cache_batch __folio_mark_dirty
        __folio_start_writeback __folio_end_writeback clear_shadow_from_swap_cache
        shmem_add_to_page_cache
    """,
    ZONE: """
        free_one_page free_pcppages_bulk rmqueue_bulk __rmqueue_pcplist rmqueue_buddy
    """,
    PCP: """
        free_unref_page free_unref_folios free_frozen_pages* drain_pages_zone drain_zone_pages
        decay_pcp_high rmqueue_pcplist
    """,
}
# These may take any lock, so that their names say something only of one with no other takers.
ALONE: Mapping[str, str] = {OURS: "unmap_*"}


def listed(function: str, members: Mapping[str, str]) -> str | None:
    """The class that a table has the function in."""
    of = {name: lock for lock, text in members.items() for name in text.split()}
    name = plain(function)
    if name in of:
        return of[name]
    fitting = [one for one in of if one.endswith("*") and name.startswith(one[:-1])]
    return of[max(fitting, key=len)] if fitting else None


@functools.cache
def by_initialiser(function: str) -> str | None:
    return listed(function, INITIALISERS)


@functools.cache
def by_taker(function: str) -> str | None:
    return listed(function, TAKERS)


def alone(takers: Iterable[str]) -> str | None:
    """The class of a lock that no others take."""
    found = {listed(taker, ALONE) for taker in takers}
    return found.pop() if len(found) == 1 else None


def class_of(initialiser: str, taker: str, takers: Iterable[str]) -> str | None:
    """The class of a lock with these takers, when one of them takes it.

    The memory of a lock may have been another's before: its takers can disagree.
    """
    takers = list(takers)
    if known := by_initialiser(initialiser) or by_taker(taker):
        return known
    said = {found for one in takers if (found := by_taker(one))}
    return said.pop() if len(said) == 1 else alone(takers)
