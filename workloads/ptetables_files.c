// SPDX-License-Identifier: GPL-2.0-only
/* Ways to empty mappings of shared memory and of a file: see ptetables.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/datafile.h"
#include "ptetables.h"

#define FILE_PATH	"/mnt/ptetables.data"
#define FOLIO_KIB	64UL
#define FOLIO	(FOLIO_KIB << 10)

void make_shared(struct range *r)
{
	r->fd = map_shared(r->mem, r->len);
	touch(r);
	check_ptes();
}

void punch_hole(struct range *r)
{
	punch(r->fd, 0, r->len);
}

void truncate_all(struct range *r)
{
	if (ftruncate(r->fd, 0))
		fail("ftruncate failed: %s", strerror(errno));
}

/* Restore the file's length for the checks: reading beyond its end raises SIGBUS. */
void grow_again(struct range *r)
{
	if (ftruncate(r->fd, r->len))
		fail("ftruncate failed: %s", strerror(errno));
}

/*
 * Write one folio of FOLIO bytes for each table: XFS makes a folio as large as the
 * write() that fills it.  Reading would make such folios only after 1 GiB of read-ahead.
 */
static void write_folios(struct range *r)
{
	static char data[FOLIO];

	memset(data, r->byte, FOLIO);
	for (size_t i = 0; i < r->len; i += r->step)
		if (pwrite(r->fd, data, FOLIO, i) != FOLIO)
			fail("cannot write the file: %s", strerror(errno));
	if (fsync(r->fd))
		fail("cannot sync the file: %s", strerror(errno));
}

void make_mapped_file(struct range *r)
{
	r->byte = 7;
	r->pages = r->len / r->step * (FOLIO / PAGE);
	need_space(r->pages * PAGE);
	r->fd = open(FILE_PATH, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (r->fd < 0 || ftruncate(r->fd, r->len))
		skip("cannot make " FILE_PATH ": %s", strerror(errno));
	unlink(FILE_PATH);
	write_folios(r);
	r->mem = map_file(r->fd, r->len, MAP_SHARED);
	for (size_t i = 0; i < r->len; i += r->step) {
		for (size_t page = 0; page < FOLIO; page += PAGE)
			READ_ONCE(r->mem[i + page]);
		check_folios(r->mem + i, FOLIO, FOLIO_KIB);
	}
	check_ptes();
}
