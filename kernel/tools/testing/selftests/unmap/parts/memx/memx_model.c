// SPDX-License-Identifier: GPL-2.0-only
/* The content that each page must have, and the comparison: see memx.h. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memx.h"

#define WORDS		(SECTOR / sizeof(__u64))

static __u64 word(__u32 stamp, size_t i)
{
	return stamp ? stamp * 0x9e3779b97f4a7c15ULL + i * 0x100000001b3ULL : 0;
}

void fill_sector(void *sector, __u32 stamp)
{
	__u64 *words = sector;

	for (size_t i = 0; i < WORDS; i++)
		words[i] = word(stamp, i);
}

/* The first word of a sector that does not match the stamp; WORDS: all of them match. */
static size_t first_wrong(const char *data, int sector, __u32 stamp)
{
	const __u64 *words = (const __u64 *)(data + sector * SECTOR);
	size_t i = 0;

	while (i < WORDS && words[i] == word(stamp, i))
		i++;
	return i;
}

static bool sector_is(const char *data, int sector, __u32 stamp)
{
	return first_wrong(data, sector, stamp) == WORDS;
}

static const struct object *object_of(const struct page_model *page)
{
	return &world.objects[page->object];
}

static bool beyond_end(const struct page_model *page)
{
	return page->backing == OBJECT && page->index >= object_of(page)->size;
}

/*
 * Beyond the end of shmem, but in its last huge page: if an extra reference kept truncation
 * from splitting it, Linux maps the whole huge page, on purpose.
 */
bool across_end(const struct page_model *page)
{
	const __u32 huge = (2 << 20) / PAGE;

	return beyond_end(page) && page->object < NR_SHMEM &&
	       page->index / huge == (object_of(page)->size - 1) / huge;
}

bool readable(const struct page_model *page)
{
	return page->backing != UNMAPPED && page->prot & PROT_READ && !beyond_end(page);
}

bool writable(const struct page_model *page)
{
	return readable(page) && page->prot & PROT_WRITE &&
	       !(page->shared && world.frozen);
}

static const struct content *content(const struct page_model *page)
{
	if (page->backing == ANON || page->copied)
		return &page->own;
	return &object_of(page)->pages[page->index];
}

void forget(struct page_model *page)
{
	page->copied = false;
	page->forked = false;
	page->lazy = false;
	page->half = false;
	page->soft_dirty = false;
	page->protected = false;
	page->written = 0;
	memset(&page->own, 0, sizeof(page->own));
}

/* The first write since MADV_FREE: the other sectors may be zero already. */
static void model_own_write(struct page_model *page, int sector, __u32 stamp)
{
	if (page->backing == OBJECT && !page->copied) {
		page->own = *content(page);
		page->copied = true;
	}
	if (page->lazy) {
		page->lazy = false;
		page->half = true;
		page->written = 0;
	}
	page->forked = false;
	page->written |= 1U << sector;
	page->own.sector[sector] = stamp;
	page->soft_dirty |= world.soft_dirty_works && !page->ksm && !page->whole;
}

void model_write(__u32 nr, int sector, __u32 stamp)
{
	struct page_model *page = model(nr);

	page->protected = false;
	if (page->shared)
		world.objects[page->object].pages[page->index].sector[sector] = stamp;
	else
		model_own_write(page, sector, stamp);
}

static bool may_vanish(const struct page_model *page, int sector)
{
	return page->own.sector[sector] &&
	       (page->lazy || (page->half && !(page->written & (1U << sector))));
}

/* The page was freed: the sectors that were not written since are zero from now on. */
void vanish(struct page_model *page)
{
	for (int i = 0; i < SECTORS; i++)
		if (may_vanish(page, i))
			page->own.sector[i] = 0;
	page->lazy = false;
	page->half = false;
}

static void mismatch(__u32 nr, const char *data, int sector, __u32 stamp)
{
	size_t at = first_wrong(data, sector, stamp) % WORDS;
	const __u64 *words = (const __u64 *)(data + sector * SECTOR);

	differ("page %u byte %zu: %#llx instead of %#llx", nr,
	       sector * SECTOR + at * sizeof(*words), (unsigned long long)words[at],
	       (unsigned long long)word(stamp, at));
}

/* The page may be freed while it is being read: each sector has its old content, or is zero. */
static void expect_lazy(__u32 nr, const char *data)
{
	struct page_model *page = model(nr);
	bool gone = false;

	for (int i = 0; i < SECTORS; i++) {
		if (sector_is(data, i, page->own.sector[i]))
			continue;
		if (!sector_is(data, i, 0))
			mismatch(nr, data, i, page->own.sector[i]);
		gone = true;
	}
	if (gone)
		vanish(page);
}

/* Find out from the first sector that tells whether the old content is there or was freed. */
static void settle(struct page_model *page, const char *data)
{
	for (int i = 0; i < SECTORS && page->half; i++) {
		if (!may_vanish(page, i))
			continue;
		if (sector_is(data, i, 0))
			vanish(page);
		page->half = false;
	}
	page->half = false;
}

void expect(__u32 nr, const char *data)
{
	struct page_model *page = model(nr);
	const struct content *want;

	if (page->lazy) {
		expect_lazy(nr, data);
		return;
	}
	if (page->half)
		settle(page, data);
	want = content(page);
	for (int i = 0; i < SECTORS; i++)
		if (!sector_is(data, i, want->sector[i]))
			mismatch(nr, data, i, want->sector[i]);
}

void check_page(__u32 nr)
{
	struct page_model *page = model(nr);
	bool lazy = page->lazy;

	if (!readable(page))
		return;
	expect(nr, address(nr));
	if (lazy && !page->lazy)
		expect(nr, address(nr));
}

void check_range(struct range range)
{
	for (__u32 i = 0; i < range.nr; i++)
		check_page(range.first + i);
}

static void check_marks(__u32 nr, __u64 entry)
{
	const struct page_model *page = model(nr);

	if (page->soft_dirty && !(entry & PM_SOFT_DIRTY))
		differ("page %u was written, but is not soft-dirty (%#llx)", nr,
		       (unsigned long long)entry);
	if (page->protected && !(entry & PM_UFFD_WP))
		differ("page %u lost its write protection (%#llx)", nr,
		       (unsigned long long)entry);
}

void check_marks_of(struct range range)
{
	static __u64 entries[ARENA_PAGES];

	pagemap_range(address(range.first), entries, range.nr);
	for (__u32 i = 0; i < range.nr; i++)
		if (model(range.first + i)->backing != UNMAPPED)
			check_marks(range.first + i, entries[i]);
}

long long pages_in_use(void)
{
	return status_pages("RssAnon") + status_pages("RssFile") + status_pages("RssShmem") +
	       status_pages("VmSwap");
}

/* Per-CPU counters hold back a part of each counter; the process allocates a few more pages. */
long long counters_slack(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return 4 * cpus * (cpus > 16 ? 2 * cpus : 32) + 64;
}

/* The difference between a counter and what a walk of the page tables finds. */
static long long off_by(const char *walked, long long counted)
{
	long long kib = read_field("/proc/self/smaps_rollup", walked);

	return kib < 0 ? 0 : counted - kib * 1024 / (long long)PAGE;
}

static long long rss_off_by(void)
{
	return off_by("Rss:", status_pages("RssAnon") + status_pages("RssFile") +
			      status_pages("RssShmem"));
}

/*
 * The walk counts shared memory in swap, too, so only a too large swap counter can be
 * noticed.  Other threads map and unmap memory between the two readings: try again, an
 * error would stay.
 */
static void check_counters(void)
{
	long long rss = 0, swap = 0, slack = counters_slack();
	int tries = 4;

	do {
		rss = rss_off_by();
		swap = off_by("Swap:", status_pages("VmSwap"));
	} while ((rss > slack || rss < -slack || swap > slack) && --tries);
	if (!tries)
		differ("the counters of memory and swap are off by %lld and %lld pages", rss, swap);
	if (status_pages("VmPTE") > ARENA_PAGES / 512 + 64)
		differ("VmPTE is %lld pages", status_pages("VmPTE"));
}

void check_state(void)
{
	check_marks_of((struct range){ 0, ARENA_PAGES });
	check_counters();
}

void check_world(void)
{
	check_range((struct range){ 0, ARENA_PAGES });
	check_state();
}

/* Pages of an object were replaced: their mappings have no marks any more. */
void object_changed(int object, __u32 index, __u32 nr)
{
	for (__u32 i = 0; i < ARENA_PAGES; i++) {
		struct page_model *page = model(i);

		if (page->backing == OBJECT && page->object == object &&
		    page->index >= index && page->index - index < nr)
			page->protected = false;
	}
}

/* In both processes, before model_fork(). */
void model_share(void)
{
	for (__u32 i = 0; i < ARENA_PAGES; i++)
		model(i)->forked = true;
}

void model_fork(void)
{
	for (__u32 i = 0; i < ARENA_PAGES; i++) {
		struct page_model *page = model(i);

		if (page->wipe)
			forget(page);
		if (page->nofork)
			memset(page, 0, sizeof(*page));
		page->locked = false;
		page->tracked = false;
		page->protected = false;
		page->soft_dirty = false;
	}
}

static bool alike(const struct page_model *a, const struct page_model *b)
{
	return a->backing == b->backing && a->shared == b->shared && a->prot == b->prot &&
	       a->locked == b->locked && a->nofork == b->nofork && a->wipe == b->wipe &&
	       a->tracked == b->tracked && a->ksm == b->ksm && a->forked == b->forked &&
	       a->object == b->object &&
	       (a->backing != OBJECT || a->index + 1 == b->index);
}

__u32 stretch(struct range range)
{
	__u32 nr = 1;

	while (nr < range.nr && alike(model(range.first + nr - 1), model(range.first + nr)))
		nr++;
	return nr;
}
