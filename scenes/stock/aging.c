// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor looks at the page tables of a control group for accessed bits (multi-gen LRU),
 * and has read a PMD, when a real-time task preempts it there.  Meanwhile the second one purges
 * the memory, so that the table goes, and waits until it is free.
 *
 *	aging ROUNDS [control]
 *
 * control: the memory is not purged.  What the walk does then, the kernel says (KASAN).
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/scene.h"

#define GROUP	"/sys/fs/cgroup/aging"
#define LRU	"/sys/kernel/debug/lru_gen"
/* The walk comes to the lowest page table first. */
#define LOWEST	((char *)PMD)

static char *mem;
static char command[64];
static int wakes[2];
static atomic_bool purged;
static bool control;

/* Stands on processor 1, which the walk gets back when the memory is gone. */
static void *preempts(void *unused)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;
	char byte;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		scene_says("a real-time task: %m");
	while (read(wakes[0], &byte, 1) == 1)
		while (!atomic_load(&purged))
			;
	return unused;
}

static bool moved_to_a_group(void)
{
	scene_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	NEED(scene_write(GROUP "/cgroup.procs", "0"));
	return true;
}

static bool prepare(void)
{
	pthread_t thread;

	NEED(scene_write("/sys/kernel/mm/lru_gen/enabled", "7"));
	NEED(moved_to_a_group());
	mem = mmap(LOWEST, PMD, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	NEED(mem == LOWEST);
	NEED(!madvise(mem, PMD, MADV_NOHUGEPAGE));
	NEED(!pipe(wakes));
	NEED(!pthread_create(&thread, NULL, preempts, NULL));
	return true;
}

/* The group's number, and its youngest generation. */
static bool found_generation(void)
{
	FILE *file = fopen(LRU, "r");
	char line[256], path[64];
	unsigned long id = 0, number;
	bool ours = false;

	NEED(file);
	command[0] = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memcg %lu %63s", &number, path) == 2) {
			ours = !strcmp(path, "/aging");
			id = number;
		} else if (ours && sscanf(line, " %lu %*u", &number) == 1) {
			snprintf(command, sizeof(command), "+ %lu 0 %lu 1 1", id, number);
		}
	}
	fclose(file);
	NEED(command[0]);
	return true;
}

static bool ready(void)
{
	atomic_store(&purged, false);
	memset(mem, 1, PMD);
	return found_generation();
}

static void look(void)
{
	if (!scene_write(LRU, command))
		scene_says("%s: %m", command);
}

__attribute__((noinline)) void aging_woken(void)
{
	asm volatile("" ::: "memory");
}

/* Two grace periods: the first one may have begun before. */
static void purge(void)
{
	if (write(wakes[1], "", 1) != 1)
		scene_says("write: %m");
	aging_woken();
	if (!control && madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
	for (int i = 0; i < 2; i++)
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			scene_says("membarrier: %m");
	atomic_store(&purged, true);
}

static bool right(void)
{
	return true;
}

static const struct scene scene = { prepare, ready, NULL, look, purge, right };

int main(int argc, char **argv)
{
	control = argc > 2;
	return scene_main(argc, argv, &scene);
}
