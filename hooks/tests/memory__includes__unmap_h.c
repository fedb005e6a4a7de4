// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/userfaultfd_k.h>
#include <linux/sched.h>

int nothing_else_changes;
