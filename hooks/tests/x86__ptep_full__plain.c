// SPDX-License-Identifier: GPL-2.0-only
static inline pte_t native_local_ptep_get_and_clear(pte_t *entry)
{
	pte_t old = *entry;

	/* No lock is needed. */
	native_pte_clear(NULL, 0, entry);
	return old;
}

static inline pte_t ptep_get_and_clear_full(struct mm_struct *mm, unsigned long addr,
					    pte_t *entry, int all)
{
	pte_t old;
	if (all) {
		old = native_local_ptep_get_and_clear(entry);
		page_table_check_pte_clear(mm, addr, old);
	} else {
		old = ptep_get_and_clear(mm, addr, entry);
	}
	return old;
}
