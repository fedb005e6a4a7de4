/* SPDX-License-Identifier: GPL-2.0-only */
/* Neighbours that migrate together: how many at most. */
#ifndef __MM_UNMAP_RELOCATE_BATCH_H
#define __MM_UNMAP_RELOCATE_BATCH_H

/* A fault waits until so many pages were copied: the one that it needs, and the others. */
#define RELOCATE_BATCH_MAX	32

#endif /* __MM_UNMAP_RELOCATE_BATCH_H */
