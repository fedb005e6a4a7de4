// SPDX-License-Identifier: GPL-2.0-only
static long mfill_atomic(struct context *ctx, unsigned long len)
{
	while (len) {
		dst_pmdval = pmdp_get_lockless(dst_pmd);
		if (pmd_none(dst_pmdval) && __pte_alloc(dst_mm, dst_pmd)) {
			err = -ENOMEM;
			break;
		}
		dst_pmdval = pmdp_get_lockless(dst_pmd);
		if (unlikely(!pmd_present(dst_pmdval) ||
			     pmd_trans_huge(dst_pmdval))) {
			err = -EEXIST;
			break;
		}
		err = mfill_atomic_pte(dst_pmd, dst_vma, &folio);
		cond_resched();
		if (err)
			break;
		len -= PAGE_SIZE;
	}
	return err;
}
