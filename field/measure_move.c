// SPDX-License-Identifier: GPL-2.0-only
/* The row of memory that moves to another node and back: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../workloads/lib/nodes.h"
#include "measure.h"

/* The arguments of move_pages(): the first address of each folio. */
struct trip {
	unsigned long folios;
	void **heads;
	int *nodes, *status;
};

static struct trip plan(char *mem, size_t len, size_t folio)
{
	struct trip trip = { .folios = len / folio };

	trip.heads = calloc(trip.folios, sizeof(*trip.heads));
	trip.nodes = calloc(trip.folios, sizeof(*trip.nodes));
	trip.status = calloc(trip.folios, sizeof(*trip.status));
	if (!trip.heads || !trip.nodes || !trip.status)
		fail("out of memory");
	for (unsigned long i = 0; i < trip.folios; i++)
		trip.heads[i] = mem + i * folio;
	return trip;
}

/* Returns how many folios did not come. */
static unsigned long move_to(const struct trip *trip, int node)
{
	unsigned long left = 0;

	for (unsigned long i = 0; i < trip->folios; i++)
		trip->nodes[i] = node;
	if (move_pages(trip->folios, trip->heads, trip->nodes, trip->status) < 0)
		skip("move_pages failed: %s", strerror(errno));
	for (unsigned long i = 0; i < trip->folios; i++)
		left += trip->status[i] != node;
	return left;
}

void move_there_and_back(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row), folio = row->kib * 1024;
	unsigned long left;
	struct trip trip;
	u64 start;

	need_nodes(len);
	allocate_on(0);
	trip = plan(fill_anon(len, row->kib), len, folio);
	allocate_on(-1);
	start = measure_begin();
	left = move_to(&trip, 1);
	left += move_to(&trip, 0);
	sample->ns = measure_end(start);
	/* Each way counts. */
	note_gone(sample, 2 * len, left * (folio / PAGE));
}
