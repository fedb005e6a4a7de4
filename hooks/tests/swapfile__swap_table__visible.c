// SPDX-License-Identifier: GPL-2.0-only
static void swap_put_entries_cluster(struct device *si, pgoff_t offset, int nr, bool reclaim)
{
	drop(si, offset, nr);
}

static int swap_dup_entries_cluster(struct device *si, pgoff_t offset, int nr)
{
	return take(si, offset, nr);
}

static int stays_static(struct device *si)
{
	swap_put_entries_cluster(si, 0, 1, true);
	return swap_dup_entries_cluster(si, 0, 1);
}
