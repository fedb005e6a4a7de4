// SPDX-License-Identifier: GPL-2.0-only
/*
 * The locks of the guest: see held.h.
 *
 * Locks and their callers are never forgotten, even if their memory is freed: a new object
 * at that place takes them over.  Who took a lock before the region tells what lock it is.
 */
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "stretch.h"
#include "symbols.h"

#define NR_LISTS	(1 << 16)

/* A function that takes a lock; its sums are of the holds that it began. */
struct taker {
	path_t who;
	uint64_t acquired;
	struct sums holds;
	struct taker *next;
};

struct lock {
	uint64_t addr;
	struct lock *next;
	struct taker *takers;
	unsigned int initialiser;	/* a function; 0: not known */
	unsigned int how;		/* of those who hold it */
	unsigned int holders, waiters;
	path_t waits;			/* the function that waits */
	unsigned int waits_how;
	struct stretch held;
};

static struct lock *lists[NR_LISTS];
/* Locks that spin and are held now: preemption is off. */
static unsigned int nr_spinning;
static struct stretch unpreempted;
static struct sums preempt_sums;
/*
 * What cannot be, so that the counts are wrong: a held spinlock is taken again; a program
 * executes a mark while one is held.
 */
static uint64_t nr_twice, nr_kept;
static bool active;

static struct lock **list_of(uint64_t addr)
{
	return &lists[(addr * 0x9e3779b97f4a7c15ull) >> 48];
}

static void *make(size_t size)
{
	void *made = calloc(1, size);

	if (!made)
		abort();
	return made;
}

static struct lock *find(uint64_t addr)
{
	struct lock *lock;

	for (lock = *list_of(addr); lock; lock = lock->next)
		if (lock->addr == addr)
			return lock;
	return NULL;
}

static struct lock *find_or_make(uint64_t addr)
{
	struct lock *lock = find(addr), **list = list_of(addr);

	if (lock)
		return lock;
	lock = make(sizeof(*lock));
	lock->addr = addr;
	lock->next = *list;
	*list = lock;
	return lock;
}

static struct taker *taker_of(struct lock *lock, path_t who)
{
	struct taker *taker;

	for (taker = lock->takers; taker; taker = taker->next)
		if (taker->who == who)
			return taker;
	taker = make(sizeof(*taker));
	taker->who = who;
	taker->next = lock->takers;
	lock->takers = taker;
	return taker;
}

static bool spins(const struct lock *lock)
{
	return !(lock->how & LOCK_SLEEPS);
}

static void take(struct lock *lock, unsigned int how, path_t who)
{
	taker_of(lock, who)->acquired += active;
	if (lock->holders++)
		return;
	lock->how = how;
	stretch_begin(&lock->held, who);
	if (spins(lock) && !nr_spinning++)
		stretch_begin(&unpreempted, who);
}

static void end_hold(struct lock *lock)
{
	stretch_end(&lock->held, active ? &taker_of(lock, lock->held.who)->holds : NULL);
	if (spins(lock) && !--nr_spinning)
		stretch_end(&unpreempted, active ? &preempt_sums : NULL);
}

/* Whoever waits for a lock holds it from here: a little too early. */
static void release(struct lock *lock)
{
	if (--lock->holders)
		return;
	end_hold(lock);
	if (!lock->waiters)
		return;
	lock->waiters--;
	take(lock, lock->waits_how, lock->waits);
}

static bool is_free_for(const struct lock *lock, unsigned int how)
{
	return !lock->holders || (lock->how & how & LOCK_SHARED);
}

static void wait(struct lock *lock, unsigned int how, path_t who)
{
	lock->waiters++;
	lock->waits = who;
	lock->waits_how = how;
}

void held_acquire(uint64_t addr, unsigned int how, path_t who)
{
	struct lock *lock = find_or_make(addr);

	if (is_free_for(lock, how)) {
		take(lock, how, who);
	} else if (how & LOCK_TRIES) {
		return;
	} else if (how & LOCK_SLEEPS) {
		wait(lock, how, who);
	} else {
		nr_twice++;
		lock->holders = 0;
		end_hold(lock);
		take(lock, how, who);
	}
}

/* The lock at @addr, if it is held and may be released in this way. */
static struct lock *held(uint64_t addr, unsigned int mask, unsigned int how)
{
	struct lock *lock = find(addr);

	return lock && lock->holders && (lock->how & mask) == how ? lock : NULL;
}

void held_byte(uint64_t addr)
{
	struct lock *lock = held(addr, LOCK_SLEEPS | LOCK_SHARED, 0);

	if (lock)
		release(lock);
}

void held_update(uint64_t addr)
{
	struct lock *lock = held(addr, LOCK_SLEEPS | LOCK_SHARED, LOCK_SHARED);

	if (lock)
		release(lock);
}

void held_release(uint64_t addr)
{
	struct lock *lock = held(addr, LOCK_SLEEPS, LOCK_SLEEPS);

	if (lock)
		release(lock);
}

void held_downgrade(uint64_t addr)
{
	struct lock *lock = held(addr, LOCK_SLEEPS, LOCK_SLEEPS);

	if (lock)
		lock->how |= LOCK_SHARED;
}

void held_initialise(uint64_t addr, unsigned int who)
{
	find_or_make(addr)->initialiser = who;
}

static void for_each(void (*visit)(struct lock *lock, FILE *out), FILE *out)
{
	struct lock *lock;

	for (unsigned int i = 0; i < NR_LISTS; i++)
		for (lock = lists[i]; lock; lock = lock->next)
			visit(lock, out);
}

/* A program executes the marks: no lock that spins is held. */
static void drop_spinning(struct lock *lock)
{
	if (!lock->holders || !spins(lock))
		return;
	nr_kept++;
	lock->holders = 0;
	end_hold(lock);
}

static void restart(struct lock *lock, FILE *out)
{
	struct taker *taker;

	(void)out;
	drop_spinning(lock);
	for (taker = lock->takers; taker; taker = taker->next) {
		taker->acquired = 0;
		memset(&taker->holds, 0, sizeof(taker->holds));
	}
	if (lock->holders)
		stretch_restart(&lock->held);
}

void held_begin(void)
{
	for_each(restart, NULL);
	memset(&preempt_sums, 0, sizeof(preempt_sums));
	nr_twice = nr_kept = 0;
	active = true;
}

/* The part of a hold that lies in the region counts; the hold goes on. */
static void cut(struct lock *lock, FILE *out)
{
	path_t who = lock->held.who;

	(void)out;
	drop_spinning(lock);
	if (!lock->holders)
		return;
	stretch_end(&lock->held, &taker_of(lock, who)->holds);
	stretch_begin(&lock->held, who);
}

void held_end(void)
{
	for_each(cut, NULL);
	active = false;
}

static bool was_used(const struct lock *lock)
{
	const struct taker *taker;

	for (taker = lock->takers; taker; taker = taker->next)
		if (taker->acquired || taker->holds.times)
			return true;
	return false;
}

static void path_print(path_t path, FILE *out)
{
	if (path >> 32)
		fprintf(out, "%s;", symbol_name(path >> 32));
	fputs(symbol_name((uint32_t)path), out);
}

static void print_taker(const struct lock *lock, const struct taker *taker, FILE *out)
{
	const struct sums *holds = &taker->holds;

	fprintf(out, "lock %llx %s ", (unsigned long long)lock->addr,
		lock->initialiser ? symbol_name(lock->initialiser) : "-");
	path_print(taker->who, out);
	fprintf(out, " %llu %llu %llu %llu\n", (unsigned long long)taker->acquired,
		(unsigned long long)holds->times, (unsigned long long)holds->total,
		(unsigned long long)holds->longest);
}

/* Takers of a lock are printed even if they did not take it in the region. */
static void print_lock(struct lock *lock, FILE *out)
{
	const struct taker *taker;

	if (!was_used(lock))
		return;
	for (taker = lock->takers; taker; taker = taker->next)
		print_taker(lock, taker, out);
}

void sums_print(const char *what, const struct sums *sums, FILE *out)
{
	fprintf(out, "off %s ", what);
	path_print(sums->who, out);
	fprintf(out, " %llu %llu %llu\n", (unsigned long long)sums->times,
		(unsigned long long)sums->total, (unsigned long long)sums->longest);
}

void held_print(FILE *out)
{
	for_each(print_lock, out);
	sums_print("preemption", &preempt_sums, out);
	fprintf(out, "contradictions %llu\n", (unsigned long long)(nr_twice + nr_kept));
}
