// SPDX-License-Identifier: GPL-2.0-only
/*
 * tsc - print the frequency of this machine's time-stamp counter in kHz.
 *
 * Each of five rounds counts for 20 ms of CLOCK_MONOTONIC_RAW.  A reading of the counter lies
 * between two readings of the clock; the tightest of many pairs is taken, so that a round in which
 * the task was preempted is no worse.  Status 1: the rounds differ by more than 100 ppm, as where
 * the counter changes its speed, or where a hypervisor emulates it.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define ROUNDS		5
#define NANOSECONDS	20000000
#define TRIES		50

struct reading {
	uint64_t ticks, nanoseconds;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static struct reading read_both(void)
{
	struct reading best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = now(), ticks = __rdtsc(), after = now();

		if (after - before < least) {
			least = after - before;
			best = (struct reading){ ticks, before + least / 2 };
		}
	}
	return best;
}

/* In Hz. */
static double count(void)
{
	struct reading begin = read_both(), end;

	do
		end = read_both();
	while (end.nanoseconds - begin.nanoseconds < NANOSECONDS);
	return (end.ticks - begin.ticks) * 1e9 / (end.nanoseconds - begin.nanoseconds);
}

int main(void)
{
	double least = count(), most = least, sum = least;

	for (int i = 1; i < ROUNDS; i++) {
		double found = count();

		least = found < least ? found : least;
		most = found > most ? found : most;
		sum += found;
	}
	printf("%.0f\n", sum / ROUNDS / 1000);
	return most > least * 1.0001;
}
