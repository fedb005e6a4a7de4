// SPDX-License-Identifier: GPL-2.0-only
/* The function flushes once instead of twice. */
static unsigned int shrink_folio_list(struct list *list)
{
	try_to_unmap_flush();
	return 0;
}
