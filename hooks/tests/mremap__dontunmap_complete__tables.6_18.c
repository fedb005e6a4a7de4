// SPDX-License-Identifier: GPL-2.0-only
static void dontunmap_complete(struct remap *vrm, struct area *new_vma)
{
	unsigned long start = vrm->addr;
	unsigned long end = vrm->addr + vrm->old_len;
	unsigned long old_start = vrm->vma->vm_start;

	/* It is not locked any more. */
	vm_flags_clear(vrm->vma, VM_LOCKED_MASK);
	forget(vrm->vma, start, end);
}
