// SPDX-License-Identifier: GPL-2.0-only
static unsigned long move_vma(struct area *vma, unsigned long old_addr, unsigned long flags)
{
	err = move_tables(vma, old_addr);
	if (unlikely(err))
		return err;
	if (unlikely(!err && (flags & MREMAP_DONTUNMAP))) {
		/* Not merged with itself. */
		VM_WARN_ON_ONCE(new_vma == vma);
		vm_flags_clear(vma, VM_LOCKED_MASK);
		return new_addr;
	}
	return unmap(vma);
}
