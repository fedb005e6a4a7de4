/* SPDX-License-Identifier: GPL-2.0-only */
/* A swap file on XFS in place of the machine's own swap. */
#ifndef SWAPFILE_H
#define SWAPFILE_H

#include <stddef.h>

/* Skip unless /mnt is an XFS with room for it; nothing may be swapped out yet. */
void swap_to_file(size_t len);
/* The machine's own swap again; what is swapped out is read back first. */
void swap_to_device(void);

#endif /* SWAPFILE_H */
