// SPDX-License-Identifier: GPL-2.0-only
/* Another name: the hook has to be looked at. */
static void print_bad_entry(struct area *vma)
{
	report(vma);
}
