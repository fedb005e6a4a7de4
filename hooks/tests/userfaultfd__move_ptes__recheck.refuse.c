// SPDX-License-Identifier: GPL-2.0-only
/* Only one of the PMDs is checked. */
static long move_pages_ptes(struct mm *mm, pmd_t *dst_pmd, pmd_t *src_pmd)
{
	if (pmd_none(*dst_pmd) || pmd_trans_huge(*dst_pmd)) {
		ret = -EINVAL;
		goto out;
	}
	ret = move(dst_pmd, src_pmd);
out:
	return ret;
}
