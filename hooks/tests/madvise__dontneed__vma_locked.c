// SPDX-License-Identifier: GPL-2.0-only
static long madvise_dontneed_single_vma(struct behavior *madv_behavior)
{
	struct zap_details details = {
		.reclaim_pt = true,
	};

	zap_vma_range_batched(madv_behavior->tlb, madv_behavior->vma, start, size, &details);
	return 0;
}
