// SPDX-License-Identifier: GPL-2.0-only
/* Operations that change the content of pages, or read it: see memx.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "memx.h"

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif

static __u32 new_stamp(void)
{
	if (!++world.stamp)
		++world.stamp;
	return world.stamp;
}

static void write_page(__u32 nr)
{
	int first = pick(SECTORS), end = chance(2) ? SECTORS : first + 1;
	__u32 stamp = new_stamp();

	for (int i = chance(2) ? 0 : first; i < end; i++) {
		fill_sector(address(nr) + i * SECTOR, stamp);
		model_write(nr, i, stamp);
	}
}

static void write_pages(struct range range)
{
	__u32 step = range.nr > 16 ? 1 + pick(range.nr / 8) : 1;

	for (__u32 i = 0; i < range.nr; i += step)
		if (writable(model(range.first + i)))
			write_page(range.first + i);
}

static void read_pages(struct range range)
{
	__u32 step = range.nr > 16 ? 1 + pick(range.nr / 8) : 1;

	for (__u32 i = 0; i < range.nr; i += step)
		check_page(range.first + i);
}

/* Write through process_vm_writev(), which pins the page. */
static void write_remote(struct range range)
{
	char data[SECTOR];
	struct iovec local = { data, SECTOR }, remote = { address(range.first), SECTOR };
	__u32 stamp = new_stamp();

	if (!writable(model(range.first)))
		return;
	fill_sector(data, stamp);
	if (process_vm_writev(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)SECTOR)
		differ("process_vm_writev to page %u failed: %m", range.first);
	model_write(range.first, 0, stamp);
}

static void read_remote(struct range range)
{
	char data[PAGE];
	struct iovec local = { data, PAGE }, remote = { address(range.first), PAGE };
	bool got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)PAGE;
	const struct page_model *page = model(range.first);

	if (got && across_end(page))
		return;
	if (got != readable(page))
		differ("page %u can%s be read", range.first, got ? "" : "not");
	if (got)
		expect(range.first, data);
}

static void drop(struct page_model *page)
{
	page->protected = false;
	if (!page->shared)
		forget(page);
}

static void dontneed(struct range range)
{
	bool locked_too = chance(4);
	int advice = locked_too ? MADV_DONTNEED_LOCKED : MADV_DONTNEED;

	for_each_stretch(part, range) {
		const struct page_model *page = model(part.first);

		if (page->backing == UNMAPPED || (page->locked && !locked_too))
			continue;
		worked(madvise(address(part.first), part.nr * PAGE, advice), "MADV_DONTNEED", "");
		for (__u32 i = 0; i < part.nr; i++)
			drop(model(part.first + i));
	}
}

/* In many small calls, as allocators do it. */
static void dontneed_pieces(struct range range)
{
	__u32 piece = 1 + pick(16);

	for (__u32 i = 0; i + piece <= range.nr; i += piece + pick(2))
		dontneed((struct range){ range.first + i, piece });
}

/*
 * Linux 6.12 loses pages that a process never freed: a page that was read from swap, has no
 * dirty bit, and is shared by fork() is dropped after MADV_FREE in the other process.  This
 * bug is known (fork_then_free in lazyfree.c); avoid it here.
 */
static bool may_free(struct range part)
{
	const struct page_model *page = model(part.first);

	if (page->backing != ANON || page->locked || page->forked || !readable(page))
		return false;
	check_range(part);	/* settles pages with @half */
	return true;
}

void lazyfree(struct range range)
{
	for_each_stretch(part, range) {
		if (!may_free(part))
			continue;
		worked(madvise(address(part.first), part.nr * PAGE, MADV_FREE), "MADV_FREE", "");
		for (__u32 i = 0; i < part.nr; i++) {
			model(part.first + i)->lazy = true;
			model(part.first + i)->soft_dirty = false;
			model(part.first + i)->protected = false;
		}
	}
}

/* MADV_FREE, write some pages, then reclaim. */
static void lazyfree_and_reclaim(struct range range)
{
	lazyfree(range);
	for (__u32 n = pick(4); n; n--) {
		__u32 nr = range.first + pick(range.nr);

		if (writable(model(nr)))
			write_page(nr);
	}
	madvise(address(range.first), range.nr * PAGE, MADV_PAGEOUT);
}

/* A page whose entry is gone must not be read through a stale translation. */
static void free_and_look(struct range range)
{
	__u64 entries[16];

	range.first &= ~15U;
	range.nr = 16;
	map_fresh(range);
	write_all(range);
	lazyfree(range);
	check_range(range);
	madvise(address(range.first), range.nr * PAGE, MADV_PAGEOUT);
	pagemap_range(address(range.first), entries, range.nr);
	for (__u32 i = 0; i < range.nr; i++)
		if (!(entries[i] & (PM_PRESENT | PM_SWAP)))
			vanish(model(range.first + i));
	check_range(range);
}

void write_all(struct range range)
{
	for (__u32 i = 0; i < range.nr; i++)
		if (writable(model(range.first + i)))
			write_page(range.first + i);
}

static void copied(struct page_model *page)
{
	if (page->backing == OBJECT && !page->shared && !page->copied) {
		page->own = world.objects[page->object].pages[page->index];
		page->copied = true;
	}
	page->protected = false;
}

static void populate_write(struct range range)
{
	for_each_stretch(part, range) {
		while (part.nr && !writable(model(part.first + part.nr - 1)))
			part.nr--;
		if (!part.nr) {
			part.nr = 1;
			continue;
		}
		worked(madvise(address(part.first), part.nr * PAGE, MADV_POPULATE_WRITE),
		       "MADV_POPULATE_WRITE", "");
		for (__u32 i = 0; i < part.nr; i++)
			copied(model(part.first + i));
	}
}

/* Objects through their files. */

static struct object *pick_object(__u32 *index, __u32 *nr)
{
	struct object *object = &world.objects[pick(NR_OBJECTS)];

	*index = pick(OBJECT_PAGES);
	*nr = 1 + pick(chance(4) ? 256 : 16);
	if (*nr > OBJECT_PAGES - *index)
		*nr = OBJECT_PAGES - *index;
	return object;
}

static void zero_pages(struct object *object, __u32 index, __u32 nr)
{
	memset(&object->pages[index], 0, nr * sizeof(struct content));
	object_changed(object - world.objects, index, nr);
}

static void punch(struct range range)
{
	__u32 index, nr;
	struct object *object = pick_object(&index, &nr);

	(void)range;
	if (world.frozen)
		return;
	worked(fallocate(object->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, index * PAGE,
			 nr * PAGE), "fallocate(PUNCH_HOLE)", "");
	zero_pages(object, index, nr);
}

/* Truncation removes private copies of the pages, too. */
static void drop_copies(int object, __u32 index)
{
	for (__u32 i = 0; i < ARENA_PAGES; i++) {
		struct page_model *page = model(i);

		if (page->backing == OBJECT && page->object == object && page->index >= index)
			drop(page);
	}
}

/*
 * Truncation in the middle of a large folio that was swapped out never ends in stock kernels: see
 * docs/stock-bugs.md.  A hole in that place has the folio read in and split first.
 */
static void split_at(const struct object *object, __u32 index)
{
	worked(fallocate(object->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, index * PAGE,
			 PAGE), "fallocate(PUNCH_HOLE)", "");
}

static void truncate_object(struct range range)
{
	struct object *object = &world.objects[pick(NR_OBJECTS)];
	__u32 size = chance(2) ? OBJECT_PAGES : pick(OBJECT_PAGES);

	(void)range;
	if (world.frozen)
		return;
	if (size < OBJECT_PAGES)
		split_at(object, size);
	worked(ftruncate(object->fd, size * PAGE), "ftruncate", "");
	if (size < object->size) {
		zero_pages(object, size, OBJECT_PAGES - size);
		drop_copies(object - world.objects, size);
	}
	object->size = size;
}

static void write_to_file(struct range range)
{
	__u32 index, nr, stamp = new_stamp();
	struct object *object = pick_object(&index, &nr);
	char data[SECTOR];

	(void)range;
	if (world.frozen || index >= object->size)
		return;
	fill_sector(data, stamp);
	if (pwrite(object->fd, data, SECTOR, index * PAGE) != (ssize_t)SECTOR)
		differ("pwrite failed: %m");
	object->pages[index].sector[0] = stamp;
}

static void sync_file(struct range range)
{
	(void)range;
	worked(fdatasync(world.objects[pick(NR_OBJECTS)].fd), "fdatasync", "");
}

/* MADV_REMOVE punches a hole through a mapping. */
void remove_pages(struct range range)
{
	struct range part = { range.first, stretch(range) };
	const struct page_model *page = model(part.first);

	if (page->backing != OBJECT || !page->shared || !(page->prot & PROT_WRITE) || world.frozen)
		return;
	worked(madvise(address(part.first), part.nr * PAGE, MADV_REMOVE), "MADV_REMOVE", "");
	zero_pages(&world.objects[page->object], page->index, part.nr);
}

struct operation content_operations[] = {
	{ "write", 1500, write_pages, false },
	{ "read", 1000, read_pages, false },
	{ "write_remote", 150, write_remote, false },
	{ "read_remote", 200, read_remote, false },
	{ "dontneed", 40, dontneed, false },
	{ "dontneed_pieces", 10, dontneed_pieces, false },
	{ "lazyfree", 40, lazyfree, false },
	{ "lazyfree_and_reclaim", 40, lazyfree_and_reclaim, false },
	{ "free_and_look", 6, free_and_look, false },
	{ "populate_write", 12, populate_write, false },
	{ "punch", 12, punch, false },
	{ "truncate", 6, truncate_object, false },
	{ "write_file", 30, write_to_file, false },
	{ "sync_file", 3, sync_file, false },
	{ "remove", 8, remove_pages, false },
	{ }
};
