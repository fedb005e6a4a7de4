// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/swap_cgroup.h>
#include <linux/oom.h>

int nothing_else_changes;
