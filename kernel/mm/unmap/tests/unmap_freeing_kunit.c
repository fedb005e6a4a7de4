// SPDX-License-Identifier: GPL-2.0-only
/*
 * Freeing a batch of folios from several LRU lists and zones: each list is as long afterwards
 * as before.
 *
 * The folios are charged to the root control group.  Nobody else adds folios to lists: KUnit runs
 * before the first process, and waits here until the initial file system is unpacked.
 */
#include <kunit/test.h>
#include <linux/initrd.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/swap.h>
#include <linux/unmap.h>

#include "../compat_lru.h"
#include "../internal.h"

#define ORDER	2

struct unmap_freeing_test {
	long before[MAX_NR_ZONES][NR_LRU_LISTS];
	struct folio_batch folios;
	bool was_on;
};

static void switch_discard(bool on)
{
	if (on)
		static_key_enable(&unmap_keys[UNMAP_BIT_DISCARD].key);
	else
		static_key_disable(&unmap_keys[UNMAP_BIT_DISCARD].key);
}

static void read_sizes(long sizes[MAX_NR_ZONES][NR_LRU_LISTS])
{
	int zid, lru;

	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		struct zone *zone = &first_online_pgdat()->node_zones[zid];

		for (lru = 0; populated_zone(zone) && lru < NR_LRU_LISTS; lru++)
			sizes[zid][lru] = zone_page_state_snapshot(zone, NR_ZONE_LRU_BASE + lru);
	}
}

static int unmap_freeing_init(struct kunit *test)
{
	struct unmap_freeing_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	wait_for_initramfs();
	lru_add_drain_all();
	read_sizes(t->before);
	folio_batch_init(&t->folios);
	t->was_on = static_key_enabled(&unmap_keys[UNMAP_BIT_DISCARD].key);
	switch_discard(true);
	test->priv = t;
	return 0;
}

static void unmap_freeing_exit(struct kunit *test)
{
	struct unmap_freeing_test *t = test->priv;

	if (t)
		switch_discard(t->was_on);
}

/*
 * The bits of @kind: zone, active, swap-backed, on no list, size.  Returns how many pages a
 * list grows by.
 */
static long add_folio(struct kunit *test, unsigned int kind)
{
	struct unmap_freeing_test *t = test->priv;
	struct folio *folio = folio_alloc(kind & 1 ? GFP_KERNEL | GFP_DMA : GFP_KERNEL,
					  kind & 16 ? ORDER : 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio_batch_add(&t->folios, folio);
	KUNIT_ASSERT_EQ(test, 0, mem_cgroup_charge(folio, NULL, GFP_KERNEL));
	if (kind & 4)
		__folio_set_swapbacked(folio);
	if (kind & 8)
		return 0;
	if (kind & 2)
		folio_set_active(folio);
	folio_add_lru(folio);
	return folio_nr_pages(folio);
}

/* By how many pages all lists together have grown. */
static long pages_grown(const struct unmap_freeing_test *t)
{
	long now[MAX_NR_ZONES][NR_LRU_LISTS] = {}, grown = 0;
	int zid, lru;

	read_sizes(now);
	for (zid = 0; zid < MAX_NR_ZONES; zid++) {
		for (lru = 0; lru < NR_LRU_LISTS; lru++)
			grown += now[zid][lru] - t->before[zid][lru];
	}
	return grown;
}

static void free_and_expect_sizes(struct kunit *test, long pages)
{
	struct unmap_freeing_test *t = test->priv;
	long now[MAX_NR_ZONES][NR_LRU_LISTS] = {};

	lru_add_drain();
	KUNIT_EXPECT_EQ(test, pages, pages_grown(t));
	folios_put(&t->folios);
	KUNIT_EXPECT_EQ(test, 0, folio_batch_count(&t->folios));
	read_sizes(now);
	KUNIT_EXPECT_MEMEQ(test, now, t->before, sizeof(now));
}

/* Each folio is of another kind than the one before it. */
static void unmap_freeing_mixed(struct kunit *test)
{
	unsigned int i;
	long pages = 0;

	for (i = 0; i < PAGEVEC_SIZE; i++)
		pages += add_folio(test, i);
	free_and_expect_sizes(test, pages);
}

/* Stretches of four. */
static void unmap_freeing_stretches(struct kunit *test)
{
	unsigned int i;
	long pages = 0;

	for (i = 0; i < PAGEVEC_SIZE; i++)
		pages += add_folio(test, i / 4 * 5);
	free_and_expect_sizes(test, pages);
}

/* Somebody holds a reference to every third folio: these stay on their lists until then. */
static void unmap_freeing_held(struct kunit *test)
{
	struct unmap_freeing_test *t = test->priv;
	unsigned int i, refs[PAGEVEC_SIZE];
	struct folio_batch held;

	folio_batch_init(&held);
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		add_folio(test, 4);
		refs[i] = 1 + i % 2;
		folio_ref_add(t->folios.folios[i], i % 2 + !(i % 3));
		if (i % 3 == 0)
			folio_batch_add(&held, t->folios.folios[i]);
	}
	lru_add_drain();
	folios_put_refs(&t->folios, refs);
	KUNIT_EXPECT_EQ(test, folio_batch_count(&held), pages_grown(t));
	t->folios = held;
	free_and_expect_sizes(test, folio_batch_count(&held));
}

/* Every other entry of the batch is a gap, and is not given to anybody. */
static void unmap_freeing_gaps(struct kunit *test)
{
	struct unmap_freeing_test *t = test->priv;
	unsigned int i, refs[PAGEVEC_SIZE];
	long pages = 0;

	if (!compat_is_gap(NULL))
		kunit_skip(test, "batches have no gaps before Linux 7.3");
	for (i = 0; i < PAGEVEC_SIZE; i++) {
		refs[i] = 1 + i % 2;
		if (i % 2)
			pages += add_folio(test, i / 4 * 5);
		else
			folio_batch_add(&t->folios, NULL);
		if (i % 2)
			folio_ref_inc(t->folios.folios[i]);
	}
	lru_add_drain();
	KUNIT_EXPECT_EQ(test, pages, pages_grown(t));
	folios_put_refs(&t->folios, refs);
	KUNIT_EXPECT_EQ(test, 0, folio_batch_count(&t->folios));
	KUNIT_EXPECT_EQ(test, 0, pages_grown(t));
}

static struct kunit_case unmap_freeing_cases[] = {
	KUNIT_CASE(unmap_freeing_mixed),
	KUNIT_CASE(unmap_freeing_stretches),
	KUNIT_CASE(unmap_freeing_held),
	KUNIT_CASE(unmap_freeing_gaps),
	{}
};

static struct kunit_suite unmap_freeing_suite = {
	.name = "unmap_freeing",
	.init = unmap_freeing_init,
	.exit = unmap_freeing_exit,
	.test_cases = unmap_freeing_cases,
};

kunit_test_suite(unmap_freeing_suite);

MODULE_DESCRIPTION("KUnit tests of mm/unmap/: folios that are freed together");
MODULE_LICENSE("GPL");
