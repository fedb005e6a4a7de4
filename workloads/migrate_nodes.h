/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory nodes, by raw system calls. */
#ifndef MIGRATE_NODES_H
#define MIGRATE_NODES_H

#include "workload.h"

/* Skip unless nodes 0 and 1 have so much memory free, and some to spare. */
void need_nodes(size_t len);
/* New memory comes from this node alone; -1: from anywhere. */
void allocate_on(int node);
/* The system call, for this process; without @nodes it tells where the pages are. */
long move_pages(unsigned long nr, void **pages, const int *nodes, int *status);
/* Fail unless all pages of the range are on @node. */
void check_node(char *mem, size_t len, int node);

#endif /* MIGRATE_NODES_H */
