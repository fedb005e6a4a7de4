// SPDX-License-Identifier: GPL-2.0-only
/* There are no details. */
static long madvise_dontneed_single_vma(struct behavior *madv_behavior)
{
	zap_vma_range_batched(madv_behavior->tlb, madv_behavior->vma, start, size, NULL);
	return 0;
}
