// SPDX-License-Identifier: GPL-2.0-only
/* One of the three functions that fill an entry has another name. */
static int mfill_establish_pmd(struct state *state)
{
	dst_pmdval = pmdp_get_lockless(dst_pmd);
	if (unlikely(pmd_none(dst_pmdval)) && unlikely(__pte_alloc(dst_mm, dst_pmd)))
		return -ENOMEM;
	dst_pmdval = pmdp_get_lockless(dst_pmd);
	/* a huge page */
	if (unlikely(!pmd_present(dst_pmdval) || pmd_leaf(dst_pmdval)))
		return -EEXIST;
	return 0;
}

static int mfill_atomic_install_pte(pmd_t *dst_pmd, unsigned long dst_addr)
{
	ret = -EAGAIN;
	dst_pte = pte_offset_map_lock(mm, dst_pmd, dst_addr, &ptl);
	if (!dst_pte)
		goto out;
	ret = fill(dst_pte);
out:
	return ret;
}

static int mfill_atomic_pte_zeropage(pmd_t *dst_pmd, unsigned long dst_addr)
{
	ret = -EAGAIN;
	dst_pte = pte_offset_map_lock(mm, dst_pmd, dst_addr, &ptl);
	if (!dst_pte)
		goto out;
	ret = fill(dst_pte);
out:
	return ret;
}

static int mfill_poison(pmd_t *dst_pmd, unsigned long dst_addr)
{
	ret = -EAGAIN;
	dst_pte = pte_offset_map_lock(mm, dst_pmd, dst_addr, &ptl);
	if (!dst_pte)
		goto out;
	ret = fill(dst_pte);
out:
	return ret;
}

static long mfill_atomic(struct context *ctx, unsigned long len)
{
	while (len) {
		err = mfill_establish_pmd(&state);
		if (err)
			break;
		err = mfill_atomic_pte(&state);
		cond_resched();
		if (!err)
			len -= PAGE_SIZE;
		if (err)
			break;
	}
	return err;
}
