/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef __MM_UNMAP_REFERENCE_H
#define __MM_UNMAP_REFERENCE_H

#include <linux/rmap.h>

unsigned int unmap_reference_entries(struct page_vma_mapped_walk *pvmw, bool *young);
bool unmap_reference_is_dying(const struct vm_area_struct *vma, struct folio *folio);

#endif /* __MM_UNMAP_REFERENCE_H */
