// SPDX-License-Identifier: GPL-2.0-only
/* Draw a pattern from a seed: see search.h. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/workload.h"
#include "search.h"

/* At most so many pages are touched, and so many calls made, in a round. */
#define MOST	(1UL << 14)

static const char * const ways[NR_WAYS] = {
	[WAY_DONTNEED] = "MADV_DONTNEED",
	[WAY_FREE] = "MADV_FREE and MADV_PAGEOUT",
	[WAY_PUNCH] = "holes in shared memory",
	[WAY_PAGEOUT] = "MADV_PAGEOUT",
	[WAY_UNMAP] = "mmap()",
};

/* splitmix64: neighbouring seeds have nothing in common. */
static u64 draw(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

static unsigned long below(u64 *state, unsigned long limit)
{
	return draw(state) % limit;
}

static bool one_in(u64 *state, unsigned long n)
{
	return !below(state, n);
}

static u64 parse_seed(const char *name)
{
	unsigned long seed, number;
	int end = 0;

	if (sscanf(name, "%lu-%lu%n", &seed, &number, &end) != 2 || name[end])
		fail("unknown case %s: expected SEED-NUMBER", name);
	return (u64)seed << 32 ^ number;
}

/* A size of 2 MiB to 512 MiB: those between powers of two, too. */
static size_t draw_len(u64 *state)
{
	size_t tables = BIT(below(state, 8));

	return (tables + below(state, tables + 1)) * TABLE;
}

/* All pages, some in each table, or one in a table. */
static unsigned long draw_step(u64 *state)
{
	static const unsigned long steps[] = { 1, 1, 2, 3, 8, 16, 61, 256, 512, 512 };

	return steps[below(state, ARRAY_SIZE(steps))];
}

static size_t draw_piece(u64 *state, size_t len)
{
	static const size_t pieces[] = {
		PAGE, 4 * PAGE, 16 * PAGE, 16 * PAGE, 128 * PAGE, TABLE, TABLE, 4 * TABLE,
	};
	size_t piece = pieces[below(state, ARRAY_SIZE(pieces))];

	return one_in(state, 4) || piece > len ? len : piece;
}

static unsigned long draw_kib(u64 *state)
{
	static const unsigned long sizes[] = { 4, 4, 4, 16, 64, 64, 1024, 2048 };

	return sizes[below(state, ARRAY_SIZE(sizes))];
}

/* So few pages are touched, and so few calls made, that a round takes little time. */
static void bound(struct pattern *p)
{
	while (p->len / PAGE / p->step > MOST)
		p->step *= 2;
	while (p->len / p->piece / p->every > MOST)
		p->piece *= 2;
	if (p->piece > p->len)
		p->piece = p->len;
	p->len -= p->len % p->piece;
}

struct pattern draw_pattern(const char *name)
{
	u64 state = parse_seed(name);
	struct pattern p = { .len = draw_len(&state) };

	p.kib = draw_kib(&state);
	p.step = draw_step(&state);
	p.shuffled = one_in(&state, 4);
	p.way = below(&state, NR_WAYS);
	p.piece = draw_piece(&state, p.len);
	p.every = one_in(&state, 2) ? 1 : 1 + below(&state, 8);
	p.pieces_shuffled = one_in(&state, 4);
	p.forks = one_in(&state, 6);
	p.policy = one_in(&state, 6) ? "pressure" : one_in(&state, 6) ? "huge" : "adaptive";
	bound(&p);
	if (p.len / p.piece < p.every)
		p.every = 1;
	return p;
}

void describe_pattern(const struct pattern *p)
{
	printf("# %zu MiB, folios of %lu KiB, each %lu. page touched%s; %s of each %zu. piece of %zu KiB%s%s; %s\n",
	       p->len / MIB, p->kib, p->step, p->shuffled ? " in shuffled order" : "",
	       ways[p->way], p->every, p->piece / 1024,
	       p->pieces_shuffled ? " in shuffled order" : "",
	       p->forks ? ", a child has it, too" : "", p->policy);
}
