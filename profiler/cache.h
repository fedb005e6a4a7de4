/* SPDX-License-Identifier: GPL-2.0-only */
/* A set-associative cache, or TLB, that replaces what was used least recently. */
#ifndef SWATHE_PROFILER_CACHE_H
#define SWATHE_PROFILER_CACHE_H

#include <stdbool.h>
#include <stdint.h>

struct cache {
	unsigned int sets, ways;
	uint64_t *keys;		/* of each set from the last used to the first used */
};

/*
 * Make an empty cache of @entries lines, or translations, in sets of @ways, at least two.  Returns
 * false if there is no such cache, or no memory.
 */
bool cache_make(struct cache *cache, uint64_t entries, unsigned int ways);

/* Use a key, which must not be 0: true if the cache has it.  If not, it has it from now on. */
bool cache_use(struct cache *cache, uint64_t key);

#endif /* SWATHE_PROFILER_CACHE_H */
