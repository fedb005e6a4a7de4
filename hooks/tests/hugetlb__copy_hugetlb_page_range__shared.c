// SPDX-License-Identifier: GPL-2.0-only
int copy_hugetlb_page_range(struct mm_struct *dst, struct mm_struct *src, struct area *area)
{
	unsigned long size = size_of(area);
	int err = 0;

	for (addr = area->start; addr < area->end; addr += size) {
		from = hugetlb_walk(area, addr, size);
		to = huge_pte_alloc(dst, area, addr, size);
		if (!to) {
			err = -ENOMEM;
			break;
		}

#ifdef CONFIG_HUGETLB_PMD_PAGE_TABLE_SHARING
		/* Shared. */
		if (ptdesc_pmd_is_shared(virt_to_ptdesc(to))) {
			addr |= last;
			continue;
		}
#endif
		copy(to, from);
	}
	return err;
}

static int other(void)
{
	to = huge_pte_alloc(dst, area, addr, size);
	if (!to) {
		err = -ENOMEM;
		return err;
	}
	if (ptdesc_pmd_is_shared(virt_to_ptdesc(to))) {
		addr |= last;
		return 0;
	}
	return 1;
}
