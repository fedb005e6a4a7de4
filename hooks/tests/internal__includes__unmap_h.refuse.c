// SPDX-License-Identifier: GPL-2.0-only
/* The line to follow is not there. */
#include <linux/swap.h>

int tracepoint_defs;
