// SPDX-License-Identifier: GPL-2.0-only
/* A set-associative cache: see cache.h. */
#include <stdlib.h>
#include <string.h>

#include "cache.h"

bool cache_make(struct cache *cache, uint64_t entries, unsigned int ways)
{
	if (ways < 2 || !entries || entries % ways)
		return false;
	cache->sets = entries / ways;
	cache->ways = ways;
	cache->keys = calloc(entries, sizeof(*cache->keys));
	return cache->keys;
}

/*
 * A number of sets that is a power of two takes a key's low bits, as small caches do.  Others are
 * last-level caches in slices, which processors choose by a hash of the address.
 */
static unsigned int set_of(const struct cache *cache, uint64_t key)
{
	if (!(cache->sets & (cache->sets - 1)))
		return key & (cache->sets - 1);
	return ((key * 0x9e3779b97f4a7c15ull) >> 32) % cache->sets;
}

bool cache_use(struct cache *cache, uint64_t key)
{
	uint64_t *set = cache->keys + (uint64_t)set_of(cache, key) * cache->ways;
	unsigned int way;
	bool hit;

	for (way = 0; way < cache->ways && set[way] != key; way++)
		;
	hit = way < cache->ways;
	if (!hit)
		way = cache->ways - 1;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = key;
	return hit;
}
