// SPDX-License-Identifier: GPL-2.0-only
/* The memory that migrate moves: see migrate.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "migrate.h"
#include "lib/datafile.h"
#include "lib/nodes.h"

#define FILE_PATH	"/mnt/migrate.data"

static char *load_anon(size_t len, unsigned long kib)
{
	char *mem = map_anon(len);

	thp_only(kib);
	stamp_pages(mem, len, 0);
	thp_only(4);
	if (kib > 4)
		split_mapping(mem, len);
	check_folios(mem, len, kib);
	return mem;
}

/* Map the memory half a folio behind an address that is aligned to a page table. */
static char *straddle(char *mem, size_t len, unsigned long kib)
{
	char *to = map_anon(len + 2 * MIB) + kib * 1024 / 2;

	if (mremap(mem, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		fail("mremap failed: %s", strerror(errno));
	return to;
}

/* Children that map the memory until they are told to end. */
static void share(struct cargo *cargo, int sharers)
{
	for (int i = 0; i < sharers; i++) {
		cargo->sharers[i] = fork();
		if (cargo->sharers[i] < 0)
			fail("fork failed: %s", strerror(errno));
		if (!cargo->sharers[i]) {
			child_prepared();
			_exit(0);
		}
		await_child(cargo->sharers[i]);
	}
}

static char *load_file(size_t len)
{
	int fd = make_file(FILE_PATH, len);
	char *mem = map_file(fd, len, MAP_SHARED);

	unlink(FILE_PATH);
	read_file(fd, len);
	close(fd);
	check_contents(mem, len);
	return mem;
}

static void *allocate(size_t nr, size_t size)
{
	void *mem = calloc(nr, size);

	if (!mem)
		fail("out of memory");
	return mem;
}

static void prepare_leg(struct leg *leg, unsigned long folios, int node)
{
	leg->nodes = allocate(folios, sizeof(*leg->nodes));
	leg->status = allocate(folios, sizeof(*leg->status));
	for (unsigned long i = 0; i < folios; i++) {
		leg->nodes[i] = node;
		leg->status[i] = -ECANCELED;	/* the kernel must overwrite it */
	}
}

static void list_heads(struct cargo *cargo, const struct freight *freight)
{
	unsigned long pages = cargo->len / PAGE, nr = 0;
	unsigned int *order;
	bool *heads = allocate(pages, sizeof(*heads));
	struct census census = map_folios(cargo->mem, cargo->len, heads);

	check_ptes();
	if (census.pages != pages || (!freight->kib && census.folios > pages / 8))
		fail("%lu of %lu pages are mapped, in %lu folios", census.pages, pages,
		     census.folios);
	cargo->folios = census.folios;
	cargo->heads = allocate(census.folios, sizeof(*cargo->heads));
	order = make_order(census.folios, freight->shuffled);
	for (unsigned long i = 0; i < pages; i++)
		if (heads[i])
			cargo->heads[order[nr++]] = cargo->mem + i * PAGE;
	free(order);
	free(heads);
}

struct cargo load(size_t len, const struct freight *freight, int node)
{
	struct cargo cargo = { .len = len };

	allocate_on(node);
	cargo.mem = freight->kib ? load_anon(len, freight->kib) : load_file(len);
	allocate_on(-1);
	if (freight->straddled)
		cargo.mem = straddle(cargo.mem, len, freight->kib);
	list_heads(&cargo, freight);
	share(&cargo, freight->sharers);
	for (int to = 0; to < 2; to++)
		prepare_leg(&cargo.to[to], cargo.folios, to);
	inspect(&cargo, node);
	return cargo;
}

unsigned long inspect(const struct cargo *cargo, int node)
{
	check_node(cargo->mem, cargo->len, node);
	check_contents(cargo->mem, cargo->len);
	return take_census(cargo->mem, cargo->len).folios;
}

void unload(struct cargo *cargo)
{
	for (int i = 0; i < 8 && cargo->sharers[i]; i++) {
		release_child(cargo->sharers[i]);
		reap_child(cargo->sharers[i]);
	}
	munmap(cargo->mem, cargo->len);
	for (int to = 0; to < 2; to++) {
		free(cargo->to[to].nodes);
		free(cargo->to[to].status);
	}
	free(cargo->heads);
}
