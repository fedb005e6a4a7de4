// SPDX-License-Identifier: GPL-2.0-only
static void print_bad_page_map(struct area *vma, unsigned long addr, entry_t pte)
{
	report(vma, addr, pte);
}

static void stays_static(struct area *vma)
{
	print_bad_page_map(vma, 0, none);
}
