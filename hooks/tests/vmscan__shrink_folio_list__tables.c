// SPDX-License-Identifier: GPL-2.0-only
static unsigned int shrink_folio_list(struct list *list)
{
	while (!list_empty(list)) {
		if (!add(&batch, next(list))) {
			try_to_unmap_flush();
			release(&batch);
		}
	}
	try_to_unmap_flush();
	release(&batch);
	return 0;
}

static void others(void)
{
	try_to_unmap_flush();
}
