/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory in a few page tables, and how many of them there are: for tables.c. */
#ifndef TABLES_COUNT_H
#define TABLES_COUNT_H

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#define NR_TABLES	4
#define LEN		(NR_TABLES * PMD)
#define PAGES		((long)(LEN / PAGE))
#define SEED		31
/* The process allocates and frees other tables meanwhile. */
#define SLACK		1

enum how { OFF, EAGER, PRESSURE };

/*
 * The memory of a test.
 *
 * @empty, @full: tables of the process without this memory, and with it
 * @kept, @noticed, @freed: mm/unmap's counters when the tables were full
 */
struct tables {
	enum how how;
	char *mem;
	long long empty, full, kept, noticed, freed;
};

long long tables_now(void);
/* Take @empty, with nothing mapped at @mem but upper levels; and then the rest. */
void note_empty(struct tables *t, char *mem);
void note_full(struct tables *t);

/* Map LEN bytes, filled. */
bool map_anon(struct tables *t);
bool map_shmem(struct tables *t, int *fd);
int shmem_file(size_t len);

/* All tables but @left were given back; under "pressure", by reclaim. */
bool given_back(const struct tables *t, int left);
/* No table was given back. */
bool all_there(const struct tables *t);
/*
 * Nor was any taken for empty more than once: a pass that was interrupted in a table takes a glance
 * at it, and may miss the entry that is left.
 */
bool few_noticed(const struct tables *t);
/* The memory reads as zero, and can be filled again. */
bool usable(const struct tables *t);

#endif /* TABLES_COUNT_H */
