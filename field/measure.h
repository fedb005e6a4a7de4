/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * swathe-field: what does Swathe change on this machine?
 *
 * For each row, the program flips the switch and measures one call with it off and one
 * with it on, pair after pair.  A child process prepares and makes each call; then it
 * checks what the call did.
 *
 * measure.c		options, the pairs of each row
 * measure_child.c	one measurement, in a child process
 * measure_memory.c	anonymous memory in folios of one size, and how much may be taken
 * measure_rows.c	the rows of one process: zap, lazyfree, swapout, ptetables
 * measure_team.c	the rows of many threads, and page faults
 * measure_file.c	the row of a mapped file
 * measure_move.c	the rows of memory that moves to another node
 * measure_meter.c	what is counted beside the clock: interrupts, VmPTE
 * measure_count.c	the calls in which the processor's events are counted
 * measure_events.c	these events: see measure_events.h
 * measure_raw.c	the event that perf has no common name for
 * measure_switch.c	the switch and other settings, and the guardian, which puts them back
 * measure_figures.c	medians, and whether a change is more than noise
 * measure_block.c	the block of text for a mail
 * measure_head.c	its first lines: the machine
 *
 * The clock and the programs' common parts are those of the lab's workloads.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "../workloads/lib/workload.h"
#include "machine.h"
#include "measure_events.h"

#define VERSION	3		/* of the block's format */
#define MAX_PAIRS	1000
#define MAX_THREADS	32
#define MAX_ROUNDS	5		/* of counted calls, for each set of events */
#define REASON	160

struct options {
	u64 seed;
	unsigned int pairs;
	unsigned long mib;
	const char *dir, *rows;
	const char *on;		/* what to write to the switch */
	bool stock, thp;
};

extern struct options options;

/* The states that are measured. */
enum state { OFF, ON, NR_STATES };

/* Off and on; one state alone if the switch is missing or cannot be written. */
unsigned int nr_states(void);
/* "off", "on"; or "now". */
const char *state_name(enum state state);

/* What one measurement found. */
struct sample {
	u64 ns;
	u64 pages;		/* that the call handled; tables, for rows that count these */
	struct interrupts interrupts;
	u64 vmpte;		/* kB of page tables more than before the preparation */
	struct count counts[NR_EVENTS];
	u64 folios;		/* of those pages; 0: not known */
};

struct row;
typedef void row_fn(const struct row *row, struct sample *sample);

struct row {
	const char *name;	/* BENCH:CASE, as the lab's benches name it */
	row_fn *run;
	unsigned long kib;	/* the size of the folios */
	size_t len;		/* bytes of address space; 0: options.mib */
	bool swaps;
	bool exits;		/* the call is the end of a process: no event is counted */
};

extern const struct row rows[];
extern const unsigned int nr_rows;
/* Whether --rows names this row. */
bool is_wanted(const struct row *row);
/* Where --rows has a name that no row has; NULL if nowhere. */
const char *unknown_row(void);
size_t row_len(const struct row *row);

/* measure_team.c */
unsigned int nr_threads(void);
row_fn fault_alone, fault_together, discard_together;
/* measure_file.c */
row_fn page_out_file;
/* Make the file in options.dir; it has no name. */
void open_file(void);
/* The directory and its file system. */
const char *describe_dir(void);
/* measure_move.c */
row_fn move_there_and_back;

/* measure_memory.c: memory of @len bytes in folios of @kib KiB, or skip. */
char *fill_anon(size_t len, unsigned long kib);
/*
 * Half of the memory that is free here, in bytes.  Page cache does not count as free, except
 * in a control group, which makes room by dropping its own.
 */
u64 allowance(void);
/* Skip unless at least nine of ten pages went; else note them in the sample. */
void note_gone(struct sample *sample, size_t len, u64 left);

/* measure_child.c */
enum ending { DONE, LEFT_OUT, FAILED };
/* Measure once.  @reason, of REASON bytes, says why it was left out or failed. */
enum ending run_child(const struct row *row, struct sample *sample, char *reason);
void kill_child(void);
/* In a child of @parent: end when the parent ends, even if it has ended already. */
void die_with(pid_t parent);

/* measure_meter.c */
/* In the child: open the chosen events, and note where the sample is to be written. */
void open_meter(struct sample *sample);

/* measure_switch.c */
/* NULL, or why this machine cannot be measured. */
const char *require_switch(void);
bool can_switch(void);
/*
 * Start the guardian.  From here on all settings are put back when this process ends, also by
 * SIGKILL, but not if the guardian is killed, too.
 */
void start_guardian(void);
void leave_guardian(void);	/* in a child */
void select_state(enum state state);
/* Switch on; false if the kernel refuses that. */
bool try_switch(void);
const char *switch_text(void);
/* Let folios of the measured sizes be made for those that ask, with --thp. */
void allow_folios(void);

/* measure_figures.c */
struct figure {
	double median, mad;
};

struct figure figure_of(const double *values, unsigned int nr);

/* The change from off to on: the median of the pairs' changes, as a fraction, and its interval. */
struct change {
	double median, low, high;
	bool bounded;		/* there are enough pairs for an interval */
};

struct change change_of(const double *off, const double *on, unsigned int nr);
/* The bounds are the values of this rank, from either end; 0: there are too few values. */
int rank_of_bound(unsigned int nr);

/* How often an event happened a page, in the calls in which it was counted. */
struct tally {
	double values[MAX_ROUNDS];
	unsigned int nr;
	bool scaled;		/* some of them are estimates */
};

/* What is known of a row. */
struct result {
	const struct row *row;
	enum ending ending;
	char reason[REASON];
	struct sample *samples[NR_STATES];	/* a sample a pair */
	struct tally tallies[NR_STATES][NR_EVENTS];
	bool uncounted;		/* for @reason, after it was timed */
};

/* measure.c: one call; false if it did not go well, or the row does not fit here. */
bool measure_once(struct result *result, enum state state, struct sample *sample);

/* measure_count.c */
/* Count events in more calls of a row that was timed. */
void count_row(struct result *result);
unsigned int nr_rounds(void);
/* Whether no call counted any of this event. */
bool stood_still(unsigned int event);

/* measure_block.c */
/* ns a page of each measurement in this state. */
void take_times(const struct result *result, enum state state, double *values);
/* Print all of it; false if it could not be written. */
bool print_block(const struct result *results, unsigned int nr);
/* Print a line of the block. */
__printf(1, 2) void line(const char *fmt, ...);
/* Print a line "KEY: TEXT" of its head, folded. */
__printf(2, 3) void head(const char *key, const char *fmt, ...);

/* measure_head.c */
void print_head(void);
/* Read all of it, before the program changes settings. */
void note_machine(void);

#endif /* MEASURE_H */
