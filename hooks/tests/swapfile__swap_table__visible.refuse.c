// SPDX-License-Identifier: GPL-2.0-only
/* One of the two functions is missing. */
static int swap_dup_entries_cluster(struct device *si, pgoff_t offset, int nr)
{
	return take(si, offset, nr);
}
