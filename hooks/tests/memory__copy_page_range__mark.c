// SPDX-License-Identifier: GPL-2.0-only
int
copy_page_range(struct vm_area_struct *dst_vma, struct vm_area_struct *src_vma)
{
	struct mm_struct *src_mm = src_vma->vm_mm;
	struct range range;
	bool is_cow;
	int ret;

	if (!needs_copy(dst_vma, src_vma))
		return 0;

	is_cow = src_vma->cow;
	if (is_cow) {
		mmu_notifier_invalidate_range_start(&range);
		raw_write_seqcount_begin(&src_mm->write_protect_seq);
	}

	/* Its tables, level by level. */
	ret = copy(dst_vma, src_vma);

	if (is_cow) {
		raw_write_seqcount_end(&src_mm->write_protect_seq);
		mmu_notifier_invalidate_range_end(&range);
	}
	if (ret)
		untrack(dst_vma);
	return ret;
}
