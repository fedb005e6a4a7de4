// SPDX-License-Identifier: GPL-2.0-only
/* The accessed bit of a PMD that holds a table is left alone. */
static void walk_pmd_range_locked(pud_t *pud, unsigned long addr, struct vm *area, struct walk *args)
{
	pmd = pmd_offset(pud, addr);
	for (i = 0; i < NR; i++) {
		if (!pmd_trans_huge(pmd[i])) {
			if (!args->all)
				count(args);
			goto next;
		}
		walk(args);
next:
		addr += SIZE;
	}
}
