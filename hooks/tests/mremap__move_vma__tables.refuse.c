// SPDX-License-Identifier: GPL-2.0-only
/* The branch has another body. */
static unsigned long move_vma(struct area *vma, unsigned long old_addr, unsigned long flags)
{
	if (unlikely(!err && (flags & MREMAP_DONTUNMAP)))
		return new_addr;
	return unmap(vma);
}
