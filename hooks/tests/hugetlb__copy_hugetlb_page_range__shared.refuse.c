// SPDX-License-Identifier: GPL-2.0-only
/* It looks at the size itself. */
int copy_hugetlb_page_range(struct mm_struct *dst, struct mm_struct *src, struct area *area)
{
	to = huge_pte_alloc(dst, area, addr, size);
	if (!to) {
		err = -ENOMEM;
		return err;
	}
	if (ptdesc_pte_is_shared(to, size)) {
		addr |= last;
		return 0;
	}
	return err;
}
