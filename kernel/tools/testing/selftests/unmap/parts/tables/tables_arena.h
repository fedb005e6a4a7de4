/* SPDX-License-Identifier: GPL-2.0-only */
/* Between tables_race.c, tables_arena.c, tables_owner.c and tables_disturb.c. */
#ifndef TABLES_ARENA_H
#define TABLES_ARENA_H

#include <pthread.h>

#include "tables_race.h"

#define NR_TABLES	4
#define TABLE_PAGES	((long)(PMD / PAGE))
#define LEN		(NR_TABLES * PMD)
#define PER_TABLE	2
#define NR_SLOTS	(NR_TABLES * PER_TABLE)
#define MAX_OWNERS	8
#define STRIDE		13		/* pages between those of two owners */
#define POKES		8

/*
 * @spare: as large as @mem.  Owners move pages to the first half of each table; the second
 *	half maps shmem for OTHER_POKE and OTHER_EMPTY
 * @alias: another mapping of the file, for OTHER_SHIFT, which moves it to @alias_to
 * @filled: the table that an owner filled last for OTHER_EMPTY
 * @rest: all threads rest
 */
struct arena {
	enum area area;
	enum uffd_mode mode;
	char *mem, *spare, *alias, *alias_to;
	int fd, poke_fd, uffd;
	int filled;
	bool rest;
};

struct owner {
	pthread_t thread;
	const struct race *race;
	struct arena *arena;
	bool *stop;
	int index, cpu, pipe[2];
	unsigned int seed;
	unsigned long count, stamp[NR_SLOTS];
	long rounds, wrong;
};

struct disturber {
	pthread_t thread;
	struct arena *arena;
	bool *stop;
	unsigned int other, seed;
	int cpu;
	long rounds, wrong, collapsed;
};

/* Pages behind those of all owners, of each table: no thread owns them. */
#define UNOWNED		((1 + MAX_OWNERS * STRIDE) * PAGE)

bool make_arena(struct arena *a, enum area kind, enum uffd_mode mode);
void drop_arena(struct arena *a);
/* Watch the arena with userfaultfd, as its @mode says. */
bool watch_arena(struct arena *a);

/* Thread functions: run operations of the race until *stop. */
void *own(void *owner);
void *disturb(void *disturber);

/* Wait while all threads rest. */
void take_rest(const struct arena *a);

/* One of the bits that are set. */
int pick_bit(unsigned int bits, unsigned int *seed);
void punch(int fd, off_t at, off_t len);

#endif /* TABLES_ARENA_H */
