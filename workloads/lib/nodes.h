/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory nodes, by raw system calls. */
#ifndef NODES_H
#define NODES_H

#include "workload.h"

/* Skip unless nodes 0 and 1 each have @len bytes free, and 256 MiB more. */
void need_nodes(size_t len);
/* Allocate from @node only; -1: from any node. */
void allocate_on(int node);
/* Allocate the pages of a range from @node only; its page tables may come from any. */
void bind_range(char *mem, size_t len, int node);
/* The system call, for this process.  Without @nodes, @status gets the node of each page. */
long move_pages(unsigned long nr, void **pages, const int *nodes, int *status);
/* Fail unless all pages of the range are on @node. */
void check_node(char *mem, size_t len, int node);

#endif /* NODES_H */
