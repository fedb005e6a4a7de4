// SPDX-License-Identifier: GPL-2.0-only
/* The stretch below a PUD is zapped by another function. */
static unsigned long zap_pud_range(struct gather *tlb, struct area *vma, pud_t *pud,
				   unsigned long addr, unsigned long end)
{
	return zap_tables(tlb, vma, pud, addr, end);
}
