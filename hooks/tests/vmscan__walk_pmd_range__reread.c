// SPDX-License-Identifier: GPL-2.0-only
static void walk_pmd_range(pud_t *pud, unsigned long start, unsigned long end, struct walk *args)
{
	pmd = pmd_offset(pud, start);
restart:
	for (i = pmd_index(start), addr = start; addr != end; i++, addr = next) {
		pmd_t val = pmdp_get_lockless(pmd + i);

		next = pmd_addr_end(addr, end);
		if (!pmd_present(val))
			continue;
		if (!walk_pte_range(&val, addr, next, args))
			continue;
		update(pmd + i);
	}
	if (more(args))
		goto restart;
}

static void walk_other(pmd_t *pmd, unsigned long start, unsigned long end, struct walk *args)
{
	pmd_t val = pmdp_get_lockless(pmd);

	walk_pte_range(&val, start, end, args);
}
