// SPDX-License-Identifier: GPL-2.0-only
/* Shared memory and a file, and how their pages go: see ptetables.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "datafile.h"
#include "ptetables.h"

#define FILE_PATH	"/mnt/ptetables.data"
#define FOLIO_KIB	64UL
#define FOLIO	(FOLIO_KIB << 10)

void make_shared(struct range *r)
{
	r->fd = memfd_create("ptetables", 0);
	if (r->fd < 0 || ftruncate(r->fd, r->len))
		fail("cannot make shared memory: %s", strerror(errno));
	r->mem = mmap(r->mem, r->len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->fd, 0);
	if (r->mem == MAP_FAILED)
		fail("cannot map shared memory: %s", strerror(errno));
	touch(r);
	check_ptes();
}

void punch_hole(struct range *r)
{
	if (fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, r->len))
		fail("fallocate failed: %s", strerror(errno));
}

void truncate_all(struct range *r)
{
	if (ftruncate(r->fd, 0))
		fail("ftruncate failed: %s", strerror(errno));
}

/* What was cut off would fault, not read as zero. */
void grow_again(struct range *r)
{
	if (ftruncate(r->fd, r->len))
		fail("ftruncate failed: %s", strerror(errno));
}

/*
 * A file with FOLIO bytes for each table, one folio each: XFS makes a folio as
 * large as what is written at once.  Reading would need 1 GiB of sequential
 * read-ahead to get there.
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
