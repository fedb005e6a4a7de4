/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * swathe-proof: is memory what was written to it, on this machine, under Swathe?
 *
 * Everything here stores stamps in pages, which say whose they are and which store it was,
 * while others take the pages away: discard them, evict them, move them, give back their page
 * tables.  What may be lost by such an operation is known, so anything else that is lost,
 * old or foreign is wrong, and so is the kernel, or the machine.
 *
 * proof.c		options, starting the teams, watching them, the verdict
 * proof_team.c		an arena, those who store in it, and what must be found there
 * proof_anon.c		what is done to anonymous memory
 * proof_file.c		what is done to a mapped file: tmpfs, disk
 * proof_walk.c		tables that become other memory while processors may remember them
 * proof_machine.c	processor, kernel, switch and counters, and the kernel's log
 *
 * A team is a process: a driver, who takes memory away and checks, and threads that store,
 * each on a processor of its own.
 */
#ifndef PROOF_H
#define PROOF_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t u64;

#ifndef __noreturn
#define __noreturn	__attribute__((__noreturn__))
#endif
#ifndef __printf
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define load(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#define add(p, v)	__atomic_add_fetch(p, v, __ATOMIC_RELAXED)

#define PAGE		4096UL
#define MIB		(1UL << 20)
#define TABLE		(2 * MIB)	/* what one page table maps */

#define EXIT_WRONG	1
#define EXIT_USAGE	2
#define EXIT_LACKS	3

/* What the parent knows of a team, in memory that both have. */
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
	const char *spoil;	/* what to do wrong, to see that it is found */
};

extern struct options options;
extern struct account *account;		/* this team's own */

/* proof.c: what was found; the team ends. */
__noreturn __printf(1, 2) void wrong(const char *fmt, ...);
/* The machine cannot do this, which says nothing about it. */
__noreturn __printf(1, 2) void lacking(const char *fmt, ...);

/* proof_machine.c */
unsigned int nr_cpus(void);
void use_cpu(unsigned int nth);		/* modulo those that this process may use */
const char *require_machine(void);	/* NULL, or why nothing can be shown here */
void print_machine(void);
void note_counters(void);		/* as they are before */
void print_counters(void);		/* what was added to them since */
long long counter_added(const char *name);
int open_log(void);
bool log_complains(int fd, char *line, size_t size);

/*
 * A generator for each thread: the same for the same seed, who being which team's.
 */
struct random {
	u64 state;
};

struct random random_for(unsigned int team, unsigned int who);
u64 draw(struct random *random);
unsigned int below(struct random *random, unsigned int limit);

/* proof_team.c */
#define NR_TABLES	16
#define ARENA		(NR_TABLES * TABLE)
#define CLUSTER		4	/* neighbours in each table, and one page that is alone */
#define PER_TABLE	(CLUSTER + 1)
#define NR_PAGES	(NR_TABLES * PER_TABLE)
#define MAX_WRITERS	2
#define NR_WORDS	4	/* places of a page in which its stamp is stored */

/*
 * A page that is stored into.  @begun and @seq are its writer's: the last store that was
 * begun, and that has ended.  The driver's are @base: of stores up to that anything may be
 * gone, later ones must be there; and @losing, while an operation is on that may drop any.
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
	bool snapshot;		/* a child's: numbers and pages are not of the same moment */
};

/* Where the pages are, and who stores into them; the arena is mapped. */
void start_team(struct team *team, unsigned int number);
/* Some whole tables of the arena, or a part of one. */
struct range pick_range(struct team *team);
bool in_range(const struct spot *spot, struct range range);
/* Around an operation on the range that may drop what was stored before its end. */
void begin_loss(struct team *team, struct range range);
void end_loss(struct team *team, struct range range);
/* Wait, not for ever, until each page of the range was stored into twice. */
void await_stores(struct team *team, struct range range);
/* No store ends while the gate is closed. */
void close_gate(struct team *team);
void open_gate(struct team *team);

/* The stamps of a page, from wherever they are read. */
struct stamps {
	u64 word[NR_WORDS];
};

struct stamps read_stamps(const char *page);
size_t word_offset(unsigned int nth);
/* The least number that @spot's page must hold at a later time; 0: nothing is known. */
u64 least_number(const struct spot *spot);
/* Fail unless the stamps are this page's, and not older than that. */
void check_stamps(struct team *team, unsigned int nr, const struct stamps *stamps, u64 least,
		  const char *after);
/* All pages of the arena, by this process's own mapping of it. */
void check_arena(struct team *team, const char *view, const char *after);

/* What a team does, until it is killed. */
typedef void team_fn(unsigned int number);

team_fn run_anon, run_tmpfs, run_disk, run_walk;

#endif /* PROOF_H */
