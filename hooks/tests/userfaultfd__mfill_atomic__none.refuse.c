// SPDX-License-Identifier: GPL-2.0-only
/* The PMD is not checked. */
static long mfill_atomic(struct context *ctx, unsigned long len)
{
	while (len)
		len -= fill(dst_pmd);
	return 0;
}
