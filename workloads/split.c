// SPDX-License-Identifier: GPL-2.0-only
/*
 * split CASE: MADV_COLD of the first page of each folio, in 128 MiB (--mib N) of anonymous memory
 * in folios of SIZE (64K, 1024K, 2048K: the last mapped by PMDs).  It ages that page alone, and
 * splits the folio because of that.
 *
 * SIZE-zero: all pages but that one are full of zeroes.
 *
 * Report the second of two passes.  What is reported per page is per folio here.
 *
 * Before: every folio has the size of the case.  After: all pages are single, and read as written;
 * of SIZE-zero, the memory of all but one page of each folio is free.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/workload.h"

/* What a page has in its first word; 0: nothing but zeroes. */
static u64 content(size_t at, size_t folio, bool zero)
{
	return zero && at % folio ? 0 : at / PAGE + 1;
}

static char *load(size_t len, size_t folio, bool zero)
{
	char *mem = map_anon(len);

	for (size_t at = 0; at < len; at += PAGE)
		*(volatile u64 *)(mem + at) = content(at, folio, zero);
	check_folios(mem, len, folio / 1024);
	return mem;
}

static void check(const char *mem, size_t len, size_t folio, bool zero)
{
	struct census census = take_census(mem, len);

	if (census.folios != census.pages)
		fail("%lu of %lu pages are single", census.folios, census.pages);
	if (zero && read_field("/proc/self/status", "RssAnon:") * 1024 > len / 2)
		fail("pages full of zeroes keep their memory");
	for (size_t at = 0; at < len; at += PAGE)
		if (*(const volatile u64 *)(mem + at) != content(at, folio, zero))
			fail("page %zu does not read as written", at / PAGE);
}

static u64 pass(size_t len, size_t folio, bool zero)
{
	char *mem = load(len, folio, zero);
	u64 start = measure_begin();

	for (size_t at = 0; at < len; at += folio)
		advise(mem + at, PAGE, MADV_COLD);
	start = measure_end(start);
	check(mem, len, folio, zero);
	munmap(mem, len);
	return start;
}

/* Whether the case's name ends in -zero; its folio size in KiB. */
static bool parse_case(const char *name, unsigned long *kib)
{
	const char *word = name + strcspn(name, "-");
	char size[16];

	snprintf(size, sizeof(size), "%.*s", (int)(word - name), name);
	*kib = parse_folio(size);
	if ((*word && strcmp(word, "-zero")) || *kib < 16)
		fail("there is no case %s", name);
	return *word;
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "split 64K…2048K[-zero] [--full] [--mib N]");
	const size_t len = wanted_size(&req, 128 * MIB, 128 * MIB);
	unsigned long kib;
	bool zero = parse_case(req.name, &kib);
	u64 spent;

	need_memory(3 * len);
	settle();
	thp_only(kib);
	pass(len, kib * 1024, zero);
	spent = pass(len, kib * 1024, zero);
	report(spent, len / (kib * 1024));
	return 0;
}
