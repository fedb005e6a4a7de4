// SPDX-License-Identifier: GPL-2.0-only
static int one(struct gather *tlb)
{
	return tlb->full;
}

static unsigned long zap_pte_range(struct gather *tlb, struct area *vma,
				unsigned long addr, unsigned long end)
{
	do {
		if (one(tlb))
			break;
	} while (addr += SIZE, addr != end);

	return addr;
}

static unsigned long caller(struct gather *tlb, struct area *vma)
{
	/* zap_pte_range() keeps its name here. */
	return zap_pte_range(tlb, vma, 0, 1);
}
