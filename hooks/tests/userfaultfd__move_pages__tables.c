// SPDX-License-Identifier: GPL-2.0-only
long move_pages(struct context *ctx, unsigned long dst_start, unsigned long src_start)
{
	long moved = 0;

	err = uffd_move_lock(mm, dst_start, src_start, &dst_vma, &src_vma);
	if (err)
		goto out;
	moved = move(dst_vma, src_vma);
	uffd_move_unlock(dst_vma, src_vma);
out:
	return moved ? moved : err;
}
