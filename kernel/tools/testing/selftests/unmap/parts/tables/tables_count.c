// SPDX-License-Identifier: GPL-2.0-only
/* How many page tables there are: see tables_count.h. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "tables_count.h"

long long tables_now(void)
{
	return status_pages("VmPTE");
}

/*
 * The upper-level tables are allocated first, and stay: only the last level is counted.  So are
 * those of the vDSO, which a child lacks until it first reads the clock, as AWAIT() does: two
 * tables, where the vDSO lies in another GiB than the stack.
 */
void note_empty(struct tables *t, char *mem)
{
	now();
	t->mem = mem;
	READ_ONCE(*mem);
	READ_ONCE(mem[LEN - 1]);
	madvise(mem, LEN, MADV_DONTNEED);
	if (t->how == PRESSURE) {
		usleep(AGE);
		reclaim_all(MIB);
	}
	t->empty = tables_now() - (t->how == OFF ? 2 : 0);
}

void note_full(struct tables *t)
{
	t->full = tables_now();
	t->kept = unmap_stat("tables_waited");
	t->noticed = unmap_stat("tables_noticed");
	t->freed = unmap_stat("tables_freed");
}

static bool map_backed(struct tables *t, int flags, int fd)
{
	char *mem = map_aligned(LEN, PROT_READ | PROT_WRITE, flags, fd);

	CHECK(mem != MAP_FAILED);
	note_empty(t, mem);
	fill(mem, LEN, SEED);
	note_full(t);
	CHECK(t->full >= t->empty + NR_TABLES);
	return true;
}

bool map_anon(struct tables *t)
{
	return map_backed(t, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

int shmem_file(size_t len)
{
	int fd = memfd_create("unmap", MFD_CLOEXEC);

	return fd >= 0 && !ftruncate(fd, len) ? fd : -1;
}

bool map_shmem(struct tables *t, int *fd)
{
	*fd = shmem_file(LEN);
	return *fd >= 0 && map_backed(t, MAP_SHARED, *fd);
}

bool given_back(const struct tables *t, int left)
{
	if (t->how == OFF)
		return true;
	if (t->how == PRESSURE) {
		CHECK(tables_now() >= t->full - SLACK);
		CHECK(unmap_stat("tables_waited") - t->kept >= NR_TABLES - left);
		usleep(AGE);
		reclaim_all(MIB);
	}
	/* Tables that another process has emptied are given back a little later. */
	AWAIT(unmap_stat("tables_freed") - t->freed >= NR_TABLES - left);
	AWAIT(tables_now() <= t->empty + left + SLACK);
	return true;
}

bool all_there(const struct tables *t)
{
	if (t->how == OFF)
		return true;
	CHECK(tables_now() >= t->full - SLACK);
	CHECK_EQ(0, unmap_stat("tables_freed") - t->freed);
	return true;
}

bool few_noticed(const struct tables *t)
{
	CHECK(unmap_stat("tables_noticed") - t->noticed <= NR_TABLES);
	return all_there(t);
}

bool usable(const struct tables *t)
{
	CHECK_EQ(0, count_not_zero(t->mem, LEN));
	fill(t->mem, LEN, SEED + 1);
	CHECK_EQ(0, count_wrong(t->mem, LEN, SEED + 1));
	return true;
}
