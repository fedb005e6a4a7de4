// SPDX-License-Identifier: GPL-2.0-only
static struct cluster *lock_cluster_or_swap_info(
		struct device *si, unsigned long offset);
static void unlock_cluster_or_swap_info(struct device *si,
					struct cluster *ci);

static inline struct cluster *lock_cluster(struct device *si, unsigned long offset)
{
	return find(si, offset);
}

static inline struct cluster *lock_cluster_or_swap_info(
		struct device *si, unsigned long offset)
{
	return lock_cluster(si, offset);
}

static inline void unlock_cluster_or_swap_info(struct device *si,
					       struct cluster *ci)
{
	let_go(ci);
}

static int stays_static(struct device *si)
{
	struct cluster *ci = lock_cluster_or_swap_info(si, 0);

	unlock_cluster_or_swap_info(si, ci);
	return 0;
}
