/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __MM_UNMAP_REFERENCE_H
#define __MM_UNMAP_REFERENCE_H

#include <linux/rmap.h>

unsigned int unmap_reference_entries(struct page_vma_mapped_walk *pvmw, bool *young);

#endif /* __MM_UNMAP_REFERENCE_H */
