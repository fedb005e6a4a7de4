// SPDX-License-Identifier: GPL-2.0-only
static unsigned long zap_pte_range(struct gather *tlb, unsigned long addr);

static inline unsigned long zap_pmd_range(struct gather *tlb, struct area *vma,
				unsigned long addr, unsigned long end)
{
	do {
		addr = zap_pte_range(tlb, addr);
	} while (addr != end);

	return addr;
}

static unsigned long caller(struct gather *tlb, struct area *vma)
{
	/* zap_pmd_range() keeps its name here. */
	return zap_pmd_range(tlb, vma, 0, 1);
}
