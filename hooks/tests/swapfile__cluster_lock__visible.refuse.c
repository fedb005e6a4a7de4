// SPDX-License-Identifier: GPL-2.0-only
/* The functions are not declared before they are defined. */
static inline struct cluster *lock_cluster_or_swap_info(
		struct device *si, unsigned long offset)
{
	return find(si, offset);
}

static inline void unlock_cluster_or_swap_info(struct device *si,
					       struct cluster *ci)
{
	let_go(ci);
}
