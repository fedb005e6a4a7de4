// SPDX-License-Identifier: GPL-2.0-only
/* An order that follows no address: see workload.h. */
#include <stdlib.h>

#include "workload.h"

#define SEED	0x9e3779b97f4a7c15ULL

static u64 next_random(u64 *state)
{
	u64 x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

unsigned int *make_order(size_t nr, bool shuffled)
{
	unsigned int *order = malloc(nr * sizeof(*order));
	u64 state = SEED;

	if (!order)
		fail("out of memory");
	for (size_t i = 0; i < nr; i++)
		order[i] = i;
	for (size_t i = shuffled ? nr : 0; i > 1; i--) {
		size_t other = next_random(&state) % i;
		unsigned int taken = order[i - 1];

		order[i - 1] = order[other];
		order[other] = taken;
	}
	return order;
}
