/* SPDX-License-Identifier: GPL-2.0-only */
/* Swap to a file on XFS instead of the zram device. */
#ifndef SWAPFILE_H
#define SWAPFILE_H

#include <stddef.h>

/* Skip unless /mnt is an XFS with room for it.  Nothing may be swapped out yet. */
void swap_to_file(size_t len);
/* Back to the device; swapoff() reads in what the file holds. */
void swap_to_device(void);

#endif /* SWAPFILE_H */
