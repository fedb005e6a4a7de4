// SPDX-License-Identifier: GPL-2.0-only
/* Memory nodes, by raw system calls: see nodes.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nodes.h"

#define NODE	"/sys/devices/system/node/node"
#define BATCH	512

void need_nodes(size_t len)
{
	if (!path_exists(NODE "1"))
		skip("there is no second memory node: boot with numa=fake=2");
	for (int node = 0; node < 2; node++) {
		char path[64], key[32];

		snprintf(path, sizeof(path), NODE "%d/meminfo", node);
		snprintf(key, sizeof(key), "Node %d MemFree:", node);
		if (read_field(path, key) * 1024 < len + 256 * MIB)
			skip("node %d has no %zu MiB free", node, len >> 20);
	}
}

void allocate_on(int node)
{
	unsigned long mask = node < 0 ? 0 : BIT(node);
	int policy = node < 0 ? MPOL_DEFAULT : MPOL_BIND;

	if (syscall(SYS_set_mempolicy, policy, mask ? &mask : NULL, mask ? 64UL : 0UL))
		fail("set_mempolicy failed: %s", strerror(errno));
}

void bind_range(char *mem, size_t len, int node)
{
	unsigned long mask = BIT(node);

	if (syscall(SYS_mbind, mem, len, MPOL_BIND, &mask, 64UL, 0))
		fail("mbind failed: %s", strerror(errno));
}

long move_pages(unsigned long nr, void **pages, const int *nodes, int *status)
{
	return syscall(SYS_move_pages, 0, nr, pages, nodes, status, MPOL_MF_MOVE_ALL);
}

static void check_batch(char *mem, unsigned long nr, int node)
{
	void *pages[BATCH];
	int status[BATCH];

	for (unsigned long i = 0; i < nr; i++)
		pages[i] = mem + i * PAGE;
	if (move_pages(nr, pages, NULL, status))
		fail("cannot ask where pages are: %s", strerror(errno));
	for (unsigned long i = 0; i < nr; i++)
		if (status[i] != node)
			fail("the page at %p is on node %d, expected %d", pages[i],
			     status[i], node);
}

void check_node(char *mem, size_t len, int node)
{
	for (size_t i = 0; i < len; i += BATCH * PAGE)
		check_batch(mem + i, len - i < BATCH * PAGE ? (len - i) / PAGE : BATCH, node);
}
