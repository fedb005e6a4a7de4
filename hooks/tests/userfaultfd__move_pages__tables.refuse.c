// SPDX-License-Identifier: GPL-2.0-only
/* No lock is dropped. */
long move_pages(struct context *ctx, unsigned long dst_start, unsigned long src_start)
{
	return move(dst_vma, src_vma);
}
