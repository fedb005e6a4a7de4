// SPDX-License-Identifier: GPL-2.0-only
/* Nothing is locked. */
long move_pages(struct context *ctx, unsigned long dst_start, unsigned long src_start)
{
	return move(dst_vma, src_vma);
}
