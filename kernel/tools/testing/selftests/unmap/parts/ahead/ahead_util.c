// SPDX-License-Identifier: GPL-2.0-only
/* Memory, counters, and what reclaim did with each page: see ahead.h. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ahead.h"

#define TAKEN		"ahead_folios"
#define STRETCHES	"ahead_stretches"
#define REFUSED_HOT	"ahead_hot"
#define OTHERS		4

struct outcome *outcome;
static struct outcome *outcomes;	/* off, on */

__attribute__((constructor)) static void share_outcomes(void)
{
	outcomes = mmap(NULL, 2 * sizeof(*outcomes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	outcome = outcomes;
}

/* Memory. */

static bool is_file(enum kind kind)
{
	return kind == FILE_SHARED || kind == SHMEM;
}

/* Written by system calls: entries that map it are clean. */
static int shmem_file(size_t len)
{
	int fd = memfd_create("ahead", MFD_CLOEXEC);
	char page[PAGE];

	for (size_t i = 0; fd >= 0 && i < len / PAGE; i++) {
		memset(page, fill_byte(i, SEED), PAGE);
		if (pwrite(fd, page, PAGE, i * PAGE) != (ssize_t)PAGE)
			return -1;
	}
	return fd;
}

bool ahead_make(struct scene *s)
{
	int flags = is_file(s->kind) ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	s->fd = -1;
	if (is_file(s->kind))
		s->fd = s->kind == SHMEM ? shmem_file(s->len) : xfs_file(s->len, SEED, 4);
	CHECK(!is_file(s->kind) || s->fd >= 0);
	s->mem = map_aligned(s->len, PROT_READ | PROT_WRITE, flags, s->fd);
	CHECK(s->mem != MAP_FAILED);
	if (is_file(s->kind))
		CHECK(!madvise(s->mem, s->len, MADV_POPULATE_READ));
	else
		fill(s->mem, s->len, SEED);
	CHECK(folios_are(s->mem, s->len, s->kib));
	CHECK(s->kind != LAZYFREE || !madvise(s->mem, s->len, MADV_FREE));
	return true;
}

long ahead_wrong(const struct scene *s)
{
	long wrong = 0;

	for (size_t i = 0; i < s->len / PAGE; i++) {
		const char *page = s->mem + i * PAGE;

		wrong += !page_is(page, fill_byte(i, SEED)) &&
			 !(s->kind == LAZYFREE && page_is(page, 0));
	}
	return wrong;
}

/* Counters. */

bool ahead_is_on(void)
{
	return switch_has(UNMAP_EVICT);
}

long long ahead_taken(void)
{
	long long taken = unmap_stat(TAKEN);

	return taken < 0 ? 0 : taken;
}

void ahead_count_from(void)
{
	outcome->taken = -unmap_stat(TAKEN);
	outcome->stretches = -unmap_stat(STRETCHES);
	outcome->hot = -unmap_stat(REFUSED_HOT);
	outcome->entries = -unmap_stat("evict_entries");
	outcome->freed = -vmstat("pglazyfreed");
	outcome->swapped = -vmstat("pswpout");
	outcome->activated = -vmstat("pgactivate");
}

void ahead_count_to(void)
{
	outcome->activated += vmstat("pgactivate");
	outcome->swapped += vmstat("pswpout");
	outcome->freed += vmstat("pglazyfreed");
	outcome->entries += unmap_stat("evict_entries");
	outcome->hot += unmap_stat(REFUSED_HOT);
	outcome->stretches += unmap_stat(STRETCHES);
	outcome->taken += unmap_stat(TAKEN);
}

static enum fate fate_of(__u64 entry)
{
	return entry & PM_PRESENT ? STAYED : entry & PM_SWAP ? SWAPPED : GONE;
}

static void look(const char *mem)
{
	__u64 entries[PMD / PAGE];

	pagemap_range(mem, entries, PAGES);
	outcome->there = 0;
	for (long i = 0; i < PAGES; i++) {
		outcome->fate[i] = fate_of(entries[i]);
		outcome->there += outcome->fate[i] == STAYED;
	}
}

bool ahead_page_out(const struct scene *s)
{
	ahead_count_from();
	CHECK(!madvise(s->mem, s->len, MADV_PAGEOUT));
	ahead_count_to();
	look(s->mem);
	return true;
}

bool ahead_reclaim(const struct scene *s, int passes)
{
	ahead_count_from();
	while (passes-- && count_pages(s->mem, s->len, PM_PRESENT)) {
		write_text("/proc/self/clear_refs", "1");
		if (s->kind == ANON || s->kind == SHMEM)
			reclaim_all(2 * LEN);
		else
			reclaim_file(2 * LEN);
	}
	ahead_count_to();
	look(s->mem);
	return true;
}

/* Anonymous memory needs swap slots ahead of its turn. */
bool ahead_takes(enum kind kind)
{
	return ahead_is_on() && (kind != ANON || unmap_stat("ahead_slots") >= 0);
}

long ahead_own(enum kind kind)
{
	return kind == ANON || kind == SHMEM ? OWN : 0;
}

/* On and off. */

bool ahead_run(ahead_job job, struct scene *s, bool on)
{
	CHECK(switch_all(on));
	outcome = &outcomes[on];
	memset(outcome, 0, sizeof(*outcome));
	return apart(job, s);
}

static bool same_fates(void)
{
	for (long i = 0; i < PAGES; i++)
		if (outcomes[0].fate[i] != outcomes[1].fate[i]) {
			printf("# page %ld: %d when off, %d when on (GONE, STAYED, SWAPPED)\n", i,
			       outcomes[0].fate[i], outcomes[1].fate[i]);
			return false;
		}
	return true;
}

bool ahead_twice(ahead_job job, struct scene *s)
{
	CHECK(ahead_run(job, s, false));
	CHECK(ahead_run(job, s, true));
	return true;
}

long ahead_note(bool on)
{
	return outcomes[on].note;
}

bool ahead_both(ahead_job job, struct scene *s)
{
	const struct outcome *off = &outcomes[0], *on = &outcomes[1];

	CHECK(ahead_twice(job, s));
	CHECK(same_fates());
	CHECK_EQ(off->freed, on->freed);
	CHECK_EQ(off->swapped, on->swapped);
	/* Other tasks may activate folios, too. */
	CHECK(llabs(off->activated - on->activated) <= OTHERS);
	CHECK_EQ(off->note, on->note);
	return true;
}
