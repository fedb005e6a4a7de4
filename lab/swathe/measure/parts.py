# SPDX-License-Identifier: GPL-2.0-only
"""The parts of unmapping: which of them a profile's functions belong to.

An instruction belongs to the innermost function on its call path that is listed here, so that
helpers count where they are called. There are two exceptions: all walking below folio_referenced()
is part of looking, and everything below the functions that write pages is writing.
"""

import functools
from collections.abc import Iterable, Mapping

from swathe.measure.calltree import WRITE_ROOTS, Counts, Path, Region, plain

WALK, LOOK, CLEAR, FLUSH, RMAP, FREE = "walk", "look", "clear", "flush", "rmap", "free"
WRITING, ELSE = "writing", "everything else"
NAMES = (WALK, LOOK, CLEAR, FLUSH, RMAP, FREE, WRITING, ELSE)
ABOUT = {
    WALK: "from the folio to its entries, or over the tables",
    LOOK: "references, the length of runs, whether tables are empty",
    CLEAR: "entries cleared, with what is noted and left there",
    FLUSH: "TLB flushes, on all processors",
    RMAP: "reverse mapping and its statistics",
    FREE: "pages and page tables freed",
}
# Functions of stock 6.12 and 7.3 and of mm/unmap/; a * stands for any ending. A name without one
# goes before one with, and a longer beginning before a shorter one.
MEMBERS: Mapping[str, str] = {
    WALK: """
        rmap_walk* folio_lock_anon_vma_read anon_vma_interval_tree* vma_interval_tree* vma_address
        page_vma_mapped_walk try_to_unmap evict evict_find_pages evict_walk* unmap_page_range
        __zap_vma_range unmap_vmas unmap_single_vma zap_pmd_range unmap_zap_pmd_range
        discard_range discard_table discard_few list_from_vma list_walk
        batch_from_vma batch_back_walk batch_back_in_vma batch_lock_table
    """,
    LOOK: """
        folio_referenced folio_referenced_one folio_check_references lru_gen_look_around
        unmap_run_length run_alike run_ahead run_fours_alike run_exclusive_alike folio_pte_batch*
        folio_unmap_pte_batch unmap_table_look unmap_table_next_used table_any_used
        unmap_table_search table_proven_empty
        unmap_referenced* referenced unmap_reference* reference_* unmap_ahead_collect
        unmap_ahead_look unmap_ahead_may_go unmap_ahead_is_* unmap_ahead_needs_care
        unmap_ahead_suits unmap_ahead_wants_swap ahead_take
        list_may_go list_suits list_is_hot list_may_get_place list_prepare* list_take*
    """,
    CLEAR: """
        try_to_unmap_one unmap_evict* evict_* ahead_from_vma ahead_evict unmap_run_clear
        run_clear_many lazyfree_*
        unmap_lazyfree_leave swap_leave_entries swap_prepare swap_add_marks unmap_swap_leave
        zap_pte_range
        zap_present_* zap_nonpresent* discard_* ptep_get_and_clear* ptep_clear* clear_full_ptes
        unmap_ahead unmap_ahead_stretch ahead_* list_evict list_entry_found unmap_evict_*
        set_tlb_ubc_flush_pending native_set_pte vm_normal_page vm_normal_folio
    """,
    FLUSH: """
        ptep_clear_flush ptep_clear_flush_young flush_tlb_* native_flush_tlb_* try_to_unmap_flush*
        arch_tlbbatch_* tlb_flush_mmu* tlb_batch_flush* on_each_cpu* smp_call_function*
        generic_smp_call_function* sysvec_call_function* asm_sysvec_call_function* run_flush_range
        native_send_call_func* native_smp_send* do_flush_tlb* __flush_tlb* flush_context
        ahead_flush table_flush* unmap_table_flush inc_mm_tlb_gen broadcast_tlb_flush*
    """,
    RMAP: """
        folio_remove_rmap* __folio_remove_rmap* __folio_mod_stat discard_drop_rmap ahead_drop
        rmap_pay_debt rmap_remove_large discard_pay_debt discard_rmap* folio_remove_anon_rmap*
        __folio_add_rmap* munlock_*
    """,
    FREE: """
        free_unref_* __free_unref* free_frozen_* __free_frozen* free_pages* free_pcppages_bulk
        free_one_page __free_one_page free_tail_page_prepare free_swap_cache folios_put_refs*
        __folio_put __folio_batch_release __page_cache_release mem_cgroup_uncharge*
        __mem_cgroup_uncharge* uncharge_* tlb_batch_pages_flush __tlb_batch_free* tlb_finish_mmu
        ___pte_free_tlb tlb_remove_table* pte_free_defer unmap_batch_* table_free* table_unhook
        unmap_table_free* unmap_table_unhook unmap_table_gather unmap_table_try_unhook batch_*
        put_together put_one put_special leave_lru take_off_list begin_stretch lru_debt_*
    """,
}


def listed() -> dict[str, str]:
    """The part of each name."""
    return {name: part for part, text in MEMBERS.items() for name in text.split()}


@functools.cache
def part_of_function(function: str) -> str | None:
    """Return the part that a function is listed in."""
    of, name = listed(), plain(function)
    if name in of:
        return of[name]
    fitting = [one for one in of if one.endswith("*") and name.startswith(one[:-1])]
    return of[max(fitting, key=len)] if fitting else None


def part_of(path: Path) -> str:
    """Return the part that the last function of a call path belongs to there."""
    if any(plain(name) in WRITE_ROOTS for name in path):
        return WRITING
    found = [part for name in reversed(path) if (part := part_of_function(name))]
    if not found:
        return ELSE
    return LOOK if found[0] == WALK and LOOK in found else found[0]


def counts(region: Region) -> dict[str, Counts]:
    """Return each part's counts; their sum is the region's total."""
    found = dict.fromkeys(NAMES, Counts())
    for path, each in region.paths.items():
        found[part_of(path)] += each
    return found


def seen(regions: Iterable[dict[str, Counts]]) -> list[str]:
    """Return the parts that any of the regions has."""
    every = list(regions)
    return [name for name in NAMES if any(one[name] != Counts() for one in every)]
