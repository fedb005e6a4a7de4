// SPDX-License-Identifier: GPL-2.0-only
/* The memory of dirtyflush: see dirtyflush.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "dirtyflush.h"
#include "lib/workers.h"

#define TOUCHERS	4

static const struct plan *running;
static char *memory;

void pin_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail("cannot run on processor %u: %s", cpu, strerror(errno));
}

void relax(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#else
	asm volatile("yield" ::: "memory");
#endif
}

static void shmem_only(unsigned long kib, const char *mode)
{
	char path[100];

	snprintf(path, sizeof(path), THP "hugepages-%lukB/shmem_enabled", kib);
	if (!path_exists(path))
		skip("this kernel has no shmem folios of %lu KiB", kib);
	write_text(path, mode);
}

static char *map_memory(const struct plan *plan)
{
	char *mem = map_anon(plan->len);

	if (plan->shmem && mmap(mem, plan->len, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != mem)
		fail("cannot map shared memory: %s", strerror(errno));
	return mem;
}

/* A page is one word, repeated: zram stores the word and does not compress. */
static u64 word_of(size_t page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

static void write_page(size_t page)
{
	u64 *words = (u64 *)(memory + page * PAGE);

	for (size_t i = 0; i < PAGE / sizeof(*words); i++)
		words[i] = word_of(page);
}

static void write_folio(size_t nr)
{
	const size_t pages = (running->kib << 10) / PAGE;

	for (size_t i = 0; i < pages; i++)
		write_page(nr * pages + i);
}

void check_memory(void)
{
	const u64 *words = (u64 *)memory;
	const size_t each = PAGE / sizeof(*words);

	for (size_t i = 0; i < running->len / sizeof(*words); i++)
		if (words[i] != word_of(i / each))
			fail("page %zu does not read back as written", i / each);
}

/* A quarter of the memory: the threads take turns, a folio each. */
static void *touch_quarter(void *arg)
{
	struct worker *worker = arg;
	const size_t folio = running->kib << 10, first = (worker->mem - memory) / folio;

	pin_to((worker->id - 1) % running->cpus);
	await_release();
	for (size_t i = 0; i < worker->len / folio; i++) {
		write_folio(first + i);
		relax();
	}
	work_done();
	return NULL;
}

static void touch_by_four(void)
{
	struct worker workers[TOUCHERS];

	for (unsigned int i = 0; i < TOUCHERS; i++) {
		workers[i].len = running->len / TOUCHERS;
		workers[i].mem = memory + i * workers[i].len;
	}
	start_workers(workers, TOUCHERS, touch_quarter);
	release_workers();
	await_workers();
	join_workers(workers, TOUCHERS);
}

static void touch_by_one(void)
{
	const size_t nr = running->len / (running->kib << 10);
	unsigned int *order = make_order(nr, running->shuffled);

	for (size_t i = 0; i < nr; i++)
		write_folio(order[i]);
	free(order);
}

char *make_memory(const struct plan *plan)
{
	running = plan;
	memory = map_memory(plan);
	if (plan->shmem && plan->kib * 1024 != PAGE)
		shmem_only(plan->kib, "always");
	else
		thp_only(plan->kib);
	if (plan->four)
		touch_by_four();
	else
		touch_by_one();
	if (plan->shmem && plan->kib * 1024 != PAGE)
		shmem_only(plan->kib, "never");
	check_folios(memory, plan->len, plan->kib);
	/* No folio may wait in a processor's list of those that go to the LRU: this empties all. */
	write_text("/proc/sys/vm/drop_caches", "1");
	return memory;
}
