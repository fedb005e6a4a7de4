// SPDX-License-Identifier: GPL-2.0-only
/*
 * search SEED-NUMBER: a program as nobody wrote it, drawn from the seed: it touches memory, gives
 * some of it back, and touches it again, round after round.  The last rounds are measured.  What
 * costs more with mm/unmap than without, found here, becomes a case of another bench.
 *
 * Drawn are: the size of the mapping, the size of its folios, which pages are touched and in which
 * order, how they are given back, in pieces of which size and in which order, how many of the pieces,
 * whether a child has the memory, too, and the tables_policy's alternatives.
 *
 * After the last round: what was given back reads as zero (or, if it was paged out, as written),
 * all else as written.  The pattern is printed first, as a comment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tables.h"
#include "lib/workload.h"
#include "search.h"

#define WARM	4	/* rounds before those that are measured */
#define ROUNDS	4

/**
 * struct stage - where a pattern is played
 * @touched: the pages that are touched, in their order
 * @pieces: the pieces that are given back, in their order
 */
struct stage {
	const struct pattern *p;
	char *mem;
	int fd;
	unsigned int *touched, *pieces;
	size_t nr_touched, nr_pieces;
};

/* The order of @nr things, each @step-th of which counts. */
static unsigned int *draw_order(size_t nr, size_t step, bool shuffled)
{
	unsigned int *order = make_order(nr, shuffled);

	for (size_t i = 0; i < nr; i++)
		order[i] *= step;
	return order;
}

static char *page_at(const struct stage *s, size_t i)
{
	return s->mem + s->touched[i] * PAGE;
}

static u64 stamp_of(const struct stage *s, size_t i, unsigned int round)
{
	return (u64)s->touched[i] << 16 | (round + 1);
}

static void touch(const struct stage *s, unsigned int round)
{
	for (size_t i = 0; i < s->nr_touched; i++)
		*(volatile u64 *)page_at(s, i) = stamp_of(s, i, round);
}

static void discard(const struct stage *s, char *piece)
{
	const size_t len = s->p->piece;

	switch (s->p->way) {
	case WAY_DONTNEED:
		advise(piece, len, MADV_DONTNEED);
		break;
	case WAY_FREE:
		advise(piece, len, MADV_FREE);
		advise(piece, len, MADV_PAGEOUT);
		break;
	case WAY_PUNCH:
		punch(s->fd, piece - s->mem, len);
		break;
	case WAY_PAGEOUT:
		advise(piece, len, MADV_PAGEOUT);
		break;
	case WAY_UNMAP:
		if (mmap(piece, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != piece)
			fail("mmap failed: %s", strerror(errno));
		break;
	}
}

static void give_back(const struct stage *s)
{
	for (size_t i = 0; i < s->nr_pieces; i++)
		discard(s, s->mem + s->pieces[i] * s->p->piece);
}

/* A child that has the memory while it is given back; 0 if the pattern has none. */
static pid_t share(const struct stage *s)
{
	pid_t pid = s->p->forks ? fork() : 0;

	if (pid < 0)
		fail("fork failed: %s", strerror(errno));
	if (pid || !s->p->forks)
		return pid;
	child_prepared();
	_exit(0);
}

static void play(const struct stage *s, unsigned int round)
{
	pid_t child;

	touch(s, round);
	child = share(s);
	if (child)
		await_child(child);
	give_back(s);
	if (child) {
		release_child(child);
		reap_child(child);
	}
}

/* Which of the pieces have been given back: one byte for each. */
static char *list_gone(const struct stage *s)
{
	char *gone = calloc(s->p->len / s->p->piece, 1);

	if (!gone)
		fail("out of memory");
	for (size_t i = 0; i < s->nr_pieces; i++)
		gone[s->pieces[i]] = 1;
	return gone;
}

/* Reclaim may leave a page where it was: then it reads as written, unless it had to go. */
static void check(const struct stage *s, unsigned int round)
{
	const enum way way = s->p->way;
	char *gone = list_gone(s);

	for (size_t i = 0; i < s->nr_touched; i++) {
		u64 found = *(volatile u64 *)page_at(s, i), wanted = stamp_of(s, i, round);
		bool went = gone[s->touched[i] * PAGE / s->p->piece];
		bool may_go = went && way != WAY_PAGEOUT, must_go = may_go && way != WAY_FREE;

		if (found ? found != wanted || must_go : !may_go)
			fail("page %u reads as %#llx", s->touched[i], (unsigned long long)found);
	}
	free(gone);
}

static void prepare(struct stage *s)
{
	const struct pattern *p = s->p;

	s->mem = map_anon(p->len);
	if (p->way == WAY_PUNCH)
		s->fd = map_shared(s->mem, p->len);
	s->nr_touched = p->len / PAGE / p->step;
	s->touched = draw_order(s->nr_touched, p->step, p->shuffled);
	s->nr_pieces = p->len / p->piece / p->every;
	s->pieces = draw_order(s->nr_pieces, p->every, p->pieces_shuffled);
}

int main(int argc, char **argv)
{
	struct request req = parse_request(argc, argv, "search SEED-NUMBER");
	const struct pattern pattern = draw_pattern(req.name);
	struct stage stage = { .p = &pattern, .fd = -1 };
	unsigned int round = 0;
	u64 spent;

	describe_pattern(&pattern);
	settle();
	set_tables_policy(pattern.policy);
	thp_only(pattern.kib);
	prepare(&stage);
	while (round < WARM)
		play(&stage, round++);
	spent = measure_begin();
	while (round < WARM + ROUNDS)
		play(&stage, round++);
	spent = measure_end(spent);
	check(&stage, round - 1);
	set_tables_policy("adaptive");
	thp_only(4);
	report(spent, ROUNDS * stage.nr_touched);
	metric("vmpte", vmpte(), "kB");
	return 0;
}
