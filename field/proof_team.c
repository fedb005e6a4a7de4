// SPDX-License-Identifier: GPL-2.0-only
/* An arena, its writers, and the check of its content: see proof.h. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <time.h>

#include "proof.h"

/* A stamp: the page that it belongs to, and the number of the store. */
#define NUMBER_BITS	44
#define NUMBER(stamp)	((stamp) & ((1ULL << NUMBER_BITS) - 1))
#define OWNER(stamp)	((stamp) >> NUMBER_BITS)
#define PATIENCE_NS	100000000ULL

static u64 stamp_of(const struct team *team, unsigned int nr, u64 number)
{
	return (u64)(team->number * NR_PAGES + nr + 1) << NUMBER_BITS | number;
}

struct random random_for(unsigned int team, unsigned int who)
{
	struct random random = { options.seed + (u64)team * 1000003 + who };

	random.state = draw(&random);
	return random;
}

/* Both ends of the page, and two places in between. */
size_t word_offset(unsigned int nth)
{
	return nth * (PAGE - sizeof(u64)) / (NR_WORDS - 1) & ~(sizeof(u64) - 1);
}

struct stamps read_stamps(const char *page)
{
	struct stamps stamps;

	for (unsigned int i = 0; i < NR_WORDS; i++)
		stamps.word[i] = load((const u64 *)(page + word_offset(i)));
	return stamps;
}

/*
 * Whether the driver may have dropped the page's last store.  Call it after reading the
 * page: the driver sets @losing before it drops pages, and @base before it clears @losing.
 */
static bool may_be_lost(const struct spot *spot)
{
	return load(&spot->losing) || spot->seq <= load(&spot->base);
}

/* A page's only writer must read its own last store, or zero if that may be lost; no older one. */
static void check_own(struct team *team, unsigned int nr, const char *page)
{
	const struct spot *spot = &team->spots[nr];
	u64 last = stamp_of(team, nr, spot->seq);
	struct stamps stamps = read_stamps(page);

	for (unsigned int i = 0; i < NR_WORDS; i++)
		if (stamps.word[i] != last && (stamps.word[i] || !may_be_lost(spot)))
			wrong("page %u word %u: its writer reads %#llx and had stored %#llx", nr, i,
			      (unsigned long long)stamps.word[i], (unsigned long long)last);
}

static void write_page(struct team *team, unsigned int nr)
{
	struct spot *spot = &team->spots[nr];
	char *page = team->arena + spot->offset;
	u64 number = spot->seq + 1, stamp = stamp_of(team, nr, number);

	/*
	 * Reading first maps the page clean, and the store then only sets the dirty bit in the
	 * entry.  One store in four is made without reading first.
	 */
	if (number & 3)
		check_own(team, nr, page);
	store(&spot->begun, number);
	for (unsigned int i = 0; i < NR_WORDS; i++)
		store((u64 *)(page + word_offset(i)), stamp);
	store(&spot->seq, number);
}

static void park(struct team *team)
{
	add(&team->parked, 1);
	while (load(&team->gate))
		sched_yield();
	add(&team->parked, -1);
}

struct writer {
	struct team *team;
	unsigned int nth;
};

static void *writer(void *arg)
{
	const struct writer *self = arg;
	struct team *team = self->team;

	use_cpu(team->number * (MAX_WRITERS + 1) + 1 + self->nth);
	for (;;) {
		for (unsigned int i = self->nth; i < NR_PAGES; i += team->nr_writers) {
			if (load(&team->gate))
				park(team);
			write_page(team, i);
		}
		add(&account->stores, NR_PAGES / team->nr_writers);
	}
	return NULL;
}

/* In each table a few adjacent pages, which may form a run, and one page elsewhere. */
static void place_spots(struct team *team)
{
	const unsigned int pages = TABLE / PAGE, alone = pages / 2 + CLUSTER;

	for (unsigned int i = 0; i < NR_PAGES; i++) {
		unsigned int nth = i % PER_TABLE, table = i / PER_TABLE;
		struct spot *spot = &team->spots[i];

		if (nth == 0)
			spot->offset = below(&team->random, pages / 2) * PAGE;
		else if (nth < CLUSTER)
			spot->offset = (spot - 1)->offset % TABLE + PAGE;
		else
			spot->offset = (alone + below(&team->random, pages / 4)) * PAGE;
		spot->offset += table * TABLE;
	}
}

void start_team(struct team *team, unsigned int number)
{
	static struct writer writers[MAX_WRITERS];
	pthread_t thread;

	team->number = number;
	team->random = random_for(number, 0);
	place_spots(team);
	use_cpu(number * (MAX_WRITERS + 1));
	team->nr_writers = nr_cpus() > MAX_WRITERS ? MAX_WRITERS : 1;
	for (unsigned int i = 0; i < team->nr_writers; i++) {
		writers[i] = (struct writer){ team, i };
		if (pthread_create(&thread, NULL, writer, &writers[i]))
			lacking("no thread could be made");
	}
}

struct range pick_range(struct team *team)
{
	unsigned int first = below(&team->random, NR_TABLES);
	unsigned int nr = 1 + below(&team->random, NR_TABLES - first);
	size_t part = below(&team->random, TABLE / PAGE) * PAGE;

	if (below(&team->random, 2))
		return below(&team->random, 2) ?
			(struct range){ first * TABLE, first * TABLE + part + PAGE } :
			(struct range){ first * TABLE + part, (first + 1) * TABLE };
	return (struct range){ first * TABLE, (first + nr) * TABLE };
}

bool in_range(const struct spot *spot, struct range range)
{
	return spot->offset >= range.first && spot->offset < range.end;
}

void begin_loss(struct team *team, struct range range)
{
	for (unsigned int i = 0; i < NR_PAGES; i++)
		if (in_range(&team->spots[i], range))
			store(&team->spots[i].losing, 1);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void end_loss(struct team *team, struct range range)
{
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		struct spot *spot = &team->spots[i];

		if (!in_range(spot, range))
			continue;
		store(&spot->base, load(&spot->begun));
		store(&spot->losing, 0);
	}
}

static u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* On a busy machine writers may not run in time: then fewer new stores are checked. */
void await_stores(struct team *team, struct range range)
{
	u64 end = now_ns() + PATIENCE_NS, wanted[NR_PAGES];

	for (unsigned int i = 0; i < NR_PAGES; i++)
		wanted[i] = load(&team->spots[i].seq) + 2;
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		if (!in_range(&team->spots[i], range))
			continue;
		while (load(&team->spots[i].seq) < wanted[i]) {
			if (now_ns() > end)
				return;
			sched_yield();
		}
	}
}

void close_gate(struct team *team)
{
	store(&team->gate, 1);
	while (load(&team->parked) < team->nr_writers)
		sched_yield();
}

void open_gate(struct team *team)
{
	store(&team->gate, 0);
	while (load(&team->parked))
		sched_yield();
}

u64 least_number(const struct spot *spot)
{
	u64 number = load(&spot->seq);

	return number > spot->base ? number : 0;
}

/* Writers may have stored while the stamps were read. */
void check_stamps(struct team *team, unsigned int nr, const struct stamps *stamps, u64 least,
		  const char *after)
{
	u64 most = load(&team->spots[nr].begun);

	for (unsigned int i = 0; i < NR_WORDS; i++) {
		u64 word = stamps->word[i];
		const char *what = NULL;

		if (!word && least)
			what = "a store was lost";
		else if (word && OWNER(word) != OWNER(stamp_of(team, nr, 0)))
			what = "foreign content";
		else if (word && NUMBER(word) < least)
			what = "an older store came back";
		else if (word && NUMBER(word) > most && !team->snapshot)
			what = "a number that was never stored";
		if (what)
			wrong("%s: page %u word %u holds %#llx, store %llu was to be there; "
			      "after %s", what, nr, i, (unsigned long long)word,
			      (unsigned long long)least, after);
	}
	add(&account->checks, 1);
}

void check_arena(struct team *team, const char *view, const char *after)
{
	for (unsigned int i = 0; i < NR_PAGES; i++) {
		u64 least = least_number(&team->spots[i]);
		struct stamps stamps = read_stamps(view + team->spots[i].offset);

		check_stamps(team, i, &stamps, least, after);
	}
}
