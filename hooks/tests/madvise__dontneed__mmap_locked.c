// SPDX-License-Identifier: GPL-2.0-only
static long madvise_dontneed_single_vma(struct vma *vma, unsigned long start,
					unsigned long end)
{
	zap_page_range_single(vma, start, end - start, NULL);
	return 0;
}

static void other(struct vma *vma, unsigned long start, unsigned long end)
{
	zap_page_range_single(vma, start, end - start, NULL);
}
