// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page tables that are freed and reused while CPUs may have cached them: see proof.h.
 *
 * Besides translations, a processor caches upper-level entries, so a page walk may start at
 * a table that was freed.  Nothing happens as long as the freed page is zero.  So the
 * driver fills freed pages with traps: entries that all map one page, the canary.  It
 * writes traps to pipes, on every processor, because pipe pages are allocated from the same
 * lists as page tables; and to new anonymous memory.
 *
 * A round: walkers, one on each processor, store in a page of each table.  The driver
 * removes all of these pages, waits, and sets the traps.  Then the walkers load from and
 * store to the same addresses.  A walker that uses a stale translation reads content that
 * was discarded.  One that uses a stale table reads the canary, changes it, or sets an
 * accessed bit in a trap.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proof.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define WALK_TABLES	48
#define WALK_ARENA	(WALK_TABLES * TABLE)
#define MAX_WALKERS	64
#define WORDS		(PAGE / sizeof(u64))
#define CANARY		0x53776174686521ULL
#define TRAPPED		(2 * MIB)	/* of anonymous memory */
#define PIPE_SIZE	(256UL << 10)	/* for each processor */

/* Present, writable, user; neither accessed nor dirty. */
#define X86_ENTRY(pfn)	((pfn) << 12 | 7)

enum waiting { SPINNING, YIELDING, SLEEPING, NR_WAITINGS };

static struct walk {
	unsigned int number, walkers;
	struct random random;
	char *arena;
	u64 *canary;
	u64 trap[WORDS];
	int pipes[MAX_WALKERS][2];
	u64 step;		/* odd: walkers fill the pages; even: they check them */
	unsigned int done;
	enum waiting waiting;
} walk;

static u64 walk_stamp(unsigned int walker, unsigned int table, u64 step)
{
	return step << 20 | walker << 12 | table << 4 | 1;
}

static char *place(unsigned int walker, unsigned int table)
{
	return walk.arena + table * TABLE + walker * PAGE;
}

static void await_step(u64 step)
{
	while (load(&walk.step) < step) {
		switch (load(&walk.waiting)) {
		case SPINNING:
			break;
		case YIELDING:
			sched_yield();
			break;
		default:
			usleep(50);
		}
	}
}

static void store_all(unsigned int walker, u64 step)
{
	for (unsigned int i = 0; i < WALK_TABLES; i++)
		store((u64 *)place(walker, i), walk_stamp(walker, i, step));
	add(&account->stores, WALK_TABLES);
}

static void look_at_all(unsigned int walker)
{
	for (unsigned int i = 0; i < WALK_TABLES; i++) {
		u64 word = load((u64 *)place(walker, i));

		if (word == CANARY)
			wrong("walker %u used table %u after it was given back", walker, i);
		if (word)
			wrong("walker %u reads %#llx in table %u, which was discarded", walker,
			      (unsigned long long)word, i);
	}
}

static void *walker(void *arg)
{
	unsigned int self = (uintptr_t)arg;

	use_cpu(self);
	for (u64 step = 1;; step += 2) {
		await_step(step);
		store_all(self, step);
		add(&walk.done, 1);
		await_step(step + 1);
		/* Half of the walkers store without loading first. */
		if ((self ^ step / 2) & 1)
			look_at_all(self);
		store_all(self, step + 1);
		add(&walk.done, 1);
	}
	return NULL;
}

static void take_step(void)
{
	store(&walk.done, 0);
	add(&walk.step, 1);
	while (load(&walk.done) < walk.walkers)
		sched_yield();
}

static void advise_all(int advice)
{
	madvise(walk.arena, WALK_ARENA, advice);
}

static void take_pages(void)
{
	for (unsigned int i = 0; i < WALK_TABLES; i++)
		for (unsigned int j = 0; j < walk.walkers; j++)
			madvise(place(j, i), PAGE, MADV_DONTNEED);
}

static void map_arena(void *where)
{
	int fixed = where ? MAP_FIXED : 0;

	walk.arena = mmap(where, WALK_ARENA, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
	if (walk.arena == MAP_FAILED)
		lacking("cannot map memory: %s", strerror(errno));
	advise_all(MADV_NOHUGEPAGE);
}

static void take_all(void)
{
	switch (below(&walk.random, 8)) {
	case 0:
		map_arena(walk.arena);
		break;
	case 1:
		advise_all(MADV_FREE);
		advise_all(MADV_PAGEOUT);
		advise_all(MADV_DONTNEED);
		break;
	case 2:
	case 3:
	case 4:
		take_pages();
		break;
	default:
		advise_all(MADV_DONTNEED);
	}
	add(&account->takes, 1);
}

/* The kernel may migrate the canary: look its frame up each time. */
static u64 canary_frame(void)
{
	static int fd = -1;
	u64 entry = 0;

	if (fd < 0)
		fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	pread(fd, &entry, sizeof(entry), (uintptr_t)walk.canary / PAGE * sizeof(entry));
	return entry >> 63 ? entry & ((1ULL << 55) - 1) : 0;
}

static void set_canary(void)
{
	for (size_t i = 0; i < WORDS; i++)
		walk.canary[i] = CANARY;
}

/* The format of entries is x86's; elsewhere the trap is arbitrary content. */
static void make_trap(void)
{
	u64 word = CANARY ^ walk.step;

#ifdef __x86_64__
	word = X86_ENTRY(canary_frame());
#endif
	for (size_t i = 0; i < WORDS; i++)
		walk.trap[i] = word;
}

static void fill_pipe(unsigned int nth)
{
	use_cpu(nth);
	while (write(walk.pipes[nth][1], walk.trap, PAGE) == (ssize_t)PAGE)
		;
}

static void set_traps(char *trapped)
{
	make_trap();
	for (unsigned int i = 0; i < walk.walkers; i++)
		fill_pipe(i);
	for (size_t i = 0; i < TRAPPED; i += PAGE)
		memcpy(trapped + i, walk.trap, PAGE);
	use_cpu(walk.number);
}

static void check_trap(const u64 *words, const char *what)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i] != walk.trap[i])
			wrong("%s was changed, but nothing stores in it: %#llx instead of %#llx",
			      what, (unsigned long long)words[i], (unsigned long long)walk.trap[i]);
}

static void check_pipe(unsigned int nth)
{
	u64 words[WORDS];

	while (read(walk.pipes[nth][0], words, PAGE) == (ssize_t)PAGE)
		check_trap(words, "a pipe");
}

static void check_traps(char *trapped)
{
	for (unsigned int i = 0; i < walk.walkers; i++)
		check_pipe(i);
	for (size_t i = 0; i < TRAPPED; i += PAGE)
		check_trap((u64 *)(trapped + i), "fresh memory");
	madvise(trapped, TRAPPED, MADV_DONTNEED);
	for (size_t i = 0; i < WORDS; i++)
		if (READ_ONCE(walk.canary[i]) != CANARY)
			wrong("the canary was changed through a table that was given back: %#llx",
			      (unsigned long long)walk.canary[i]);
}

/* Check each walker's last store from the driver's processor. */
static void check_stores(void)
{
	for (unsigned int i = 0; i < WALK_TABLES; i++) {
		for (unsigned int j = 0; j < walk.walkers; j++) {
			u64 word = load((u64 *)place(j, i)), wanted = walk_stamp(j, i, walk.step);

			if (word != wanted)
				wrong("walker %u stored %#llx in table %u, which holds %#llx", j,
				      (unsigned long long)wanted, i, (unsigned long long)word);
		}
	}
	add(&account->checks, WALK_TABLES * walk.walkers);
}

static void spoil(char *trapped)
{
	if (!options.spoil)
		return;
	if (!strcmp(options.spoil, "trap"))
		((u64 *)trapped)[WORDS + 7] |= 0x20;
	else if (!strcmp(options.spoil, "canary"))
		walk.canary[9] = walk_stamp(0, 1, walk.step);
	else if (!strcmp(options.spoil, "table"))
		*(u64 *)place(0, 3) = CANARY;
}

static void play_round(char *trapped)
{
	store(&walk.waiting, below(&walk.random, NR_WAITINGS));
	take_step();
	take_all();
	usleep(below(&walk.random, 15000));	/* tables are freed after a grace period */
	set_traps(trapped);
	spoil(trapped);
	take_step();
	check_stores();
	check_traps(trapped);
}

static void open_pipes(void)
{
	for (unsigned int i = 0; i < walk.walkers; i++) {
		if (pipe2(walk.pipes[i], O_NONBLOCK | O_CLOEXEC))
			lacking("no pipe: %s", strerror(errno));
		fcntl(walk.pipes[i][1], F_SETPIPE_SZ, PIPE_SIZE);
	}
}

static char *map_locked(size_t len)
{
	char *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED || mlock(mem, len))
		lacking("cannot lock memory: %s", strerror(errno));
	return mem;
}

void run_walk(unsigned int number)
{
	char *trapped = mmap(NULL, TRAPPED, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	walk.number = number;
	walk.random = random_for(number, 0);
	walk.walkers = nr_cpus() < MAX_WALKERS ? nr_cpus() : MAX_WALKERS;
	walk.canary = (u64 *)map_locked(PAGE);
	if (trapped == MAP_FAILED || !canary_frame())
		lacking("/proc/self/pagemap tells no page frames");
	madvise(trapped, TRAPPED, MADV_NOHUGEPAGE);
	set_canary();
	open_pipes();
	map_arena(NULL);
	for (unsigned int i = 0; i < walk.walkers; i++)
		if (pthread_create(&thread, NULL, walker, (void *)(uintptr_t)i))
			lacking("no thread could be made");
	for (;;)
		play_round(trapped);
}
