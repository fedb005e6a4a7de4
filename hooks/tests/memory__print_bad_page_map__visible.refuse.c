// SPDX-License-Identifier: GPL-2.0-only
/* The function has another name. */
static void print_bad_entry(struct area *vma)
{
	report(vma);
}
