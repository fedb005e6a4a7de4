// SPDX-License-Identifier: GPL-2.0-only
/*
 * compact CASE: memory node 1 is filled with anonymous folios of SIZE, mapped by PTEs, and three of
 * four are given back, in an order that looks random.
 *
 * SIZE:         compaction of the whole node: instructions for each huge page that is free
 *               afterwards, and was not before
 * SIZE-contig:  the kernel makes a hugetlb page of 1 GiB there, which has to move what is in its way
 *
 * What is reported per page is per 2 MiB won here.
 *
 * Before and after: the folios that stay are on node 1 and read as written; no other memory is
 * mapped.  moved and failed are pages, as the kernel counts them; folios_back shows whether folios
 * were split on the way.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/datafile.h"
#include "lib/nodes.h"
#include "lib/workload.h"

#define NODE		"/sys/devices/system/node/node1/"
#define GIGANTIC	NODE "hugepages/hugepages-1048576kB/"
#define SPARED		(384 * MIB)	/* of the node: nothing shall be reclaimed */
#define HUGE_ORDER	9
#define VMSTAT		"/proc/vmstat"

/**
 * struct rubble - memory that lies about
 * @mem: all addresses
 * @folio: bytes of each folio
 * @kept: which folios stay, by number
 * @nr: how many stay
 */
struct rubble {
	char *mem;
	size_t len, folio;
	unsigned int *kept;
	size_t nr;
};

static char *folio_at(const struct rubble *r, size_t i)
{
	return r->mem + r->kept[i] * r->folio;
}

static void fill(struct rubble *r, unsigned long kib)
{
	r->len = (read_field(NODE "meminfo", "Node 1 MemFree:") * 1024 - SPARED) & ~(2 * MIB - 1);
	r->folio = kib * 1024;
	r->mem = map_anon(r->len);
	/* Page tables on node 1 could not be moved out of the way. */
	bind_range(r->mem, r->len, 1);
	thp_only(kib);
	stamp_pages(r->mem, r->len, 0);
	thp_only(4);
	check_folios(r->mem, r->len, kib);
	check_node(r->mem, r->len, 1);
}

static void scatter(struct rubble *r)
{
	size_t folios = r->len / r->folio;
	unsigned int *order = make_order(folios, true);

	r->kept = order;
	r->nr = folios / 4;
	for (size_t i = r->nr; i < folios; i++)
		advise(r->mem + order[i] * r->folio, r->folio, MADV_DONTNEED);
}

/* Fail unless what stays is on node 1, and reads as written.  Returns how many folios that is. */
static unsigned long inspect(const struct rubble *r)
{
	struct census census = take_census(r->mem, r->len);

	if (census.pages != r->nr * (r->folio / PAGE))
		fail("%lu pages are mapped", census.pages);
	for (size_t i = 0; i < r->nr; i++) {
		u64 first = (folio_at(r, i) - r->mem) / PAGE;

		check_node(folio_at(r, i), r->folio, 1);
		check_stamps(folio_at(r, i), r->folio, first);
	}
	return census.folios;
}

/* Free blocks of node 1, in units of 2 MiB: of that size, or larger. */
static u64 free_huge_pages(void)
{
	FILE *file = fopen("/proc/buddyinfo", "r");
	char line[512];
	u64 nr = 0;

	if (!file)
		skip("there is no /proc/buddyinfo");
	while (fgets(line, sizeof(line), file)) {
		unsigned long blocks;
		int node, at = 0, skipped;

		if (sscanf(line, "Node %d, zone %*s%n", &node, &at) != 1 || node != 1)
			continue;
		for (int order = 0; sscanf(line + at, "%lu%n", &blocks, &skipped) == 1; order++) {
			at += skipped;
			if (order >= HUGE_ORDER)
				nr += blocks << (order - HUGE_ORDER);
		}
	}
	fclose(file);
	return nr;
}

static u64 win_by_compaction(u64 *spent)
{
	u64 before = free_huge_pages(), start = measure_begin();

	write_text(NODE "compact", "1");
	*spent = measure_end(start);
	return free_huge_pages() - before;
}

static u64 win_gigantic(u64 *spent)
{
	u64 start;

	if (!path_exists(GIGANTIC))
		skip("this processor has no pages of 1 GiB");
	start = measure_begin();
	write_text(GIGANTIC "nr_hugepages", "1");
	*spent = measure_end(start);
	if (read_number(GIGANTIC "nr_hugepages") != 1)
		fail("the kernel could not make a page of 1 GiB");
	write_text(GIGANTIC "nr_hugepages", "0");
	return GIB / (2 * MIB);
}

static bool parse_case(const char *name, unsigned long *kib)
{
	const char *word = name + strcspn(name, "-");
	char size[16];

	snprintf(size, sizeof(size), "%.*s", (int)(word - name), name);
	*kib = parse_folio(size);
	if (*word && strcmp(word, "-contig"))
		fail("there is no case %s", name);
	return *word;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "compact 4K…1024K[-contig] [--full]");
	unsigned long kib, before;
	bool contig = parse_case(req.name, &kib);
	u64 spent, won, moved, failed;
	struct rubble rubble;

	need_nodes(GIB);
	settle();
	fill(&rubble, kib);
	scatter(&rubble);
	settle();
	before = inspect(&rubble);
	moved = read_field(VMSTAT, "pgmigrate_success");
	failed = read_field(VMSTAT, "pgmigrate_fail");
	won = contig ? win_gigantic(&spent) : win_by_compaction(&spent);
	moved = read_field(VMSTAT, "pgmigrate_success") - moved;
	failed = read_field(VMSTAT, "pgmigrate_fail") - failed;
	if (!moved || (int64_t)won <= 0)
		fail("%llu pages moved, %lld huge pages were won", (unsigned long long)moved,
		     (long long)won);

	report(spent, won);
	metric("moved", moved, "pages");
	metric("failed", failed, "pages");
	metric("folios", before, "folios");
	metric("folios_back", inspect(&rubble), "folios");
	return 0;
}
