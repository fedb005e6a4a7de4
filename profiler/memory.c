// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts loads, stores, distinct lines, and misses in a model of a processor's caches and data
 * TLBs, by what is in the line and by function.  Events are counted, too.
 *
 * The model: caches of 64-byte lines that each keep what was used last, from a program's start on;
 * a line that misses in one level is looked up in the next, and kept in both.  It has no
 * prefetchers, no speculation, no instruction fetches, no page-table walks, no other processors,
 * and TLBs that are never flushed.  The guest's instructions are not changed.
 *
 * Nothing is counted where an access crosses a line: the first line stands for it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "cache.h"
#include "decode.h"
#include "insn.h"
#include "modes.h"
#include "symbols.h"

enum level { L1, L2, LLC, DTLB, STLB, NR_LEVELS };

static const char *const level_names[NR_LEVELS] = { "l1", "l2", "llc", "dtlb", "stlb" };

struct uses {
	uint64_t loads, stores, misses[NR_LEVELS];
};

static struct cache levels[NR_LEVELS];
static struct uses by_area[NR_AREAS], *by_symbol;
static unsigned int nr_symbols, stretch;
static bool started, active;
static uint64_t lines[NR_AREAS], written[NR_AREAS];

bool memory_caches(const char *text)
{
	for (int level = 0; level < NR_LEVELS; level++) {
		unsigned int ways;
		uint64_t entries;
		int len;

		if (sscanf(text, "%" SCNu64 "/%u%n", &entries, &ways, &len) != 2 ||
		    !cache_make(&levels[level], entries, ways))
			return false;
		text += len + (text[len] == ':');
	}
	return !*text;
}

/* Returns a bit for each level that misses. */
static unsigned int look_up(const struct place *place)
{
	unsigned int missed = 0;

	for (int level = L1; level <= LLC && !cache_use(&levels[level], place->line); level++)
		missed |= 1u << level;
	for (int level = DTLB; level <= STLB && !cache_use(&levels[level], place->page); level++)
		missed |= 1u << level;
	return missed;
}

static void add(struct uses *uses, bool store, unsigned int missed)
{
	uses->loads += !store;
	uses->stores += store;
	for (; missed; missed &= missed - 1)
		uses->misses[__builtin_ctz(missed)]++;
}

static void mark_line(const struct place *place, bool store)
{
	struct frame *frame = place->frame;
	uint64_t bit = 1ull << (place->line & 63);

	if (frame->stretch != stretch) {
		frame->read = 0;
		frame->written = 0;
		frame->stretch = stretch;
	}
	if (store)
		frame->written |= bit;
	else
		frame->read |= bit;
}

static void record(const struct place *place, const struct site *site, bool store,
		   unsigned int missed)
{
	mark_line(place, store);
	add(&by_area[place->frame->area], store, missed);
	add(&by_symbol[site->symbol], store, missed);
}

/*
 * The two lines that were accessed last, to which most accesses are.  It is known what they are,
 * and the last one has misses nowhere.
 */
static struct recent {
	uint64_t line;		/* virtual */
	struct place place;
} recent[2];

static void remember(uint64_t line, const struct place *place)
{
	recent[1] = recent[0];
	recent[0] = (struct recent){ .line = line, .place = *place };
}

/* Make the line that is accessed the first of the two.  Returns what misses: see look_up(). */
static unsigned int access_line(uint64_t vaddr, qemu_plugin_meminfo_t info, const struct site *site)
{
	bool tells = site->percpu || site->allocates || site->makes_tables;
	uint64_t line = vaddr >> LINE_SHIFT;
	struct place place;

	if (recent[0].line == line && !tells)
		return 0;
	place = recent[1].place;
	if (recent[1].line != line || tells)
		place = area_find(info, vaddr, site, active);
	remember(line, &place);
	return look_up(&place);
}

static void forget_recent(void)
{
	memset(recent, 0, sizeof(recent));
}

static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	const struct site *site = data;
	unsigned int missed;

	(void)cpu;
	if (!started)
		return;
	missed = access_line(vaddr, info, site);
	if (active)
		record(&recent[0].place, site, qemu_plugin_mem_is_store(info), missed);
}

/* Sites are shared by a function's instructions: with the %gs prefix and without. */
static struct site *site_of(unsigned int symbol, bool percpu)
{
	static struct site **sites;
	struct site **site;

	if (!sites) {
		nr_symbols = symbol_count();
		sites = calloc(2 * nr_symbols, sizeof(*sites));
		by_symbol = calloc(nr_symbols, sizeof(*by_symbol));
		if (!sites || !by_symbol)
			abort();
	}
	site = &sites[2 * symbol + percpu];
	if (!*site) {
		*site = calloc(1, sizeof(**site));
		if (!*site)
			abort();
		**site = (struct site){ .symbol = symbol, .percpu = percpu };
		area_learn(*site);
	}
	return *site;
}

static void translated(struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	count_mode.translated(tb);
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned int symbol = symbol_at(qemu_plugin_insn_vaddr(insn));
		bool percpu = decode_insn(insn) & INSN_PERCPU;

		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, site_of(symbol, percpu));
	}
}

static void start(void)
{
	forget_recent();
	started = true;
}

static void begin(void)
{
	count_mode.begin();
	memset(by_area, 0, sizeof(by_area));
	if (by_symbol)
		memset(by_symbol, 0, nr_symbols * sizeof(*by_symbol));
	stretch++;
	forget_recent();
	started = true;
	active = true;
}

static void end(void)
{
	count_mode.end();
	active = false;
}

static void add_lines(const struct frame *frame)
{
	if (frame->stretch != stretch)
		return;
	lines[frame->area] += __builtin_popcountll(frame->read | frame->written);
	written[frame->area] += __builtin_popcountll(frame->written);
}

static void print_area(FILE *out, int area)
{
	const struct uses *uses = &by_area[area];

	fprintf(out, "loads.%s %" PRIu64 "\n", area_names[area], uses->loads);
	fprintf(out, "stores.%s %" PRIu64 "\n", area_names[area], uses->stores);
	fprintf(out, "lines.%s %" PRIu64 "\n", area_names[area], lines[area]);
	fprintf(out, "written.%s %" PRIu64 "\n", area_names[area], written[area]);
	for (int level = 0; level < NR_LEVELS; level++)
		fprintf(out, "%s.%s %" PRIu64 "\n", level_names[level], area_names[area],
			uses->misses[level]);
}

/* "@FUNCTION LOADS STORES L1 L2 LLC DTLB STLB" */
static void print_function(FILE *out, unsigned int symbol)
{
	const struct uses *uses = &by_symbol[symbol];

	if (!uses->loads && !uses->stores)
		return;
	fprintf(out, "@%s %" PRIu64 " %" PRIu64, symbol_name(symbol), uses->loads, uses->stores);
	for (int level = 0; level < NR_LEVELS; level++)
		fprintf(out, " %" PRIu64, uses->misses[level]);
	fputc('\n', out);
}

static void print(FILE *out)
{
	started = false;
	count_mode.print(out);
	memset(lines, 0, sizeof(lines));
	memset(written, 0, sizeof(written));
	area_each(add_lines);
	for (int area = 0; area < NR_AREAS; area++)
		print_area(out, area);
	for (unsigned int symbol = 0; symbol < nr_symbols; symbol++)
		print_function(out, symbol);
}

const struct mode memory_mode = {
	.name = "memory",
	.translated = translated,
	.start = start,
	.begin = begin,
	.end = end,
	.print = print,
};
