// SPDX-License-Identifier: GPL-2.0-only
/* The PMD itself is passed. */
static void walk_pmd_range(pud_t *pud, unsigned long start, unsigned long end, struct walk *args)
{
	for (i = pmd_index(start), addr = start; addr != end; i++, addr = next) {
		pmd_t val = pmdp_get_lockless(pmd + i);

		next = pmd_addr_end(addr, end);
		if (!pmd_present(val))
			continue;
		walk_pte_range(pmd + i, addr, next, args);
	}
}
