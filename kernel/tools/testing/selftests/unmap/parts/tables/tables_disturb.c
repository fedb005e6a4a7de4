// SPDX-License-Identifier: GPL-2.0-only
/* What disturbers do to all of the memory: see tables_race.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tables_arena.h"

static size_t some_table(struct disturber *d)
{
	return rand_r(&d->seed) % NR_TABLES * PMD;
}

static void other_collapse(struct disturber *d)
{
	d->collapsed += !madvise(d->arena->mem + some_table(d), PMD, MADV_COLLAPSE);
}

static void other_reclaim(struct disturber *d)
{
	reclaim_all(MIB);
}

static void other_pageout(struct disturber *d)
{
	madvise(d->arena->mem + some_table(d), PMD, MADV_PAGEOUT);
}

/* Pages that no thread owns: in a private mapping a hole does not free pages that were written. */
static void other_punch(struct disturber *d)
{
	size_t at = some_table(d) + UNOWNED;

	if (d->arena->fd < 0)
		return;
	for (int i = 0; i < POKES; i++)
		READ_ONCE(d->arena->mem[at + i * PAGE]);
	if (rand_r(&d->seed) % 2)
		madvise(d->arena->mem + at, POKES * PAGE, MADV_DONTNEED);
	else
		punch(d->arena->fd, at, POKES * PAGE);
}

static void other_poke(struct disturber *d)
{
	size_t at = some_table(d) + PMD / 2 + rand_r(&d->seed) % POKES * PAGE;
	char *mem = d->arena->spare + at;

	WRITE_ONCE(*mem, 1);
	d->wrong += READ_ONCE(*mem) != 1;
	if (rand_r(&d->seed) % 2)
		madvise(mem, PAGE, MADV_PAGEOUT);
	d->wrong += READ_ONCE(*mem) != 1;
	punch(d->arena->poke_fd, at, PAGE);
	d->wrong += READ_ONCE(*mem) != 0;
	madvise(mem, PAGE, MADV_DONTNEED);
}

static void other_empty(struct disturber *d)
{
	off_t at = READ_ONCE(d->arena->filled) * PMD;

	usleep(rand_r(&d->seed) % 500);
	punch(d->arena->poke_fd, at + PMD / 2 + POKES * PAGE, (1 + MAX_OWNERS) * PAGE);
	if (d->arena->fd >= 0)
		punch(d->arena->fd, at + UNOWNED, MAX_OWNERS * PAGE);
}

static void other_shift(struct disturber *d)
{
	struct arena *a = d->arena;
	char *from = a->alias, *to = a->alias_to;

	if (!from)
		return;
	for (long i = 0; i < POKES; i++)
		READ_ONCE(from[i * (TABLE_PAGES / POKES) * PAGE]);
	if (mremap(from, PMD, PMD, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) {
		d->wrong++;
		return;
	}
	mmap(from, PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	a->alias = to;
	a->alias_to = from;
}

static void other_look(struct disturber *d)
{
	static __thread unsigned char resident[LEN / PAGE];
	char text[4096];

	read_text("/proc/self/smaps", text, sizeof(text));
	read_text("/proc/self/numa_maps", text, sizeof(text));
	count_pages(d->arena->mem, LEN, PM_PRESENT);
	mincore(d->arena->mem, LEN, resident);
}

/*
 * QEMU before 8.1 may execute an instruction that another CPU has just patched: flip the
 * switch only if TABLES_SWITCH asks for it.
 */
static void other_flip(struct disturber *d)
{
	static const char * const policies[] = { "adaptive", "eager", "huge", "pressure" };

	write_text(UNMAP_SYSFS "tables_policy", policies[rand_r(&d->seed) % 4]);
	race_window(rand_r(&d->seed) % 2);
	if (getenv("TABLES_SWITCH") && switch_all(true))
		write_number(UNMAP_SYSFS "enabled",
			     read_field(UNMAP_SYSFS "enabled", "") & ~(1 << rand_r(&d->seed) % 6));
	if (rand_r(&d->seed) % 4 == 0)
		write_text("/proc/sys/vm/drop_caches", "2");
	usleep(10000);
}

static void (* const other_ops[NR_OTHER])(struct disturber *d) = {
	[OTHER_COLLAPSE]	= other_collapse,
	[OTHER_RECLAIM]		= other_reclaim,
	[OTHER_PAGEOUT]		= other_pageout,
	[OTHER_PUNCH]		= other_punch,
	[OTHER_POKE]		= other_poke,
	[OTHER_EMPTY]		= other_empty,
	[OTHER_SHIFT]		= other_shift,
	[OTHER_LOOK]		= other_look,
	[OTHER_FLIP]		= other_flip,
};

void *disturb(void *arg)
{
	struct disturber *d = arg;

	use_cpu(d->cpu);
	for (; !READ_ONCE(*d->stop); d->rounds++) {
		other_ops[pick_bit(d->other, &d->seed)](d);
		take_rest(d->arena);
	}
	return NULL;
}
