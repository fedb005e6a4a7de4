// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gates: see gate.h.
 *
 * A processor that stands at a gate does nothing at all: it answers no interrupt, and whoever waits
 * for it waits until the gate opens.
 */
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gate.h"

#define POLL		100	/* microseconds */
/* What nobody opens is left open: each time would cost the limit. */
#define LATE_MAX	3

struct gate gates[GATES_MAX];
unsigned int nr_gates;

static atomic_bool armed;
static atomic_ulong rounds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *report;
static long written;	/* up to here, it is of programs that have ended */

/* ADDR:END:CPU:HIT */
static bool read_place(struct place *place, const char *text)
{
	unsigned long long addr, end;

	if (sscanf(text, "%llx:%llx:%d:%lu", &addr, &end, &place->cpu, &place->hit) != 4)
		return false;
	place->addr = addr;
	place->end = end;
	return true;
}

static bool read_until(struct gate *gate, char *text)
{
	char *rest, *word;

	if (*text == '@')
		return sscanf(text, "@%d", &gate->until_gate) == 1;
	for (word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (gate->nr_until == PLACES_MAX ||
		    !read_place(&gate->until[gate->nr_until++], word))
			return false;
	return gate->nr_until > 0;
}

/* NAME LIMIT STOP SINCE UNTIL; UNTIL is a list of places, or @ and the number of a gate. */
bool gate_read(const char *line)
{
	struct gate *gate = &gates[nr_gates];
	char stop[128], since[128], until[512];

	if (nr_gates == GATES_MAX)
		return false;
	gate->until_gate = NO_GATE;
	if (sscanf(line, "%47s %u %127s %127s %511s", gate->name, &gate->limit, stop, since,
		   until) != 5 ||
	    !read_place(&gate->stop, stop) || !read_place(&gate->since, since) ||
	    !read_until(gate, until))
		return false;
	nr_gates++;
	return true;
}

static bool is_meant(const struct place *place, unsigned int cpu, unsigned long time)
{
	return (place->cpu == ANY_CPU || place->cpu == (int)cpu) &&
	       (!place->hit || place->hit == time);
}

/* Somebody stands at the gate that this one waits for, or has stood there in this round. */
static bool other_is_met(const struct gate *gate)
{
	const struct gate *other = &gates[gate->until_gate];

	return atomic_load(&other->standing) || atomic_load(&other->opened);
}

/*
 * At a gate that waits for another one, the program comes again and again, and stops for a moment
 * each time: in between it answers interrupts, for which the other processor may wait.
 */
static void poll_other(struct gate *gate)
{
	if (atomic_load(&gate->opened))
		return;
	if (!other_is_met(gate)) {
		atomic_store(&gate->hits, atomic_load(&gate->openings) + 1);
		usleep(POLL);
		return;
	}
	atomic_store(&gate->opened, true);
	atomic_store(&gate->hits, atomic_fetch_add(&gate->openings, 1) + 1);
}

/* In milliseconds, how long the thread of QEMU that waited longest was ready while others ran. */
static unsigned long kept_waiting(void)
{
	unsigned long long waited, most = 0;
	glob_t found;
	FILE *file;

	if (glob("/proc/self/task/*/schedstat", 0, NULL, &found))
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		file = fopen(found.gl_pathv[i], "r");
		if (file && fscanf(file, "%*u %llu", &waited) == 1 && waited > most)
			most = waited;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return most / 1000000;
}

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000UL + time.tv_nsec / 1000000;
}

/* Time for which the host kept another processor waiting does not count. */
static bool is_late(const struct gate *gate, unsigned long begin, unsigned long waited)
{
	return now() - begin >= gate->limit &&
	       now() - begin - (kept_waiting() - waited) >= gate->limit;
}

static bool wait_there(struct gate *gate)
{
	unsigned long begin = now(), waited = kept_waiting();

	while (!is_late(gate, begin, waited)) {
		if (atomic_load(&gate->open))
			return true;
		if (!atomic_load(&armed))
			return false;
		usleep(POLL);
	}
	return false;
}

static void stand(struct gate *gate)
{
	bool opened;

	atomic_fetch_add(&gate->hits, 1);
	gate_report();
	opened = wait_there(gate);
	atomic_fetch_add(opened ? &gate->openings : &gate->late, 1);
	if (opened)
		atomic_store(&gate->opened, true);
	atomic_store(&gate->standing, 0);
	gate_report();
}

void gate_since(unsigned int cpu, void *data)
{
	struct gate *gate = data;

	if (!atomic_load(&armed) || (gate->stop.cpu != ANY_CPU && gate->stop.cpu != (int)cpu))
		return;
	atomic_store(&gate->came, 0);
	atomic_store(&gate->counts, true);
}

void gate_stop(unsigned int cpu, void *data)
{
	struct gate *gate = data;
	unsigned int nobody = 0;

	if (!atomic_load(&armed) || !atomic_load(&gate->counts) ||
	    atomic_load(&gate->late) >= LATE_MAX ||
	    (gate->stop.cpu != ANY_CPU && gate->stop.cpu != (int)cpu))
		return;
	if (gate->until_gate != NO_GATE) {
		poll_other(gate);
		return;
	}
	if (!is_meant(&gate->stop, cpu, atomic_fetch_add(&gate->came, 1) + 1))
		return;
	if (atomic_load(&gate->standing))
		return;
	atomic_store(&gate->open, false);
	atomic_store(&gate->passed, 0);
	if (atomic_compare_exchange_strong(&gate->standing, &nobody, cpu + 1))
		stand(gate);
}

void gate_pass(unsigned int cpu, unsigned int place, struct gate *gate)
{
	unsigned int standing = atomic_load(&gate->standing);

	if (!standing || standing == cpu + 1)
		return;
	if (gate->until[place].cpu != ANY_CPU && gate->until[place].cpu != (int)cpu)
		return;
	if (is_meant(&gate->until[place], cpu, atomic_fetch_add(&gate->passed, 1) + 1))
		atomic_store(&gate->open, true);
}

void gate_begin(void)
{
	unsigned int i;

	for (i = 0; i < nr_gates; i++) {
		atomic_store(&gates[i].came, 0);
		atomic_store(&gates[i].opened, false);
		atomic_store(&gates[i].counts, !gates[i].since.addr);
	}
	atomic_store(&armed, true);
}

void gate_end(void)
{
	unsigned int i;

	if (!atomic_exchange(&armed, false))
		return;
	atomic_fetch_add(&rounds, 1);
	for (i = 0; i < nr_gates; i++)
		atomic_fetch_add(&gates[i].rounds, atomic_load(&gates[i].opened));
	gate_report();
}

void gate_report_to(FILE *file)
{
	report = file;
}

/* The kernel patches itself: what was split once may be whole later. */
static bool is_no_instruction(const struct place *place)
{
	return place->split && !place->met;
}

static bool is_misplaced(const struct gate *gate)
{
	bool found = is_no_instruction(&gate->stop) || is_no_instruction(&gate->since);
	unsigned int i;

	for (i = 0; i < gate->nr_until; i++)
		found |= is_no_instruction(&gate->until[i]);
	return found;
}

void gate_report(void)
{
	unsigned int i;

	pthread_mutex_lock(&lock);
	fseek(report, written, SEEK_SET);
	fprintf(report, "rounds %lu\n", atomic_load(&rounds));
	for (i = 0; i < nr_gates; i++)
		fprintf(report, "gate %s hits %lu openings %lu late %lu rounds %lu standing %u "
			"misplaced %u\n", gates[i].name, atomic_load(&gates[i].hits),
			atomic_load(&gates[i].openings), atomic_load(&gates[i].late),
			atomic_load(&gates[i].rounds), atomic_load(&gates[i].standing),
			is_misplaced(&gates[i]));
	fprintf(report, "end\n");
	fflush(report);
	pthread_mutex_unlock(&lock);
}

static void forget(struct gate *gate)
{
	atomic_store(&gate->hits, 0);
	atomic_store(&gate->openings, 0);
	atomic_store(&gate->late, 0);
	atomic_store(&gate->rounds, 0);
}

void gate_report_ends(void)
{
	unsigned int i;

	gate_report();
	written = ftell(report);
	atomic_store(&rounds, 0);
	for (i = 0; i < nr_gates; i++)
		forget(&gates[i]);
	gate_report();
}
