// SPDX-License-Identifier: GPL-2.0-only
static inline void free_pmd_range(struct gather *tlb, pud_t *pud, unsigned long addr)
{
	pmd = pmd_offset(pud, addr);
	do {
		next = pmd_addr_end(addr, end);
		if (pmd_none_or_clear_bad(pmd))
			continue;
		free_pte_range(tlb, pmd, addr);
	} while (pmd++, addr = next, addr != end);
	pud_clear(pud);
}
