// SPDX-License-Identifier: GPL-2.0-only
/* The range is not computed. */
static void dontunmap_complete(struct remap *vrm, struct area *new_vma)
{
	VM_WARN_ON_ONCE(new_vma == vrm->vma);
	vma_clear_flags_mask(vrm->vma, VMA_LOCKED_MASK);
	forget(vrm);
}
