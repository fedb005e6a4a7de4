// SPDX-License-Identifier: GPL-2.0-only
/* Shrink a failing sequence of operations: see memx.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memx_run.h"

#define TRIALS		150
#define TRIAL_SECONDS	60

const unsigned char *left_out;

struct trials {
	int proc, left;
	__u64 from, to;
	unsigned char *without;
};

static bool fails_again(struct trials *trials)
{
	pid_t pid;
	int status;

	if (trials->left-- <= 0)
		return false;
	pid = start_worker(trials->proc, trials->from, trials->to, 0);
	for (int i = 0; i < TRIAL_SECONDS * 100; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return verdicts[trials->proc].failed || status;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return false;
}

/* Try later beginnings, from the end backwards in steps that double. */
static void leave_out_beginning(struct trials *trials)
{
	__u64 first = trials->from;

	for (__u64 length = 8; trials->to > first + length; length *= 2) {
		trials->from = trials->to - length;
		if (fails_again(trials))
			return;
	}
	trials->from = first;
}

static void set_range(unsigned char *without, __u64 from, __u64 to, unsigned char value)
{
	memset(without + from, value, to - from);
}

static void leave_out_pieces(struct trials *trials)
{
	unsigned char kept[4096];

	for (__u64 piece = (trials->to - trials->from) / 2; piece; piece /= 2) {
		for (__u64 at = trials->from; at < trials->to; at += piece) {
			__u64 end = at + piece < trials->to ? at + piece : trials->to;

			if (end - at > sizeof(kept))
				continue;
			memcpy(kept, trials->without + at, end - at);
			set_range(trials->without, at, end, 1);
			if (!fails_again(trials))
				memcpy(trials->without + at, kept, end - at);
		}
	}
}

static void tell_shrunk(struct trials *trials)
{
	__u64 nr = 0;

	for (__u64 at = trials->from; at < trials->to; at++)
		nr += !trials->without[at];
	printf("# shrunk to %llu operations:\n", (unsigned long long)nr);
	trials->left = 1;
	options.trace = true;
	fails_again(trials);
	printf("# %s\n", verdicts[trials->proc].text);
}

void shrink(int proc, __u64 from, __u64 to)
{
	struct trials trials = { .proc = proc, .left = TRIALS, .from = from, .to = to };

	trials.without = calloc(1, to + 1);
	left_out = trials.without;
	if (!fails_again(&trials)) {
		printf("# it did not happen again\n");
		return;
	}
	leave_out_beginning(&trials);
	printf("# again: memx --seed %llu --rare %u%s --proc %d --threads %d ",
	       (unsigned long long)options.seed, options.rare, options.drop ? " --drop" : "",
	       proc, options.threads);
	printf("--from %llu --to %llu\n", (unsigned long long)trials.from,
	       (unsigned long long)to);
	leave_out_pieces(&trials);
	tell_shrunk(&trials);
}
