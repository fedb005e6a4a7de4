// SPDX-License-Identifier: GPL-2.0-only
/*
 * swathe-proof [--minutes N | --seconds N] [--seed S] [--dir DIR] [--teams LIST]
 *
 * Run it as root on a machine whose kernel has Swathe, if possible for an hour; see proof.h
 * for what it does.  It uses all processors, at most 100 MiB of memory plus 30 MiB for
 * each processor, and a file in DIR (default: /var/tmp), written at up to 2 MiB a second.
 *
 * --teams anonymous,tmpfs,disk,walk selects teams; without it all of them run.
 * --spoil stamp|trap|canary|table makes a mistake on purpose, which must be found.
 *
 * exit status: 0 nothing was wrong; 1 something was; 2 wrong usage; 3 nothing was proved:
 * the kernel has no Swathe, the user is not root, or the machine lacks something.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proof.h"

#define MAX_TEAMS	256
#define POLL		100000	/* us */
#define TURN		5	/* polls */
#define LOG_GRACE	600	/* polls: a team may find wrong content, which says more */

struct options options = { .seconds = 3600, .dir = "/var/tmp" };
struct account *account;

/*
 * A team finds little unless its threads run at the same time, each on a processor.  So the
 * teams take turns, and those without a turn are stopped.  @turns has a bit for each turn
 * in which the team runs.
 */
enum turn { ANON_TURN, FILE_TURN, WALK_TURN, WALKS_TURN, ALL_TURN, NR_TURNS };

static struct running {
	const char *name;
	team_fn *run;
	unsigned int turns;
	pid_t pid;
} teams[MAX_TEAMS];

static unsigned int nr_teams;
static char log_line[200];		/* the kernel's first complaint in its log */
static struct account *accounts;
static volatile sig_atomic_t interrupted;

/*
 * Report the team's first failure only.  Do not exit: the exit of a process whose page tables
 * are damaged may crash the machine before the verdict is printed.
 */
static __noreturn void leave(int status, const char *fmt, va_list args)
{
	if (!__atomic_exchange_n(&account->leaving, true, __ATOMIC_ACQ_REL)) {
		vsnprintf(account->failure, sizeof(account->failure), fmt, args);
		store(&account->failed, status);
	}
	for (;;)
		pause();
}

void wrong(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_WRONG, fmt, args);
}

void lacking(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	leave(EXIT_LACKS, fmt, args);
}

static __noreturn void usage(void)
{
	fprintf(stderr, "swathe-proof [--minutes N | --seconds N] [--seed S] [--dir DIR] "
		"[--teams LIST]\n"
		"as root, on a kernel with Swathe; see docs/hardware.md\n");
	exit(EXIT_USAGE);
}

static unsigned long parse_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 0);

	if (*end || !*text || *text == '-')
		usage();
	return number;
}

static void parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "minutes", 1, 0, 'm' }, { "seconds", 1, 0, 's' }, { "seed", 1, 0, 'r' },
		{ "dir", 1, 0, 'd' }, { "teams", 1, 0, 't' }, { "spoil", 1, 0, 'x' }, { }
	};
	int c;

	options.seed = time(NULL) ^ (u64)getpid() << 32;
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'm')
			options.seconds = 60 * parse_number(optarg);
		else if (c == 's')
			options.seconds = parse_number(optarg);
		else if (c == 'r')
			options.seed = parse_number(optarg);
		else if (c == 'd')
			options.dir = optarg;
		else if (c == 't')
			options.teams = optarg;
		else if (c == 'x')
			options.spoil = optarg;
		else
			usage();
	}
	if (optind < argc || !options.seconds)
		usage();
}

static void add_teams(const char *name, team_fn *run, unsigned int nr, unsigned int turns)
{
	if (options.teams && !strstr(options.teams, name))
		return;
	while (nr-- && nr_teams < MAX_TEAMS)
		teams[nr_teams++] = (struct running){ name, run, turns | 1U << ALL_TURN, 0 };
}

/* Enough teams to keep all processors busy; at least one of each kind. */
static void choose_teams(void)
{
	unsigned int some = nr_cpus() / (MAX_WRITERS + 1);

	if (some > MAX_TEAMS / 3)
		some = MAX_TEAMS / 3;
	add_teams("anonymous", run_anon, some ? some : 1, 1U << ANON_TURN);
	add_teams("tmpfs", run_tmpfs, some > 1 ? some - 1 : 1, 1U << FILE_TURN);
	add_teams("disk", run_disk, 1, 1U << FILE_TURN);
	add_teams("walk", run_walk, 1, 1U << WALK_TURN | 1U << WALKS_TURN);
	add_teams("walk", run_walk, 1, 1U << WALKS_TURN);
}

static void start_one(unsigned int number)
{
	struct running *team = &teams[number];

	team->pid = fork();
	if (team->pid < 0) {
		fprintf(stderr, "swathe-proof: cannot fork: %s\n", strerror(errno));
		exit(EXIT_LACKS);
	}
	if (team->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	account = &accounts[number];
	team->run(number);
	_exit(0);
}

static void start_all(void)
{
	size_t size = MAX_TEAMS * sizeof(*accounts);

	accounts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (accounts == MAP_FAILED) {
		fprintf(stderr, "swathe-proof: no memory\n");
		exit(EXIT_LACKS);
	}
	fflush(stdout);
	for (unsigned int i = 0; i < nr_teams; i++)
		start_one(i);
}

static struct account sum_up(void)
{
	struct account sum = { 0 };

	for (unsigned int i = 0; i < nr_teams; i++) {
		sum.stores += load(&accounts[i].stores);
		sum.takes += load(&accounts[i].takes);
		sum.checks += load(&accounts[i].checks);
	}
	return sum;
}

static void print_progress(unsigned long seconds)
{
	struct account sum = sum_up();

	printf("  %lu:%02lu  %llu million stores, %llu times taken away", seconds / 60,
	       seconds % 60, (unsigned long long)sum.stores / 1000000, (unsigned long long)sum.takes);
	printf(", %llu pages checked, %lld tables given back\n", (unsigned long long)sum.checks,
	       counter_added("tables_freed"));
	fflush(stdout);
}

struct finding {
	int status;
	const char *where;
	char what[300];
};

static void find(struct finding *finding, int status, const char *where, const char *what)
{
	if (finding->status)
		return;
	finding->status = status;
	finding->where = where;
	snprintf(finding->what, sizeof(finding->what), "%s", what);
}

/* A team has ended, which is a failure. */
static void read_end(struct finding *finding, unsigned int number, int status)
{
	char text[80];

	teams[number].pid = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		find(finding, EXIT_LACKS, teams[number].name, "killed from outside (no memory?)");
	} else {
		snprintf(text, sizeof(text), "ended with status %#x", status);
		find(finding, EXIT_WRONG, teams[number].name, text);
	}
}

static void look_for_ends(struct finding *finding)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned int i = 0; i < nr_teams; i++)
			if (teams[i].pid == pid)
				read_end(finding, i, status);
}

static void look_for_failures(struct finding *finding)
{
	for (unsigned int i = 0; i < nr_teams; i++)
		if (load(&accounts[i].failed))
			find(finding, accounts[i].failed, teams[i].name, accounts[i].failure);
}

static void give_turn(unsigned int nth)
{
	unsigned int turn = nth % NR_TURNS;

	for (unsigned int i = 0; i < nr_teams; i++)
		if (teams[i].pid)
			kill(teams[i].pid, teams[i].turns >> turn & 1 ? SIGCONT : SIGSTOP);
}

static void end_all(void)
{
	for (unsigned int i = 0; i < nr_teams; i++)
		if (teams[i].pid)
			kill(teams[i].pid, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
}

static void on_signal(int number)
{
	interrupted = number;
}

/* Run for the time asked for, or until something is found.  Returns the seconds that passed. */
static unsigned long watch(struct finding *finding, int log)
{
	time_t start = time(NULL);
	unsigned long passed = 0, told = 0, polls = 0, grace = LOG_GRACE;

	while (!finding->status && !interrupted && passed < options.seconds) {
		if (polls % TURN == 0)
			give_turn(polls / TURN);
		polls++;
		usleep(POLL);
		look_for_failures(finding);
		look_for_ends(finding);
		if (!*log_line)
			log_complains(log, log_line, sizeof(log_line));
		else if (!grace--)
			find(finding, EXIT_WRONG, "the kernel's log", log_line);
		passed = time(NULL) - start;
		if (passed / 60 != told) {
			told = passed / 60;
			print_progress(passed);
		}
	}
	if (*log_line)
		find(finding, EXIT_WRONG, "the kernel's log", log_line);
	return passed;
}

/* Print what the teams of one kind did; they are adjacent in teams[]. */
static void print_kind(unsigned int first)
{
	struct account sum = { 0 };
	unsigned int nr = 0;

	for (unsigned int i = first; i < nr_teams; i++) {
		if (strcmp(teams[i].name, teams[first].name))
			break;
		sum.stores += load(&accounts[i].stores);
		sum.takes += load(&accounts[i].takes);
		sum.checks += load(&accounts[i].checks);
		nr++;
	}
	printf("done: %u %s: %llu stores, %llu times taken away, %llu pages checked\n", nr,
	       teams[first].name, (unsigned long long)sum.stores, (unsigned long long)sum.takes,
	       (unsigned long long)sum.checks);
}

static void print_verdict(const struct finding *finding, unsigned long seconds)
{
	printf("\n----- swathe-proof: from here to the line at the end, for a mail -----\n");
	if (finding->status == EXIT_WRONG)
		printf("verdict: WRONG (%s): %s\n", finding->where, finding->what);
	else if (finding->status)
		printf("verdict: none (%s): %s\n", finding->where, finding->what);
	else
		printf("verdict: nothing was wrong\n");
	if (*log_line)
		printf("the kernel's log: %s\n", log_line);
	print_machine();
	printf("run: seed %llu, %lu of %u seconds%s, %u teams\n",
	       (unsigned long long)options.seed, seconds, options.seconds,
	       interrupted ? " (interrupted)" : "", nr_teams);
	for (unsigned int i = 0; i < nr_teams; i++)
		if (!i || strcmp(teams[i].name, teams[i - 1].name))
			print_kind(i);
	if (!counter_added("tables_freed"))
		printf("note: no page table was given back: this proves nothing about tables\n");
	printf("counters before -> after:\n");
	print_counters();
	printf("----- swathe-proof: end -----\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct finding finding = { 0 };
	const char *missing;
	unsigned long seconds;
	int log;

	parse_options(argc, argv);
	missing = require_machine();
	if (missing) {
		fprintf(stderr, "swathe-proof: %s\n", missing);
		return EXIT_LACKS;
	}
	log = open_log();
	note_counters();
	choose_teams();
	if (!nr_teams)
		usage();
	print_machine();
	printf("seed %llu, %u seconds, %u teams\n", (unsigned long long)options.seed,
	       options.seconds, nr_teams);
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	start_all();
	seconds = watch(&finding, log);
	print_verdict(&finding, seconds);
	end_all();
	return finding.status;
}
