// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block of text for a mail: see measure.h.
 *
 * Its checksum is that of its words, with a space after each, so that it survives quoting,
 * other line ends and other white space.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"

#define WIDTH	78
#define CELL	8		/* columns of a figure */
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

static double event_of(const struct sample *sample, unsigned int arg)
{
	return sample->events[arg] < 0 ? -1 : sample->events[arg] / sample->pages;
}

enum { PAGES, FLUSHES, CALLS, VMPTE };

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

struct writing {
	char text[200];
};

/* Add a number, rounded so that it leaves a blank before it. */
static void add_cell(struct writing *row, int width, int decimals, double value)
{
	size_t len = strlen(row->text);
	char text[40];

	do {
		snprintf(text, sizeof(text), "%.*f", decimals, value);
	} while (strlen(text) >= (size_t)width && decimals--);
	snprintf(row->text + len, sizeof(row->text) - len, " %*s", width - 1, text);
}

static void add_signed(struct writing *row, double value)
{
	size_t len = strlen(row->text);

	snprintf(row->text + len, sizeof(row->text) - len, " %+6.1f", value);
}

static void add_nothing(struct writing *row, int width)
{
	size_t len = strlen(row->text);

	snprintf(row->text + len, sizeof(row->text) - len, "%*s", width, "-");
}

static void add_nothings(struct writing *row, unsigned int nr)
{
	while (nr--)
		add_nothing(row, 7);
}

static struct writing begin_row(const struct result *result)
{
	struct writing row;

	snprintf(row.text, sizeof(row.text), "%-22s", result->row->name);
	return row;
}

static void add_figures(struct writing *row, const struct result *result, double *off, double *on)
{
	double *const values[] = { off, on };

	for (unsigned int state = 0; state < NR_STATES; state++) {
		struct figure figure;

		if (state >= nr_states()) {
			add_nothing(row, 9);
			add_nothing(row, 7);
			continue;
		}
		take_times(result, state, values[state]);
		figure = figure_of(values[state], options.pairs);
		add_cell(row, 9, 1, figure.median);
		add_cell(row, 7, 1, figure.mad);
	}
}

/* In per cent.  A star stands for more than noise: the interval does not contain 0. */
static void add_change(struct writing *row, const double *off, const double *on)
{
	struct change change = change_of(off, on, options.pairs);

	add_signed(row, 100 * change.median);
	if (!change.bounded) {
		add_nothings(row, 2);
		return;
	}
	add_signed(row, 100 * change.low);
	add_signed(row, 100 * change.high);
	if (change.low > 0 || change.high < 0)
		strcat(row->text, " *");
}

static void print_times(const struct result *result)
{
	struct writing row = begin_row(result);
	double off[MAX_PAIRS], on[MAX_PAIRS];

	add_figures(&row, result, off, on);
	if (nr_states() == NR_STATES)
		add_change(&row, off, on);
	else
		add_nothings(&row, 3);
	line("%s", row.text);
}

/* The medians of one figure, in each state. */
static void add_medians(struct writing *row, const struct result *result, value_fn *fn,
			unsigned int arg, int decimals, unsigned int states)
{
	double values[MAX_PAIRS];

	for (unsigned int state = 0; state < states; state++) {
		double median = -1;

		if (state < nr_states()) {
			take_values(result, state, fn, arg, values);
			median = figure_of(values, options.pairs).median;
		}
		if (median < 0)
			add_nothing(row, CELL);
		else
			add_cell(row, CELL, decimals, median);
	}
}

static void print_counts(const struct result *result)
{
	struct writing row = begin_row(result);

	add_medians(&row, result, count_of, PAGES, 0, 1);
	add_medians(&row, result, count_of, FLUSHES, 0, NR_STATES);
	add_medians(&row, result, count_of, CALLS, 0, NR_STATES);
	add_medians(&row, result, count_of, VMPTE, 0, NR_STATES);
	line("%s", row.text);
}

static void print_events(const struct result *result)
{
	struct writing row = begin_row(result);

	for (unsigned int i = 0; i < NR_EVENTS; i++)
		add_medians(&row, result, event_of, i, i == DTLB_MISSES ? 2 : 0, NR_STATES);
	line("%s", row.text);
}

static void print_table(const struct result *results, unsigned int nr,
			void (*print)(const struct result *))
{
	for (unsigned int i = 0; i < nr; i++)
		if (results[i].ending == DONE)
			print(&results[i]);
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
	const char *reason = probe_events();

	for (unsigned int i = 0; i < nr; i++) {
		if (results[i].ending == DONE)
			print_folios(&results[i]);
		else
			print_ending(results, nr, i);
	}
	if (reason)
		head("left out", "%s", reason);
}

static void print_tables(const struct result *results, unsigned int nr)
{
	const char *a = state_name(OFF), *b = nr_states() > 1 ? state_name(ON) : "-";

	line("%-22s%9s%7s%9s%7s%7s%7s%7s", "ns/page", a, "mad", b, "mad", "change", "from", "to");
	print_table(results, nr, print_times);
	line("%-22s%8s%8s%8s%8s%8s%8s%8s", "counts", "pages", "tlb", b, "calls", b, "vmpte", b);
	print_table(results, nr, print_counts);
	if (!has_event(CYCLES) && !has_event(INSTRUCTIONS) && !has_event(DTLB_MISSES))
		return;
	line("%-22s%8s%8s%8s%8s%8s%8s", "events/page", "cycles", b, "instr", b, "dtlb", b);
	print_table(results, nr, print_events);
}

bool print_block(const struct result *results, unsigned int nr)
{
	crc = ~0U;
	line(MARK " swathe-field %d: from here to the line at the end, for a mail " MARK, VERSION);
	print_head();
	print_endings(results, nr);
	print_tables(results, nr);
	printf("checksum: %08x\n", ~crc);
	printf(MARK " swathe-field %d: end " MARK "\n", VERSION);
	return !fflush(stdout) && !ferror(stdout);
}
