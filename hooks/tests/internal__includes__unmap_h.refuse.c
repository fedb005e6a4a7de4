// SPDX-License-Identifier: GPL-2.0-only
/* The #include that the new one follows is missing. */
#include <linux/swap.h>

int tracepoint_defs;
