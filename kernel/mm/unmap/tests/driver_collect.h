/* SPDX-License-Identifier: GPL-2.0-only */
/* Collects memory as drivers do that migrate it to their device: see driver_collect.c. */
#ifndef __MM_UNMAP_DRIVER_COLLECT_H
#define __MM_UNMAP_DRIVER_COLLECT_H

#include <linux/errno.h>
#include <linux/mm_types.h>

#ifdef CONFIG_UNMAP_COLLECT
int unmap_driver_collect(struct vm_area_struct *vma, unsigned long start, unsigned long end);
#else
static inline int unmap_driver_collect(struct vm_area_struct *vma, unsigned long start,
				       unsigned long end)
{
	return -EOPNOTSUPP;
}
#endif

#endif /* __MM_UNMAP_DRIVER_COLLECT_H */
