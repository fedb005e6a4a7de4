// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace points of include/trace/events/unmap.h.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "internal.h"
#include "tables/table.h"

#define CREATE_TRACE_POINTS
#include <trace/events/unmap.h>
