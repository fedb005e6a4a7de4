// SPDX-License-Identifier: GPL-2.0-only
/* It copies whatever there is. */
static int copy_pmd_range(struct area *dst, struct area *src, pud_t *dst_pud, pud_t *src_pud)
{
	dst_pmd = pmd_alloc(dst_mm, dst_pud, addr);
	return copy_pte_range(dst_pmd, src_pmd, addr, next);
}
