// SPDX-License-Identifier: GPL-2.0-only
/// Check that clearing an entry of an mm that goes away is a plain store on x86, and nothing else.
///
/// Target:   arch/x86/include/asm/pgtable.h, ptep_get_and_clear_full()
/// Why here: discard_clear_entries() calls it for an mm that lives on, because of this body; the
///           comment there says why that is safe.  Only a comment is added.
/// Missing:  a change of the body would go unnoticed.

@plain@
typedef pte_t;
identifier ptep, res;
@@
native_local_ptep_get_and_clear(pte_t *ptep)
{
	pte_t res = *ptep;
	native_pte_clear(NULL, 0, ptep);
	return res;
}

@depends on plain@
typedef pte_t;
identifier mm, addr, ptep, full, pte;
@@
ptep_get_and_clear_full(struct mm_struct *mm, unsigned long addr, pte_t *ptep, int full)
{
	pte_t pte;
	if (full) {
+		/* mm/unmap/discard/discard_run.h relies on these two lines. */
		pte = native_local_ptep_get_and_clear(ptep);
		page_table_check_pte_clear(...);
	} else {
		pte = ptep_get_and_clear(mm, addr, ptep);
	}
	return pte;
}
