// SPDX-License-Identifier: GPL-2.0-only
/* Operations that change what is mapped, and how: see memx.h. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "memx.h"
#include "../../lib/unmap_util.h"

static const int protections[] = {
	PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE,
	PROT_READ, PROT_NONE,
};

#define NR_PROTECTIONS	(sizeof(protections) / sizeof(int))

static int pick_protection(void)
{
	return protections[pick(NR_PROTECTIONS)];
}

static void clear_models(struct range range)
{
	memset(model(range.first), 0, range.nr * sizeof(struct page_model));
}

/* A new VMA is soft-dirty as a whole, and may merge with its neighbours. */
static void mapped_anew(struct range range)
{
	__u32 first = range.first, end = range.first + range.nr;

	while (first && model(first - 1)->backing != UNMAPPED)
		first--;
	while (end < ARENA_PAGES && model(end)->backing != UNMAPPED)
		end++;
	for (; first < end; first++)
		model(first)->whole = true;
}

static void map(struct range range, int prot, int flags, int fd, __u32 index)
{
	void *at = address(range.first);

	if (mmap(at, range.nr * PAGE, prot, flags | MAP_FIXED, fd, index * PAGE) != at)
		differ("mmap failed: %m");
	clear_models(range);
	mapped_anew(range);
}

static void map_memory(struct range range, int prot)
{
	map(range, prot, MAP_PRIVATE | MAP_ANONYMOUS | (chance(8) ? MAP_POPULATE : 0), -1, 0);
	for (__u32 i = 0; i < range.nr; i++) {
		model(range.first + i)->backing = ANON;
		model(range.first + i)->prot = prot;
	}
}

static void map_anon(struct range range)
{
	map_memory(range, pick_protection());
}

void map_fresh(struct range range)
{
	map_memory(range, PROT_READ | PROT_WRITE);
}

static void map_part(struct range range, int prot, bool shared, int object, __u32 index)
{
	map(range, prot, shared ? MAP_SHARED : MAP_PRIVATE, world.objects[object].fd, index);
	for (__u32 i = 0; i < range.nr; i++) {
		struct page_model *page = model(range.first + i);

		page->backing = OBJECT;
		page->shared = shared;
		page->prot = prot;
		page->object = object;
		page->index = index + i;
	}
}

static void map_object(struct range range, bool shared)
{
	int prot = pick_protection(), object = pick(NR_OBJECTS);
	__u32 index = pick(OBJECT_PAGES - 8);

	if (range.nr > OBJECT_PAGES - index)
		range.nr = OBJECT_PAGES - index;
	map_part(range, prot, shared, object, index);
}

/* Map whole folios of shared memory: range and index are aligned to folios. */
void map_shmem(struct range range)
{
	map_part(range, PROT_READ | PROT_WRITE, true, pick(2),
		 pick((OBJECT_PAGES - range.nr) / 16) * 16);
}

void map_table(struct range range)
{
	int prot = chance(2) ? PROT_READ : PROT_READ | PROT_WRITE, object = pick(NR_OBJECTS);

	range.first &= ~511U;
	range.nr = 512;
	map_part(range, prot, chance(2), object, pick(OBJECT_PAGES - range.nr + 1));
	/* Fails beyond the object's end. */
	madvise(address(range.first), range.nr * PAGE, MADV_POPULATE_READ);
}

static void map_shared(struct range range)
{
	map_object(range, true);
}

static void map_private(struct range range)
{
	map_object(range, false);
}

static void unmap(struct range range)
{
	worked(munmap(address(range.first), range.nr * PAGE), "munmap", "");
	clear_models(range);
}

/* Locking populates memory; if it is writable, by write faults, which end the protection. */
static void model_populated(struct page_model *page)
{
	if (page->prot & PROT_WRITE)
		page->protected = false;
}

static void protect(struct range range)
{
	int prot = pick_protection();

	for_each_stretch(part, range) {
		if (model(part.first)->backing == UNMAPPED)
			continue;
		worked(mprotect(address(part.first), part.nr * PAGE, prot), "mprotect", "");
		for (__u32 i = 0; i < part.nr; i++) {
			model(part.first + i)->prot = prot;
			if (model(part.first + i)->locked)
				model_populated(model(part.first + i));
		}
	}
}

/* Pick another range of the same length, and unmap it. */
static bool make_room(struct range range, struct range *room)
{
	room->nr = range.nr;
	room->first = pick(ARENA_PAGES - range.nr + 1);
	if (chance(2))
		room->first = room->first & ~511U;
	if (room->first < range.first + range.nr && range.first < room->first + room->nr)
		return false;
	unmap(*room);
	return true;
}

static bool remap(struct range from, struct range to, int flags)
{
	void *at = mremap(address(from.first), from.nr * PAGE, to.nr * PAGE,
			  MREMAP_MAYMOVE | MREMAP_FIXED | flags, address(to.first));

	/* EFAULT: more than one VMA, although the model knows no difference */
	return worked(at == address(to.first) ? 0 : -1, "mremap", "EFAULT EINVAL");
}

/*
 * A moved VMA loses its registration, and so does, by a bug of Linux, all of the VMA that it
 * is merged with: see docs/stock-bugs.md.
 */
static void forget_marks_around(struct range range)
{
	__u32 first = range.first, end = range.first + range.nr;

	while (first && model(first - 1)->tracked)
		first--;
	while (end < ARENA_PAGES && model(end)->tracked)
		end++;
	for (; first < end; first++)
		forget_marks(model(first));
}

static void move(struct range range)
{
	struct range part = { range.first, stretch(range) }, room;

	if (model(part.first)->backing == UNMAPPED || !make_room(part, &room) ||
	    !remap(part, room, 0))
		return;
	memcpy(model(room.first), model(part.first), part.nr * sizeof(struct page_model));
	if (model(room.first)->tracked)
		forget_marks_around(room);	/* across @part, which Linux unmaps last */
	clear_models(part);
	mapped_anew(room);
}

/* Move the pages; the old range stays mapped, and is empty. */
static void move_leaving(struct range range)
{
	struct range part = { range.first, stretch(range) }, room;
	const struct page_model *page = model(part.first);

	if (page->backing != ANON || page->locked || page->tracked || !make_room(part, &room) ||
	    !remap(part, room, MREMAP_DONTUNMAP))
		return;
	memcpy(model(room.first), model(part.first), part.nr * sizeof(struct page_model));
	mapped_anew(room);
	for (__u32 i = 0; i < part.nr; i++)
		forget(model(part.first + i));
}

static bool resize(struct range range, __u32 nr)
{
	void *at = address(range.first);

	return worked(mremap(at, range.nr * PAGE, nr * PAGE, 0) == at ? 0 : -1,
		      "mremap", "EFAULT EINVAL ENOMEM EAGAIN");
}

static void cut_end(struct range range)
{
	struct range part = { range.first, stretch(range) };
	__u32 kept = part.nr / 2;

	if (model(part.first)->backing == UNMAPPED || !kept || !resize(part, kept))
		return;
	clear_models((struct range){ part.first + kept, part.nr - kept });
}

/* Grow a mapping into the hole behind it. */
static void grow(struct range range)
{
	struct range part = { range.first, stretch(range) };
	const struct page_model *last = model(part.first + part.nr - 1);
	__u32 end = part.first + part.nr, more = 0;

	while (more < 64 && end + more < ARENA_PAGES && model(end + more)->backing == UNMAPPED)
		more++;
	if (last->backing == UNMAPPED || !more ||
	    (last->backing == OBJECT && last->index + more >= OBJECT_PAGES) ||
	    !resize(part, part.nr + more))
		return;
	for (__u32 i = 0; i < more; i++) {
		*model(end + i) = *last;
		forget(model(end + i));
		model(end + i)->index = last->index + i + 1;
	}
	mapped_anew((struct range){ end, more });
}

static void lock_or_unlock(struct range range, bool lock)
{
	for_each_stretch(part, range) {
		const struct page_model *page = model(part.first);

		/* mlock() copies private file pages, and stops at the end of the file */
		if (page->backing != ANON || !readable(page))
			continue;
		worked((lock ? mlock : munlock)(address(part.first), part.nr * PAGE),
		       lock ? "mlock" : "munlock", "");
		for (__u32 i = 0; i < part.nr; i++) {
			model(part.first + i)->locked = lock;
			if (lock)
				model_populated(model(part.first + i));
		}
	}
}

static void lock(struct range range)
{
	if (range.nr <= 64)
		lock_or_unlock(range, true);
}

static void unlock(struct range range)
{
	lock_or_unlock(range, false);
}

/* Advice on what fork() does with the range. */
static void advise_fork(struct range range)
{
	static const int kinds[] = { MADV_DONTFORK, MADV_DOFORK, MADV_WIPEONFORK, MADV_KEEPONFORK };
	/* Stock 7.3.4 warns when a child splits moved memory that was wiped: docs/stock-bugs.md. */
	int advice = kinds[pick(kernel_before(7, 0) ? 4 : 2)];

	for_each_stretch(part, range) {
		if (model(part.first)->backing != ANON)
			continue;
		worked(madvise(address(part.first), part.nr * PAGE, advice), "madvise(fork)", "");
		for (__u32 i = 0; i < part.nr; i++) {
			struct page_model *page = model(part.first + i);

			if (advice == MADV_DONTFORK || advice == MADV_DOFORK)
				page->nofork = advice == MADV_DONTFORK;
			else
				page->wipe = advice == MADV_WIPEONFORK;
		}
	}
}

struct operation map_operations[] = {
	{ "map_anon", 40, map_anon, false },
	{ "map_shared", 24, map_shared, false },
	{ "map_private", 16, map_private, false },
	{ "unmap", 16, unmap, false },
	{ "protect", 30, protect, false },
	{ "move", 16, move, false },
	{ "move_leaving", 8, move_leaving, false },
	{ "cut_end", 4, cut_end, false },
	{ "grow", 8, grow, false },
	{ "lock", 8, lock, false },
	{ "unlock", 10, unlock, false },
	{ "advise_fork", 6, advise_fork, false },
	{ }
};
