// SPDX-License-Identifier: GPL-2.0-only
static void dontunmap_complete(struct remap *vrm, struct area *new_vma)
{
	unsigned long start = vrm->addr;
	unsigned long end = vrm->addr + vrm->old_len;
	struct area *vma = vrm->vma;

	/* Not merged with itself. */
	VM_WARN_ON_ONCE(new_vma == vma);

	/* It is not locked any more. */
	vma_clear_flags_mask(vma, VMA_LOCKED_MASK);
	forget(vma, start, end);
}
