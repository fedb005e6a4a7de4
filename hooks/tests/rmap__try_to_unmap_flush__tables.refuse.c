// SPDX-License-Identifier: GPL-2.0-only
/* Another name: the hook has to be looked at. */
void unmap_flush(void)
{
	flush(&current->batch);
}
