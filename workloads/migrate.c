// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate CASE: move_pages() of 128 MiB (--mib N) from memory node 0 to node 1 and
 * back: two moves of each page are measured, copying included.
 *
 * SIZE:           anonymous memory in folios of SIZE, mapped by PTEs
 * SIZE-shuffled:  the folios are named in an order that looks random
 * SIZE-shared:    eight more processes map the memory
 * SIZE-straddled: two page tables map some of the folios
 * file:           a mapped file on XFS, in the large folios that read-ahead made
 *
 * move_pages() gets one address of each folio: it refuses further addresses of a folio
 * that it is moving.  Two cargoes make the round trip.  The first is checked on both
 * nodes, the second is measured.
 *
 * Before and after each trip: every page is on its node and reads as written.
 * folios, folios_there and folios_back show whether the kernel split folios on the way:
 * stock 6.12 unmaps page by page, marks the folio as partially mapped meanwhile, and
 * splits it when it moves it again.  partly_mapped and after_shrinkers are what the first cargo
 * is after its trip: folios that count as partially mapped, and all folios after shrinkers ran.
 *
 * but_copying leaves out what copying costs on a processor with fast string operations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/nodes.h"
#include "migrate.h"

static long move(const struct cargo *cargo, int node)
{
	const struct leg *leg = &cargo->to[node];

	return move_pages(cargo->folios, cargo->heads, leg->nodes, leg->status);
}

static void check_move(const struct cargo *cargo, int node, long left)
{
	if (left)
		fail("of %lu folios for node %d, move_pages() left %ld: %s", cargo->folios, node,
		     left, strerror(errno));
	for (unsigned long i = 0; i < cargo->folios; i++)
		if (cargo->to[node].status[i] != node)
			fail("folio %lu did not reach node %d: %d", i, node,
			     cargo->to[node].status[i]);
}

/* copy_mc_to_kernel() of a page, and what calls it for the page: measured with a profile. */
#define COPYING	4102

struct trip {
	u64 there;	/* instructions */
	u64 both;
	unsigned long folios[2];	/* found on arrival at each node */
};

static struct trip try_trip(const struct cargo *cargo)
{
	struct trip trip = { .both = 0 };

	for (int node = 1; node >= 0; node--) {
		check_move(cargo, node, move(cargo, node));
		trip.folios[node] = inspect(cargo, node);
	}
	return trip;
}

static struct trip measure_trip(const struct cargo *cargo)
{
	u64 start = measure_begin();
	struct trip trip;
	long there, back;

	there = move(cargo, 1);
	trip.there = clock_now() - start;
	back = move(cargo, 0);
	trip.both = measure_end(start);
	check_move(cargo, 1, there);
	check_move(cargo, 0, back);
	trip.folios[0] = inspect(cargo, 0);
	return trip;
}

/* The kind of memory that a case's name stands for. */
static struct freight parse_freight(const char *name)
{
	const char *word = strchr(name, '-') ? strchr(name, '-') + 1 : "";
	struct freight freight = {
		.shuffled = !strcmp(word, "shuffled"),
		.straddled = !strcmp(word, "straddled"),
		.sharers = strcmp(word, "shared") ? 0 : 8,
	};
	char size[16];

	if (!strcmp(name, "file"))
		return freight;
	snprintf(size, sizeof(size), "%.*s", (int)strcspn(name, "-"), name);
	freight.kib = parse_folio(size);
	if (*word && !freight.shuffled && !freight.straddled && !freight.sharers)
		fail("there is no case %s", name);
	return freight;
}

/* What becomes of the folios of a cargo that came back, once memory is short. */
struct aftermath {
	u64 partly;
	unsigned long folios;
};

static struct aftermath shrink(const struct cargo *cargo, const struct freight *freight)
{
	struct aftermath after = { .folios = 0 };

	if (freight->kib > 4)
		after.partly = thp_stat(freight->kib, "nr_anon_partially_mapped");
	write_text("/proc/sys/vm/drop_caches", "2");
	after.folios = inspect(cargo, 0);
	return after;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv,
					   "migrate 4K…2048K[-shuffled|-shared|-straddled]|file [--full] [--mib N]");
	const struct freight freight = parse_freight(req.name);
	const size_t len = wanted_size(&req, 128 * MIB, 128 * MIB);
	struct aftermath after;
	struct trip tried, trip;
	struct cargo cargo;

	need_nodes(len);
	settle();
	cargo = load(len, &freight, 0);
	tried = try_trip(&cargo);
	after = shrink(&cargo, &freight);
	unload(&cargo);
	cargo = load(len, &freight, 0);
	trip = measure_trip(&cargo);
	if (trip.folios[0] != tried.folios[0])
		fail("%lu folios came back, but %lu the first time", trip.folios[0],
		     tried.folios[0]);

	report(trip.both, 2 * len / PAGE);
	metric("there", trip.there, "instructions");
	metric("back", trip.both - trip.there, "instructions");
	metric("but_copying", trip.both - 2 * len / PAGE * COPYING, "instructions");
	metric("folios", cargo.folios, "folios");
	metric("folios_there", tried.folios[1], "folios");
	metric("folios_back", trip.folios[0], "folios");
	metric("partly_mapped", after.partly, "folios");
	metric("after_shrinkers", after.folios, "folios");
	return 0;
}
