// SPDX-License-Identifier: GPL-2.0-only
static inline unsigned long zap_pmd_range(struct gather *tlb, struct area *vma, pud_t *pud,
				unsigned long addr, unsigned long end, struct details *details)
{
	return end;
}

static inline unsigned long zap_pud_range(struct gather *tlb, struct area *vma, p4d_t *p4d,
				unsigned long addr, unsigned long end, struct details *details)
{
	pud_t *pud = pud_offset(p4d, addr);
	unsigned long next;

	do {
		next = pud_addr_end(addr, end);
		if (pud_none(*pud))
			continue;
		next = zap_pmd_range(tlb, vma, pud, addr, next, details);
	} while (pud++, addr = next, addr != end);

	return addr;
}

static unsigned long other(struct gather *tlb, struct area *vma, pud_t *pud)
{
	/* Only zap_pud_range() calls it for a whole PUD. */
	return zap_pmd_range(tlb, vma, pud, 0, 1, NULL);
}
