// SPDX-License-Identifier: GPL-2.0-only
/*
 * swathe-field [--pairs N] [--mib N] [--rows LIST] [--dir DIR] [--thp] [--on BITS]
 *              [--seed S] [--stock]
 *
 * Run it on a machine whose kernel has Swathe; see measure.h for what it does.  As root it
 * flips the switch; others measure the present state alone.  It takes at most half of the
 * memory that is free at its start, writes a file without a name in DIR (default: /var/tmp),
 * and puts all settings back.  Progress goes to stderr, the block for a mail to stdout.
 *
 * --rows zap,lazyfree:64K selects rows: those of a bench, or one.
 * --thp lets folios of 64 KiB, 1 MiB and 2 MiB be made (madvise) while it runs.
 * --on BITS measures these bits of the switch, instead of those that are set.
 * --stock measures a kernel without Swathe.
 *
 * exit status: 0 done; 1 a row failed, or a setting could not be put back; 2 wrong usage;
 * 3 the machine lacks something; 128 + N ended by signal N.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define MOST	128		/* MiB */
#define LEAST	4

struct options options = { .pairs = 20, .dir = "/var/tmp" };

static volatile sig_atomic_t interrupted;

static __noreturn void usage(const char *why)
{
	fprintf(stderr, "swathe-field: %s\n", why);
	fprintf(stderr, "usage: swathe-field [--pairs N] [--mib N] [--rows LIST] [--dir DIR]");
	fprintf(stderr, " [--thp] [--on BITS] [--seed S] [--stock]\n");
	exit(EXIT_USAGE);
}

static unsigned long parse_number(const char *text, unsigned long least, unsigned long most)
{
	char *end, why[200];
	unsigned long number = strtoul(text, &end, 0);

	if (!*end && *text && *text != '-' && number >= least && number <= most)
		return number;
	snprintf(why, sizeof(why), "'%s' is not a number from %lu to %lu", text, least, most);
	usage(why);
}

static void set_option(int name, char *value)
{
	if (name == 'p')
		options.pairs = parse_number(value, 1, MAX_PAIRS);
	else if (name == 'm')
		options.mib = parse_number(value, LEAST, 1UL << 20);
	else if (name == 's')
		options.seed = parse_number(value, 0, UINT64_MAX);
	else if (name == 'r')
		options.rows = value;
	else if (name == 'd')
		options.dir = value;
	else if (name == 't')
		options.thp = true;
	else if (name == 'k')
		options.stock = true;
	else if (name == 'o' && parse_number(value, 1, UINT64_MAX))
		options.on = value;
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "pairs", 1, 0, 'p' }, { "mib", 1, 0, 'm' }, { "seed", 1, 0, 's' },
		{ "rows", 1, 0, 'r' }, { "dir", 1, 0, 'd' }, { "thp", 0, 0, 't' },
		{ "stock", 0, 0, 'k' }, { "on", 1, 0, 'o' }, { }
	};
	int c;

	options.seed = time(NULL);
	opterr = 0;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == '?')
			usage("unknown option, or a value is missing");
		set_option(c, optarg);
	}
	if (optind < argc)
		usage("there are no arguments, only options");
}

static void check_rows(void)
{
	const char *unknown = unknown_row();

	if (!unknown)
		return;
	fprintf(stderr, "swathe-field: --rows: no row is '%.*s'; there are",
		(int)strcspn(unknown, ","), unknown);
	for (unsigned int i = 0; i < nr_rows; i++)
		fprintf(stderr, " %s", rows[i].name);
	fprintf(stderr, "\n");
	exit(EXIT_USAGE);
}

static __noreturn void lack(const char *what)
{
	fprintf(stderr, "swathe-field: %s\n", what);
	exit(EXIT_LACKS);
}

/* Take what was asked for, or what is usual, and never more than half of what is free. */
static void choose_size(void)
{
	unsigned long most = allowance() / MIB & ~1UL;

	if (most < (options.mib ? options.mib : LEAST))
		lack("too little memory is free: half of it must be 4 MiB, or what --mib says");
	if (!options.mib)
		options.mib = most < MOST ? most : MOST;
	options.mib &= ~1UL;
}

static void on_signal(int number)
{
	interrupted = number;
	kill_child();
}

static void catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);	/* stopped, it would leave the switch as it is */
}

/* The guardian puts the settings back at exit. */
static void leave_if_interrupted(void)
{
	if (!interrupted)
		return;
	fprintf(stderr, "swathe-field: ended by signal %d%s\n", (int)interrupted,
		nr_states() > 1 ? "; the switch is being put back" : "");
	exit(128 + interrupted);
}

/* Others may take some memory while the program runs: a fourth more than it needs is enough. */
static bool is_memory_short(void)
{
	return 2 * allowance() < (options.mib + options.mib / 4) * MIB;
}

bool measure_once(struct result *result, enum state state, struct sample *sample)
{
	if (is_memory_short()) {
		snprintf(result->reason, REASON, "memory got short");
		result->ending = LEFT_OUT;
		return false;
	}
	leave_if_interrupted();
	select_state(state);
	result->ending = run_child(result->row, sample, result->reason);
	leave_if_interrupted();
	return result->ending == DONE;
}

/* @first is the state that is measured first. */
static bool measure_pair(struct result *result, enum state first, unsigned int nth)
{
	for (unsigned int i = 0; i < nr_states(); i++) {
		enum state state = nr_states() > 1 ? (first + i) % NR_STATES : OFF;

		if (!measure_once(result, state, &result->samples[state][nth]))
			return false;
	}
	return true;
}

/*
 * The order of the first pair of each two is drawn, and the second pair has the other one:
 * what drifts with time falls on both states alike.  One pair more comes first and is not
 * counted.
 */
static void measure_row(struct result *result, struct random *random)
{
	enum state first = OFF;

	if (!measure_pair(result, OFF, 0))
		return;
	for (unsigned int i = 0; i < options.pairs; i++) {
		first = i % 2 ? (first == OFF ? ON : OFF) : below(random, NR_STATES);
		if (!measure_pair(result, first, i))
			return;
	}
	count_row(result);
}

static void tell(const struct result *result)
{
	double off[MAX_PAIRS], on[MAX_PAIRS];

	fprintf(stderr, "%-22s ", result->row->name);
	if (result->ending != DONE) {
		fprintf(stderr, "%s: %s\n", result->ending == FAILED ? "failed" : "left out",
			result->reason);
		return;
	}
	take_times(result, OFF, off);
	fprintf(stderr, "%.1f", figure_of(off, options.pairs).median);
	if (nr_states() > 1) {
		take_times(result, ON, on);
		fprintf(stderr, " -> %.1f", figure_of(on, options.pairs).median);
	}
	fprintf(stderr, " ns a page\n");
}

static void allocate(struct result *result, const struct row *row)
{
	result->row = row;
	for (unsigned int state = 0; state < NR_STATES; state++) {
		result->samples[state] = calloc(options.pairs, sizeof(struct sample));
		if (!result->samples[state])
			lack("no memory");
	}
}

/* Returns how many rows are wanted. */
static unsigned int measure_all(struct result *results)
{
	struct random random = { options.seed };
	unsigned int nr = 0;

	for (unsigned int i = 0; i < nr_rows; i++) {
		if (!is_wanted(&rows[i]))
			continue;
		allocate(&results[nr], &rows[i]);
		measure_row(&results[nr], &random);
		tell(&results[nr++]);
	}
	return nr;
}

static int status_of(const struct result *results, unsigned int nr)
{
	bool done = false;

	for (unsigned int i = 0; i < nr; i++) {
		if (results[i].ending == FAILED)
			return EXIT_FAILURE;
		done |= results[i].ending == DONE;
	}
	return done ? EXIT_SUCCESS : EXIT_LACKS;
}

int main(int argc, char **argv)
{
	const char *missing;
	struct result *results;
	unsigned int nr;

	parse_options(argc, argv);
	check_rows();
	missing = require_switch();
	if (missing)
		lack(missing);
	choose_size();
	note_machine();
	open_file();
	catch_signals();
	start_guardian();
	if (!try_switch())
		usage("the kernel refuses what --on says");
	allow_folios();
	probe_events();
	results = calloc(nr_rows, sizeof(*results));
	if (!results)
		lack("no memory");
	nr = measure_all(results);
	if (!print_block(results, nr))
		lack("the block could not be written");
	return status_of(results, nr);
}
