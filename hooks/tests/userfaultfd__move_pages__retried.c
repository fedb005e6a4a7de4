// SPDX-License-Identifier: GPL-2.0-only
static long move_pages(struct area *vma, unsigned long len)
{
	while (moved < len) {
		ret = move_pages_ptes(vma);
		if (ret < 0)
			err = ret;
		else
			step_size = ret;
		if (fatal_signal_pending(current)) {
			if (!err || err == -EAGAIN)
				err = -EINTR;
			break;
		}
		if (err) {
			if (err == -EAGAIN)
				continue;
			break;
		}
		moved += step_size;
	}
	return moved ? moved : err;
}
