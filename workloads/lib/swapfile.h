/* SPDX-License-Identifier: GPL-2.0-only */
/* Swap to a file on XFS instead of the zram device. */
#ifndef SWAPFILE_H
#define SWAPFILE_H

#include <stddef.h>

/* Skip unless /mnt is an XFS with room for the file.  Call it before anything is swapped out. */
void swap_to_file(size_t len);
/* Use the zram device again.  swapoff() reads the file's pages back into memory. */
void swap_to_device(void);

#endif /* SWAPFILE_H */
