// SPDX-License-Identifier: GPL-2.0-only
#ifndef INTERNAL_H
#include <linux/swap.h>
#include <linux/tracepoint-defs.h>

#include "vma.h"
#endif
