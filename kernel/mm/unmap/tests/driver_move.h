/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves the folios of user memory: see driver_move.c. */
#ifndef __MM_UNMAP_DRIVER_MOVE_H
#define __MM_UNMAP_DRIVER_MOVE_H

#include <linux/errno.h>

#ifdef CONFIG_UNMAP_MOVE
int unmap_driver_move(unsigned long start, unsigned long end, unsigned int cmd);
#else
static inline int unmap_driver_move(unsigned long start, unsigned long end, unsigned int cmd)
{
	return -EOPNOTSUPP;
}
#endif

#endif /* __MM_UNMAP_DRIVER_MOVE_H */
