// SPDX-License-Identifier: GPL-2.0-only
/* It does not look whether there is a table. */
static long mfill_atomic(struct context *ctx, unsigned long len)
{
	while (len)
		len -= fill(dst_pmd);
	return 0;
}
