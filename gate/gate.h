/* SPDX-License-Identifier: GPL-2.0-only */
/* Gates: where a virtual processor stops until another one has come somewhere.  See plugin.c. */
#ifndef SWATHE_GATE_H
#define SWATHE_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define GATES_MAX	16
#define PLACES_MAX	4
#define NAME_MAX_LEN	47
#define ANY_CPU		-1
#define NO_GATE		-1

/**
 * struct place - where a processor comes
 * @addr: an instruction; with @end the first one of a function, whose returns are meant
 * @end: behind the function; 0: @addr is meant
 * @cpu: the processor, or ANY_CPU
 * @hit: which time counts, from 1 on; 0: each
 * @met: there is an instruction at @addr
 * @split: @addr is in the middle of an instruction
 */
struct place {
	uint64_t addr, end;
	int cpu;
	unsigned long hit;
	bool met, split;
};

/**
 * struct gate - where a processor stops
 * @name: for the report
 * @stop: where
 * @since: times are counted from when the same processor has come there; @addr 0: since the round
 *	began
 * @until: another processor comes to one of these
 * @nr_until: how many there are
 * @until_gate: or another one stands at this gate; NO_GATE: none.  Such a gate stops for a moment
 *	only, each time.
 * @limit: milliseconds of the host's clock after which it opens by itself
 * @standing: the processor that stands there, plus 1; 0: none
 * @open: that one may go on
 * @counts: a processor has come to @since
 * @came: how often a processor came there since then
 * @passed: how often another one came to @until since one stands there
 * @opened: it was opened in this round
 * @hits, @openings, @late: how often somebody stood there, was let go, and was not, in all
 * @rounds: in how many rounds it was opened
 */
struct gate {
	char name[NAME_MAX_LEN + 1];
	struct place stop, since, until[PLACES_MAX];
	unsigned int nr_until, limit;
	int until_gate;
	atomic_uint standing;
	atomic_bool open, opened, counts;
	atomic_ulong came, passed, hits, openings, late, rounds;
};

extern struct gate gates[GATES_MAX];
extern unsigned int nr_gates;

/* Read a line of the list of gates.  Returns whether it is one. */
bool gate_read(const char *line);
/* A processor comes to a place: called by the instructions there.  @data: the gate. */
void gate_stop(unsigned int cpu, void *data);
void gate_since(unsigned int cpu, void *data);
void gate_pass(unsigned int cpu, unsigned int place, struct gate *gate);
/* The program's marks: gates work in between. */
void gate_begin(void);
void gate_end(void);
/* Where the report goes: it is written anew whenever something has happened. */
void gate_report_to(FILE *file);
void gate_report(void);
/* A program ends: what comes is reported behind that. */
void gate_report_ends(void);

#endif /* SWATHE_GATE_H */
