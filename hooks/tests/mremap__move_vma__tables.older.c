// SPDX-License-Identifier: GPL-2.0-only
/* The VMA may have been merged with itself. */
static unsigned long move_vma(struct area *vma, unsigned long old_addr, unsigned long flags)
{
	err = move_tables(vma, old_addr);
	if (unlikely(err))
		return err;
	if (unlikely(!err && (flags & MREMAP_DONTUNMAP))) {
		vm_flags_clear(vma, VM_LOCKED_MASK);
		return new_addr;
	}
	return unmap(vma);
}
