// SPDX-License-Identifier: GPL-2.0-only
/* Pages that are in use are not evicted ahead of their turn: see ahead.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ahead.h"

#define LRU_GEN		"/sys/kernel/debug/lru_gen"
#define LRU_GEN_ON	"/sys/kernel/mm/lru_gen/enabled"
#define EVERY		8L	/* one of so many pages is hot */
#define HOT		(PAGES / EVERY)
#define PORTION		(64 * PAGE)
#define ROUNDS		6	/* less than all cold pages */

static long long mglru_before = -1;

bool mglru_set(int mask)
{
	if (mglru_before < 0)
		mglru_before = read_field(LRU_GEN_ON, "");
	return mglru_before >= 0 && write_number(LRU_GEN_ON, mask) &&
	       read_field(LRU_GEN_ON, "") == mask;
}

void mglru_restore(void)
{
	if (mglru_before >= 0)
		write_number(LRU_GEN_ON, mglru_before);
	mglru_before = -1;
}

static void use_hot(const char *mem)
{
	for (long i = EVERY / 2; i < PAGES; i += EVERY)
		READ_ONCE(mem[i * PAGE]);
}

static long count_hot_lost(const char *mem)
{
	long lost = 0;

	for (long i = EVERY / 2; i < PAGES; i += EVERY)
		lost += !(pagemap(mem + i * PAGE) & PM_PRESENT);
	return lost;
}

/* All pages are cold; then the hot ones are used; then reclaim takes a portion. */
static long one_round(const struct scene *s)
{
	long lost;

	write_text("/proc/self/clear_refs", "1");
	use_hot(s->mem);
	if (s->kind == ANON || s->kind == SHMEM)
		reclaim_all(PORTION);
	else
		reclaim_file(PORTION);
	lost = count_hot_lost(s->mem);
	use_hot(s->mem);	/* have the lost ones back */
	return lost;
}

/* Notes how often a hot page was evicted.  Some cold ones must be. */
bool hot_stays(struct scene *s)
{
	long lost = 0;

	CHECK(ahead_make(s));
	ahead_count_from();
	for (int i = 0; i < ROUNDS; i++)
		lost += one_round(s);
	ahead_count_to();
	outcome->note = lost;
	CHECK(count_pages(s->mem, LEN, PM_PRESENT) < PAGES - 64);
	if (ahead_takes(s->kind))
		CHECK(outcome->taken > HOT / 2);
	CHECK_EQ(0, ahead_wrong(s));
	return true;
}

/* The generations of this control group's memory on its first node. */
struct generations {
	unsigned long long group, last;
	int node;
};

static bool find_group(FILE *file, struct generations *g)
{
	char line[256], path[128], group[128] = "";
	FILE *own = fopen("/proc/self/cgroup", "r");

	CHECK(own);
	CHECK(fscanf(own, "0::%127s", group) == 1);
	fclose(own);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "memcg %llu %127s", &g->group, path) == 2 &&
		    !strcmp(path, group))
			return true;
	return false;
}

/* One line for each generation; the youngest is the last. */
static bool find_generations(struct generations *g)
{
	FILE *file = fopen(LRU_GEN, "r");

	CHECK(file);
	CHECK(find_group(file, g));
	CHECK(fscanf(file, " node %d", &g->node) == 1);
	while (fscanf(file, " %llu %*[^\n]", &g->last) == 1)
		;
	fclose(file);
	return true;
}

struct ager {
	pthread_t thread;
	bool stop, failed;
	long turns;
};

static void *age(void *arg)
{
	struct ager *ager = arg;
	struct generations g;
	char command[96];

	use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (; !READ_ONCE(ager->stop); ager->turns++) {
		if (!find_generations(&g)) {
			ager->failed = true;
			break;
		}
		snprintf(command, sizeof(command), "+ %llu %d %llu 60 1", g.group, g.node,
			 g.last);
		write_text(LRU_GEN, command);	/* reclaim may have aged it meanwhile */
	}
	return NULL;
}

/* MGLRU clears accessed bits while reclaim looks at them: hot pages stay all the same. */
bool hot_aging(struct scene *s)
{
	struct ager ager = { };
	bool done;

	CHECK(!pthread_create(&ager.thread, NULL, age, &ager));
	while (!READ_ONCE(ager.turns) && !READ_ONCE(ager.failed))
		usleep(1000);
	done = hot_stays(s);
	WRITE_ONCE(ager.stop, true);
	pthread_join(ager.thread, NULL);
	CHECK(!ager.failed && ager.turns > ROUNDS);
	return done;
}
