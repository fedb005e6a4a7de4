// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block of text for a mail: see measure.h.  ./swathe field --read makes tables of it.
 *
 * Its checksum is that of its words, with a space after each, so that it survives quoting,
 * other line ends and other white space.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"

#define WIDTH	78
#define MARK	"-----"

static unsigned int crc;

/* The CRC-32 that zlib and others compute. */
static void add_byte(unsigned char byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
}

static void add_words(const char *text)
{
	static const char spaces[] = " \t\n";

	while (*(text += strspn(text, spaces))) {
		size_t len = strcspn(text, spaces);

		while (len--)
			add_byte(*text++);
		add_byte(' ');
	}
}

void line(const char *fmt, ...)
{
	char text[1000];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	add_words(text);
	printf("%s\n", text);
}

/* Where a text that is too long for a line is best cut: before its last space that fits. */
static size_t fitting(const char *text, size_t room)
{
	size_t len = strlen(text), cut = room;

	if (len <= room)
		return len;
	while (cut && text[cut] != ' ')
		cut--;
	return cut ? cut : room;
}

/* Lines that continue the one before begin with a plus sign. */
void head(const char *key, const char *fmt, ...)
{
	char text[1000], first[40];
	const char *at = text;
	va_list args;
	size_t len;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(first, sizeof(first), "%s: ", key);
	len = fitting(at, WIDTH - strlen(first));
	line("%s%.*s", first, (int)len, at);
	while (*(at += len + (at[len] == ' '))) {
		len = fitting(at, WIDTH - 2);
		line("+ %.*s", (int)len, at);
	}
}

typedef double value_fn(const struct sample *sample, unsigned int arg);

static double time_of(const struct sample *sample, unsigned int arg)
{
	(void)arg;
	return (double)sample->ns / sample->pages;
}

enum { PAGES, FLUSHES, CALLS, VMPTE, NR_COUNTS };

static double count_of(const struct sample *sample, unsigned int arg)
{
	const u64 counts[] = {
		sample->pages, sample->interrupts.flushes, sample->interrupts.calls,
		sample->vmpte,
	};

	return counts[arg];
}

static void take_values(const struct result *result, enum state state, value_fn *fn,
			unsigned int arg, double *values)
{
	for (unsigned int i = 0; i < options.pairs; i++)
		values[i] = fn(&result->samples[state][i], arg);
}

void take_times(const struct result *result, enum state state, double *values)
{
	take_values(result, state, time_of, 0, values);
}

/* The words of a row: its name, then KEY=FIGURE for each figure that there is. */
struct words {
	char text[1000];
};

__printf(2, 3) static void add_word(struct words *row, const char *fmt, ...)
{
	size_t len = strlen(row->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(row->text + len, sizeof(row->text) - len, fmt, args);
	va_end(args);
}

static void add_times(struct words *row, const struct result *result)
{
	double values[NR_STATES][MAX_PAIRS];
	struct change change;

	for (unsigned int state = 0; state < nr_states(); state++) {
		struct figure figure;

		take_times(result, state, values[state]);
		figure = figure_of(values[state], options.pairs);
		add_word(row, " %s=%.2f %s_mad=%.2f", state_name(state), figure.median,
			 state_name(state), figure.mad);
	}
	if (nr_states() < NR_STATES)
		return;
	change = change_of(values[OFF], values[ON], options.pairs);
	add_word(row, " change=%+.2f", 100 * change.median);
	if (change.bounded)
		add_word(row, " from=%+.2f to=%+.2f", 100 * change.low, 100 * change.high);
}

/* The medians of one figure, in each state. */
static void add_medians(struct words *row, const struct result *result, const char *key,
			value_fn *fn, unsigned int arg)
{
	double values[MAX_PAIRS];

	for (unsigned int state = 0; state < nr_states(); state++) {
		double median;

		take_values(result, state, fn, arg, values);
		median = figure_of(values, options.pairs).median;
		add_word(row, " %s_%s=%.*f", key, state_name(state),
			 median == (u64)median ? 0 : 2, median);
	}
}

/* Events a page: nothing where none was counted, and a tilde where some are estimates. */
static void add_events(struct words *row, const struct result *result, const char *key,
		       unsigned int event)
{
	for (unsigned int state = 0; state < nr_states(); state++) {
		const struct tally *tally = &result->tallies[state][event];
		double median;

		if (!tally->nr || stood_still(event))
			continue;
		median = figure_of(tally->values, tally->nr).median;
		add_word(row, " %s_%s=%s%.*f", key, state_name(state), tally->scaled ? "~" : "",
			 median < 1 ? 4 : 2, median);
	}
}

static void print_row(const struct result *result)
{
	static const char *const counts[NR_COUNTS] = {
		[PAGES] = "pages", [FLUSHES] = "tlb", [CALLS] = "calls", [VMPTE] = "vmpte",
	};
	static const char *const events[NR_EVENTS] = {
		[CYCLES] = "cycles", [INSTRUCTIONS] = "instructions", [L1D_MISSES] = "l1d",
		[L2_MISSES] = "l2", [LLC_MISSES] = "llc", [DTLB_LOADS] = "dtlb",
		[DTLB_STORES] = "dtlb_store",
	};
	struct words row;

	snprintf(row.text, sizeof(row.text), "%s", result->row->name);
	add_times(&row, result);
	for (unsigned int i = 0; i < NR_COUNTS; i++)
		add_medians(&row, result, counts[i], count_of, i);
	for (unsigned int i = 0; i < NR_EVENTS; i++)
		add_events(&row, result, events[i], i);
	head("row", "%s", row.text);
}

static void print_folios(const struct result *result)
{
	const struct sample *sample = &result->samples[OFF][0];

	if (sample->folios)
		head("folios", "%s: of %.1f pages on average", result->row->name,
		     (double)sample->pages / sample->folios);
}

static bool same_ending(const struct result *a, const struct result *b)
{
	return a->ending == b->ending && !strcmp(a->reason, b->reason);
}

/* A row that was not measured, with all others of the same reason. */
static void print_ending(const struct result *results, unsigned int nr, unsigned int first)
{
	char names[600];
	size_t len = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (!same_ending(&results[i], &results[first]))
			continue;
		if (i < first)
			return;
		len += snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
				results[i].row->name);
	}
	head(results[first].ending == FAILED ? "failed" : "left out", "%s: %s", names,
	     results[first].reason);
}

static void print_endings(const struct result *results, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (results[i].ending == DONE)
			print_folios(&results[i]);
		else
			print_ending(results, nr, i);
		if (results[i].uncounted)
			head("left out", "perf events in some calls of %s: %s",
			     results[i].row->name, results[i].reason);
	}
	print_events();
}

/* Their number comes first, so that a reader misses a row that a mail program has joined. */
static void print_rows(const struct result *results, unsigned int nr)
{
	unsigned int done = 0;

	for (unsigned int i = 0; i < nr; i++)
		done += results[i].ending == DONE;
	head("rows", "%u", done);
	for (unsigned int i = 0; i < nr; i++)
		if (results[i].ending == DONE)
			print_row(&results[i]);
}

bool print_block(const struct result *results, unsigned int nr)
{
	crc = ~0U;
	line(MARK " swathe-field %d: from here to its end " MARK, VERSION);
	print_head();
	print_endings(results, nr);
	print_rows(results, nr);
	printf("checksum: %08x\n", ~crc);
	printf(MARK " swathe-field %d: end " MARK "\n", VERSION);
	return !fflush(stdout) && !ferror(stdout);
}
