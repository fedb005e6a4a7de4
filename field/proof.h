/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * swathe-proof: is memory what was written to it, on this machine, under Swathe?
 *
 * Writer threads store stamps in pages.  A stamp tells the page that it belongs to and the
 * number of the store.  Meanwhile drivers discard, evict and move these pages, and the
 * kernel gives back their page tables.  The drivers know which stores each operation may
 * lose.  Any other content that is lost, old, or another page's means that the kernel or
 * the machine is wrong.
 *
 * proof.c		options, starting and watching the teams, the verdict
 * proof_team.c		an arena, its writers, and the check of its content
 * proof_anon.c		operations on anonymous memory
 * proof_file.c		operations on a mapped file: tmpfs, disk
 * proof_walk.c		page tables that are freed and reused while CPUs may have cached them
 * proof_machine.c	machine, kernel, switch and counters, and the kernel's log
 *
 * A team is a process: a driver thread, which removes memory and checks it, and writer
 * threads, each on a processor of its own.
 */
#ifndef PROOF_H
#define PROOF_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "machine.h"

#define load(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v)	__atomic_add_fetch(p, v, __ATOMIC_RELAXED)

#define EXIT_WRONG	1

/* A team's report to the parent, in shared memory. */
struct account {
	u64 stores, takes, checks;
	bool leaving;
	int failed;
	char failure[240];
};

struct options {
	u64 seed;
	unsigned int seconds;
	const char *dir, *teams;
	const char *spoil;	/* a mistake to make on purpose: it must be found */
};

extern struct options options;
extern struct account *account;		/* this team's own */

/* proof.c: report wrong content; the team stops. */
__noreturn __printf(1, 2) void wrong(const char *fmt, ...);
/* Report that the machine lacks something: this proves nothing. */
__noreturn __printf(1, 2) void lacking(const char *fmt, ...);

/* proof_machine.c */
const char *require_machine(void);	/* NULL, or why the proof cannot run here */
void print_machine(void);
void note_counters(void);		/* remember the counters */
void print_counters(void);		/* print how much they grew since */
long long counter_added(const char *name);
int open_log(void);
bool log_complains(int fd, char *line, size_t size);

/*
 * A random generator for each thread.  Its numbers depend on the seed, the team and @who,
 * the thread within the team.
 */
struct random random_for(unsigned int team, unsigned int who);

/* proof_team.c */
#define NR_TABLES	16
#define ARENA		(NR_TABLES * TABLE)
#define CLUSTER		4	/* adjacent pages in each table; and one page elsewhere */
#define PER_TABLE	(CLUSTER + 1)
#define NR_PAGES	(NR_TABLES * PER_TABLE)
#define MAX_WRITERS	2
#define NR_WORDS	4	/* places of a page in which its stamp is stored */

/*
 * A page that a writer stores in.  The writer sets @begun and @seq: the last store that it
 * began, and the last that it finished.  The driver sets @base: stores up to this number
 * may be lost, later ones must be there; and @losing, while an operation runs that may lose
 * any store.
 */
struct spot {
	u64 begun __attribute__((__aligned__(64)));
	u64 seq;
	u64 base;
	int losing;
	size_t offset;		/* in the arena */
};

struct range {
	size_t first, end;	/* bytes of the arena */
};

struct team {
	unsigned int number;
	struct random random;	/* the driver's */
	char *arena;
	struct spot spots[NR_PAGES];
	unsigned int nr_writers;
	int gate;		/* closed: writers wait */
	unsigned int parked;
	bool snapshot;		/* in a child: its spots may be older than its pages */
};

/* Place the spots in the arena, which must be mapped, and start the writers. */
void start_team(struct team *team, unsigned int number);
/* Some whole tables of the arena, or a part of one. */
struct range pick_range(struct team *team);
bool in_range(const struct spot *spot, struct range range);
/* Put these around an operation that may lose stores made before its end. */
void begin_loss(struct team *team, struct range range);
void end_loss(struct team *team, struct range range);
/* Wait until two more stores were made in each page of the range, or 100 ms have passed. */
void await_stores(struct team *team, struct range range);
/* While the gate is closed, no writer stores. */
void close_gate(struct team *team);
void open_gate(struct team *team);

/* The stamps of a page, whatever they were read through. */
struct stamps {
	u64 word[NR_WORDS];
};

struct stamps read_stamps(const char *page);
size_t word_offset(unsigned int nth);
/* The number of the oldest store that @spot's page may hold from now on; 0: it may be empty. */
u64 least_number(const struct spot *spot);
/* Fail unless the stamps are this page's and of store @least or later. */
void check_stamps(struct team *team, unsigned int nr, const struct stamps *stamps, u64 least,
		  const char *after);
/* Check all pages of the arena, through the mapping @view. */
void check_arena(struct team *team, const char *view, const char *after);

/* A team's main function: it runs until the team is killed. */
typedef void team_fn(unsigned int number);

team_fn run_anon, run_tmpfs, run_disk, run_walk;

#endif /* PROOF_H */
