// SPDX-License-Identifier: GPL-2.0-only
/*
 * memx: random operations on memory, checked against a model: see memx.h.
 *
 *	memx [--seed S] [--procs P] [--threads T] [--ops N] [--minutes M]
 *	memx --rare N		choose slow operations N times less often: more run in a second
 *	memx --drop		more full page tables that reclaim drops, and more reclaim
 *	memx --seed S --proc P --from N [--to M]	one process again, from operation N on
 *	memx --spoil N		change a byte after operation N: this must fail
 *
 * The seed, its number, --rare and --drop determine each operation, so any part of a sequence
 * can be run by itself.  After a mismatch the sequence is shrunk: memx leaves out its beginning,
 * and then every other operation that is not needed to fail.  Threads and the kernel's own work
 * run at the same time, so a failure may not happen again; memx reports that.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "parts/memx/memx_run.h"

struct options options = {
	.procs = 2, .only_proc = -1, .threads = 1, .rare = 1, .to = 10000, .spoil = ~0ULL,
};

struct verdict *verdicts;

static int first_failure(pid_t *pids)
{
	int failed = -1, status, left = options.procs;
	pid_t pid;

	while (left && (pid = wait(&status)) > 0) {
		for (int i = 0; i < options.procs; i++) {
			if (pids[i] != pid)
				continue;
			left--;
			if (failed < 0 && status) {
				failed = i;
				for (int j = 0; j < options.procs; j++)
					kill(pids[j], SIGKILL);
			}
		}
	}
	return failed;
}

static __u64 all_done(void)
{
	__u64 sum = 0;

	for (int i = 0; i < MAX_PROCS; i++)
		sum += verdicts[i].done;
	return sum;
}

static bool run_all(void)
{
	time_t end = options.minutes > 0 ? time(NULL) + options.minutes * 60 : 0;
	pid_t pids[MAX_PROCS];
	int failed;

	for (int i = 0; i < options.procs; i++)
		pids[i] = start_worker(i, options.from, options.to, end);
	failed = first_failure(pids);
	if (failed < 0)
		return true;
	printf("# process %d, operation %llu: %s\n", failed,
	       (unsigned long long)verdicts[failed].op, verdicts[failed].text);
	shrink(failed, options.from, verdicts[failed].op + 2);
	return false;
}

static bool run_one(void)
{
	int status, proc = options.only_proc;
	pid_t pid = start_worker(proc, options.from, options.to, 0);

	waitpid(pid, &status, 0);
	if (status)
		printf("# operation %llu: %s\n", (unsigned long long)verdicts[proc].op,
		       verdicts[proc].text);
	return !status;
}

static __noreturn void usage(void)
{
	fprintf(stderr,
		"memx [--seed S] [--rare N] [--drop] [--procs P] [--threads T] [--ops N] [--minutes M]\n"
		"memx --seed S [--rare N] [--drop] --proc P --from N [--to M] [--threads T] [--trace]\n");
	exit(2);
}

static bool take_option(int c, const char *text)
{
	__u64 number = text ? strtoull(text, NULL, 0) : 0;

	if (c == 's')
		options.seed = number;
	else if (c == 'p')
		options.procs = number;
	else if (c == 't')
		options.threads = number;
	else if (c == 'e')
		options.to = number;
	else if (c == 'f')
		options.from = number;
	else if (c == 'o')
		options.only_proc = number;
	else if (c == 'x')
		options.spoil = number;
	else if (c == 'r')
		options.rare = number;
	else if (c == 'v')
		options.trace = true;
	else if (c == 'd')
		options.drop = true;
	else if (c == 'm')
		options.minutes = atof(text);
	else
		return false;
	if (c == 'm')
		options.to = ~0ULL;
	return true;
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seed", 1, 0, 's' }, { "procs", 1, 0, 'p' }, { "threads", 1, 0, 't' },
		{ "ops", 1, 0, 'e' }, { "to", 1, 0, 'e' }, { "from", 1, 0, 'f' },
		{ "minutes", 1, 0, 'm' }, { "proc", 1, 0, 'o' }, { "trace", 0, 0, 'v' },
		{ "spoil", 1, 0, 'x' }, { "rare", 1, 0, 'r' }, { "drop", 0, 0, 'd' }, { }
	};
	int c;

	options.seed = time(NULL);
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (!take_option(c, optarg))
			usage();
	}
	if (optind < argc || options.procs < 1 || options.procs > MAX_PROCS ||
	    options.rare < 1 || options.rare > 400 || options.only_proc >= MAX_PROCS ||
	    options.threads < 0 || options.threads > 64)
		usage();
}

int main(int argc, char **argv)
{
	int kmsg = kmsg_open();
	bool good;

	parse_options(argc, argv);
	collect_kinds();
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n# seed %llu\n", (unsigned long long)options.seed);
	verdicts = mmap(NULL, MAX_PROCS * sizeof(*verdicts), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	write_text("/sys/kernel/mm/ksm/run", "1");
	folio_size_set(64);
	cgroup_enter();
	if (options.drop)
		drop_begin();
	good = options.only_proc >= 0 ? run_one() : run_all();
	if (options.drop)
		drop_end();
	folio_size_restore();
	cgroup_leave();
	if (good && kmsg >= 0 && kmsg_has_bug(kmsg)) {
		printf("# the kernel's log has a BUG line\n");
		good = false;
	}
	tell_kinds();
	printf("%sok 1 memx: %llu operations\n", good ? "" : "not ",
	       (unsigned long long)all_done());
	return !good;
}
