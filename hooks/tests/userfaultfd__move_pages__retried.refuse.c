// SPDX-License-Identifier: GPL-2.0-only
/* It is forgotten already. */
static long move_pages(struct area *vma, unsigned long len)
{
	while (moved < len) {
		ret = move_pages_ptes(vma);
		if (ret == -EAGAIN) {
			err = 0;
			continue;
		}
		moved += ret;
	}
	return moved;
}
