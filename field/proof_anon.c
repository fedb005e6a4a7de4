// SPDX-License-Identifier: GPL-2.0-only
/* Operations on anonymous memory: see proof.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proof.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif
#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

static void advise(struct team *team, struct range range, int advice)
{
	/* A call that fails (EAGAIN, EINVAL, EBUSY) changes nothing. */
	madvise(team->arena + range.first, range.end - range.first, advice);
}

static void discard(struct team *team, struct range range)
{
	begin_loss(team, range);
	advise(team, range, MADV_DONTNEED);
	end_loss(team, range);
}

/* Discard page by page: the last one leaves the table empty. */
static void discard_pages(struct team *team, struct range range)
{
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		size_t at = team->spots[i].offset;

		if (in_range(&team->spots[i], range))
			discard(team, (struct range){ at, at + PAGE });
	}
}

static void free_lazily(struct team *team, struct range range)
{
	begin_loss(team, range);
	advise(team, range, MADV_FREE);
	end_loss(team, range);
	advise(team, range, MADV_PAGEOUT);
}

static void evict(struct team *team, struct range range)
{
	advise(team, range, MADV_PAGEOUT);
}

static void collapse(struct team *team, struct range range)
{
	range.first &= ~(TABLE - 1);
	range.end = range.first + TABLE;
	advise(team, range, MADV_COLLAPSE);
}

/* A new mapping in the same place: with small pages mostly, else huge, else the default. */
static void replace(struct team *team, struct range range)
{
	char *start = team->arena + range.first;
	size_t len = range.end - range.first;

	begin_loss(team, range);
	if (mmap(start, len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != start)
		lacking("cannot map memory: %s", strerror(errno));
	switch (below(&team->random, 6)) {
	case 0:
		break;
	case 1:
		madvise(start, len, MADV_HUGEPAGE);
		break;
	default:
		madvise(start, len, MADV_NOHUGEPAGE);
	}
	end_loss(team, range);
}

/* Check pages that no writer stores in any more: they must not change. */
static void check_still(struct team *team, struct range range, const char *there,
			const u64 *least, const char *after)
{
	struct stamps stamps[NR_PAGES];

	for (unsigned int i = 0; i < NR_PAGES; i++) {
		const char *page = there + team->spots[i].offset - range.first;

		if (!in_range(&team->spots[i], range))
			continue;
		stamps[i] = read_stamps(page);
		check_stamps(team, i, &stamps[i], least[i], after);
	}
	await_stores(team, range);
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		const char *page = there + team->spots[i].offset - range.first;
		struct stamps again;

		if (!in_range(&team->spots[i], range))
			continue;
		again = read_stamps(page);
		if (memcmp(&again, &stamps[i], sizeof(again)))
			wrong("page %u was still stored into after it had moved away; after %s",
			      i, after);
	}
}

/* Move the pages elsewhere; the range is empty then. */
static void move(struct team *team, struct range range)
{
	size_t len = range.end - range.first;
	u64 least[NR_PAGES];
	char *there;

	for (unsigned int i = 0; i < NR_PAGES; i++)
		least[i] = least_number(&team->spots[i]);
	begin_loss(team, range);
	there = mremap(team->arena + range.first, len, len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	end_loss(team, range);
	if (there == MAP_FAILED)	/* mremap() refuses a range of several mappings */
		return;
	check_still(team, range, there, least, "mremap()");
	munmap(there, len);
}

/* The child: its memory must not change when its parent's does. */
static __noreturn void be_child(struct team *team, struct range range, const u64 *least)
{
	struct stamps stamps[NR_PAGES], again;

	team->snapshot = true;
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		stamps[i] = read_stamps(team->arena + team->spots[i].offset);
		check_stamps(team, i, &stamps[i], least[i], "fork()");
	}
	usleep(100);
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		again = read_stamps(team->arena + team->spots[i].offset);
		if (memcmp(&again, &stamps[i], sizeof(again)))
			wrong("page %u of a child was changed by its parent", i);
	}
	if (below(&team->random, 2))
		advise(team, range, MADV_DONTNEED);
	_exit(0);
}

static void branch(struct team *team, struct range range)
{
	u64 least[NR_PAGES];
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < NR_PAGES; i++)
		least[i] = least_number(&team->spots[i]);
	pid = fork();
	if (!pid)
		be_child(team, range, least);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && status)
		wrong("a child ended with status %#x", status);
}

static const struct way {
	const char *name;
	void (*take)(struct team *team, struct range range);
	unsigned int weight;
} ways[] = {
	{ "MADV_DONTNEED", discard, 8 },
	{ "MADV_DONTNEED of single pages", discard_pages, 8 },
	{ "MADV_FREE and MADV_PAGEOUT", free_lazily, 6 },
	{ "MADV_PAGEOUT", evict, 4 },
	{ "mremap()", move, 4 },
	{ "mmap() in its place", replace, 2 },
	{ "fork()", branch, 1 },
	{ "MADV_COLLAPSE", collapse, 1 },
};

static const struct way *pick_way(struct team *team)
{
	unsigned int sum = 0, at;

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		sum += ways[i].weight;
	at = below(&team->random, sum);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (at < ways[i].weight)
			return &ways[i];
		at -= ways[i].weight;
	}
	return ways;
}

static char *map_arena(void)
{
	char *raw = mmap(NULL, ARENA + TABLE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (raw == MAP_FAILED)
		lacking("cannot map memory: %s", strerror(errno));
	raw = (char *)(((uintptr_t)raw + TABLE - 1) & ~(TABLE - 1));
	madvise(raw, ARENA, MADV_NOHUGEPAGE);
	return raw;
}

static void spoil(struct team *team)
{
	if (options.spoil && !strcmp(options.spoil, "stamp"))
		store((u64 *)(team->arena + team->spots[0].offset), 0);
}

void run_anon(unsigned int number)
{
	static struct team team;

	team.arena = map_arena();
	start_team(&team, number);
	for (;;) {
		const struct way *way = pick_way(&team);
		struct range range = pick_range(&team);

		way->take(&team, range);
		add(&account->takes, 1);
		await_stores(&team, range);
		spoil(&team);
		check_arena(&team, team.arena, way->name);
	}
}
