// SPDX-License-Identifier: GPL-2.0-only
/* The caller passes zap details of its own. */
static long madvise_dontneed_single_vma(struct vma *vma, unsigned long start,
					unsigned long end)
{
	zap_page_range_single(vma, start, end - start, &details);
	return 0;
}
