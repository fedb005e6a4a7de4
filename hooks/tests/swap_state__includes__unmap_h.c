// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include "internal.h"

int nothing_else_changes;
