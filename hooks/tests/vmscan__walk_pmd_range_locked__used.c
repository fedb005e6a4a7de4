// SPDX-License-Identifier: GPL-2.0-only
static void walk_pmd_range_locked(pud_t *pud, unsigned long addr, struct vm *area, struct walk *args)
{
	pmd = pmd_offset(pud, addr);
	for (i = 0; i < NR; i++) {
		if (!pmd_trans_huge(pmd[i])) {
			if (!args->all && clears())
				pmdp_test_and_clear_young(area, addr, pmd + i);
			goto next;
		}
		if (!pmdp_test_and_clear_young(area, addr, pmd + i))
			goto next;
		walk(args);
next:
		addr += SIZE;
	}
}

static void walk_other(pmd_t *pmd, unsigned long addr, struct vm *area)
{
	if (!pmd_trans_huge(*pmd)) {
		if (clears())
			pmdp_test_and_clear_young(area, addr, pmd);
		goto next;
	}
next:
	done();
}
