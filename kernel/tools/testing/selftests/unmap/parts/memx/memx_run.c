// SPDX-License-Identifier: GPL-2.0-only
/* One process: its world, and its operations one after the other: see memx.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memx_run.h"

/* The kernel maps nothing here by itself: holes of the arena stay holes. */
#define ARENA		((char *)(1UL << 40))

#define CHECK_EVERY	4096
#define CHECK_STATE_EVERY	64
#define REMEMBERED	8

struct world world;
static struct verdict *mine;
static pthread_t presser;
static bool stop;

/* Random numbers: splitmix64. */

static __u64 mix(__u64 x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

__u32 pick(__u32 below)
{
	world.random = mix(world.random);
	return (world.random >> 16) % below;
}

bool chance(__u32 one_in)
{
	return !pick(one_in);
}

void seed_operation(__u64 op)
{
	world.op = op;
	world.random = mix(world.seed ^ mix(op));
	world.stamp = mix(world.random);
}

static struct range clip(__u32 first, __u32 nr)
{
	struct range range = { first, nr };

	if (range.nr > ARENA_PAGES - range.first)
		range.nr = ARENA_PAGES - range.first;
	return range;
}

static struct range pick_large_range(void)
{
	__u32 at = pick(ARENA_PAGES);

	if (chance(2))
		return clip(at & ~511U, 512);
	return clip(at, 1 + pick(chance(4) ? 2048 : 64));
}

/* A few pages, a folio, a page table, pages on both sides of a table's end, or a large range. */
struct range pick_range(void)
{
	__u32 at = pick(ARENA_PAGES), table = at & ~511U;

	if (chance(8 * options.rare))
		return pick_large_range();
	switch (pick(14)) {
	case 0:
	case 1:
		return table ? clip(table - 1 - pick(16), 2 + pick(32)) : clip(at, 16);
	case 2:
	case 3:
	case 4:
	case 5:
		return clip(at & ~15U, 16 * (1 + pick(4)));
	default:
		return clip(at, 1 + pick(8));
	}
}

/* Failures. */

struct remembered {
	__u64 op;
	const char *name;
	struct range range;
};

static struct remembered last[REMEMBERED];
static unsigned int nr_last;

static void remember(const char *name, struct range range)
{
	last[nr_last++ % REMEMBERED] = (struct remembered){ world.op, name, range };
	if (options.trace)
		printf("# %llu %s %u+%u%s\n", (unsigned long long)world.op, name, range.first,
		       range.nr, world.child ? " (child)" : "");
}

static size_t tell_history(char *text, size_t size)
{
	size_t len = 0;

	for (unsigned int i = nr_last > REMEMBERED ? nr_last - REMEMBERED : 0; i < nr_last; i++) {
		struct remembered *r = &last[i % REMEMBERED];

		len += snprintf(text + len, size - len, "\n# before: %llu %s %u+%u",
				(unsigned long long)r->op, r->name, r->range.first, r->range.nr);
	}
	return len;
}

void differ(const char *fmt, ...)
{
	va_list args;
	int len;

	if (mine->failed)	/* a child has reported the reason */
		_exit(1);
	va_start(args, fmt);
	len = vsnprintf(mine->text, 256, fmt, args);
	va_end(args);
	tell_history(mine->text + len, sizeof(mine->text) - len);
	mine->op = world.op;
	mine->failed = true;
	_exit(1);
}

bool worked(int result, const char *call, const char *tolerated)
{
	const char *name = strerrorname_np(errno);

	if (!result)
		return true;
	if (!name || !strstr(tolerated, name))
		differ("%s failed: %m", call);
	return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	differ("signal %d at page %td", sig, ((char *)info->si_addr - world.arena) / (ssize_t)PAGE);
}

static void catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
}

/* The world. */

static int open_object(int i)
{
	char path[] = "/mnt/memx-XXXXXX";
	int fd = i < NR_SHMEM ? -1 : mkstemp(path);

	if (fd >= 0)
		unlink(path);
	return fd >= 0 ? fd : memfd_create("memx", MFD_CLOEXEC);
}

/* Populated from the start, and so part of the baseline. */
static void *allocate(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		differ("no memory for the model: %m");
	return mem;
}

/* Large writes make large folios; page faults would not. */
static void fill_file(int fd)
{
	static const char zeroes[16 * PAGE];

	for (__u32 i = 0; i < OBJECT_PAGES; i += 16)
		if (pwrite(fd, zeroes, sizeof(zeroes), i * PAGE) != (ssize_t)sizeof(zeroes))
			differ("no room for a file: %m");
}

static void make_objects(void)
{
	world.objects = allocate(NR_OBJECTS * sizeof(struct object));
	for (int i = 0; i < NR_OBJECTS; i++) {
		world.objects[i].fd = open_object(i);
		world.objects[i].size = OBJECT_PAGES;
		if (ftruncate(world.objects[i].fd, OBJECT_PAGES * PAGE))
			differ("no room for an object: %m");
		if (i >= 2)
			fill_file(world.objects[i].fd);
	}
}

static void make_world(int proc)
{
	world.seed = mix(options.seed ^ mix(proc));
	world.arena = ARENA;
	world.pages = allocate(ARENA_PAGES * sizeof(struct page_model));
	world.uffd = -1;
	make_objects();
	if (options.drop)
		have_many_tables();
	catch_faults();
}

/* Unmap everything: no page may be left. */
static void end_world(void)
{
	long long left;

	check_world();
	release_pins();
	if (world.uffd >= 0)
		close(world.uffd);
	munmap(world.arena, ARENA_PAGES * PAGE);
	left = pages_in_use() - world.baseline;
	if (left > counters_slack())
		differ("%lld pages are left over", left);
}

/* Operations. */

static void fork_operation(struct range range);
static void free_and_exit(struct range range);
static struct operation fork_operations[] = {
	{ "fork", 3, fork_operation, true },
	{ "free_and_exit", 6, free_and_exit, true },
	{ }
};

static const struct operation *kinds[NR_KINDS];
static unsigned int nr_kinds, all_weights;

static void add_kinds(const struct operation *table)
{
	for (; table->name; table++) {
		kinds[nr_kinds++] = table;
		all_weights += table->weight;
	}
}

void collect_kinds(void)
{
	add_kinds(map_operations);
	add_kinds(content_operations);
	add_kinds(neutral_operations);
	add_kinds(tracking_operations);
	add_kinds(fork_operations);
	if (options.drop)
		add_kinds(drop_operations);
}

static __u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static unsigned int pick_any_kind(void)
{
	unsigned int at = pick(all_weights), kind = 0;

	while (at >= kinds[kind]->weight)
		at -= kinds[kind++]->weight;
	return kind;
}

static unsigned int pick_kind(void)
{
	unsigned int kind = pick_any_kind();

	while (kinds[kind]->costly && !chance(options.rare))
		kind = pick_any_kind();
	return kind;
}

static void one_operation(__u64 nr)
{
	unsigned int kind;
	struct range range;
	__u64 begin = now();

	seed_operation(nr);
	kind = pick_kind();
	range = pick_range();
	remember(kinds[kind]->name, range);
	kinds[kind]->act(range);
	mine->spent[kind] += now() - begin;
	mine->kinds[kind]++;
	mine->done++;
}

static pid_t forked;
static int log_fd = -1;

/* At a process's exit its counters are exact; the kernel logs those that are not zero. */
static void check_log(void)
{
	if (log_fd >= 0 && kmsg_has_bug(log_fd))
		differ("the kernel's log has a BUG line");
}

/* Reap the child, which has checked its world, run operations, and checked it again. */
static void reap(int how)
{
	int status;

	if (!forked || waitpid(forked, &status, how) != forked)
		return;
	forked = 0;
	world.frozen = false;
	if (status)
		differ("the child ended with %s %d", WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	check_log();
}

static __noreturn void live_as_child(__u64 seed, __u32 ops)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	world.child = true;
	world.seed = seed;
	model_fork();
	check_world();
	for (__u32 i = 0; i < ops; i++)
		one_operation(i);
	check_world();
	_exit(0);
}

static void fork_operation(struct range range)
{
	__u64 seed = mix(world.random);
	__u32 ops = pick(200);

	(void)range;
	if (world.child)
		return;
	reap(0);
	world.frozen = true;
	model_share();
	forked = fork();
	if (!forked)
		live_as_child(seed, ops);
	if (forked < 0) {
		forked = 0;
		world.frozen = false;
	}
}

/* A child exits after most of its memory was reclaimed. */
static void free_and_exit(struct range range)
{
	int status;
	pid_t pid;

	if (world.child)
		return;
	model_share();
	pid = fork();
	if (!pid) {
		world.child = true;
		model_fork();
		range.first = range.first % (ARENA_PAGES / 64) * 64;
		range.nr = 64;
		map_fresh(range);
		write_all(range);
		lazyfree(range);
		madvise(address(range.first), range.nr * PAGE, MADV_PAGEOUT);
		check_range(range);
		_exit(0);
	}
	if (pid < 0)
		return;
	if (waitpid(pid, &status, 0) != pid || status)
		differ("a child that freed memory ended with %#x", status);
	check_log();
}

bool memx_stops(void)
{
	return READ_ONCE(stop);
}

static void *disturbing(void *seed)
{
	unsigned int state = (uintptr_t)seed;
	struct timespec pause = { .tv_nsec = 2000000L * options.rare };

	while (!memx_stops()) {
		disturb(&state);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void start_threads(pthread_t *threads)
{
	if (options.drop)
		pthread_create(&presser, NULL, keep_pressing, (void *)(uintptr_t)world.seed);
	for (int i = 0; i < options.threads; i++)
		pthread_create(&threads[i], NULL, disturbing,
			       (void *)(uintptr_t)(world.seed + i));
}

static void stop_threads(pthread_t *threads)
{
	WRITE_ONCE(stop, true);
	for (int i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	if (options.drop)
		pthread_join(presser, NULL);
}

/* Change a byte behind the model's back: memx must notice. */
static void spoil_one_byte(void)
{
	for (__u32 i = 0; i < ARENA_PAGES; i++) {
		if (writable(model(i)) && !model(i)->lazy && !model(i)->half) {
			address(i)[PAGE / 2 - 1] ^= 1;
			return;
		}
	}
}

static bool time_left(time_t end)
{
	return !end || time(NULL) < end;
}

/* Not while a sequence is shrunk: it must fail at the same operation. */
static void check_now_and_then(__u64 nr)
{
	if (left_out)
		return;
	if (nr % (CHECK_EVERY * options.rare) == 0)
		check_world();
	else if (nr % (CHECK_STATE_EVERY * options.rare) == 0)
		check_state();
}

static void run_operations(__u64 from, __u64 to, time_t end)
{
	for (__u64 nr = from; nr < to && ((nr & 255) || time_left(end)); nr++) {
		if (left_out && left_out[nr])
			continue;
		one_operation(nr);
		reap(WNOHANG);
		if (nr == options.spoil)
			spoil_one_byte();
		check_now_and_then(nr);
	}
	reap(0);
}

static __noreturn void work(int proc, __u64 from, __u64 to, time_t end)
{
	pthread_t threads[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	make_world(proc);
	log_fd = kmsg_open();
	world.soft_dirty_works = soft_dirty_works();
	world.baseline = pages_in_use();
	start_threads(threads);
	run_operations(from, to, end);
	stop_threads(threads);
	end_world();
	_exit(0);
}

pid_t start_worker(int proc, __u64 from, __u64 to, time_t end)
{
	pid_t pid;

	mine = &verdicts[proc];
	memset(mine, 0, sizeof(*mine));
	fflush(stdout);
	pid = fork();
	if (!pid)
		work(proc, from, to, end);
	return pid;
}

void tell_kinds(void)
{
	for (unsigned int kind = 0; kind < nr_kinds; kind++) {
		__u64 done = 0, spent = 0;

		for (int p = 0; p < MAX_PROCS; p++) {
			done += verdicts[p].kinds[kind];
			spent += verdicts[p].spent[kind];
		}
		printf("# %10llu %-20s %8llu us each\n", (unsigned long long)done,
		       kinds[kind]->name, (unsigned long long)(done ? spent / done / 1000 : 0));
	}
}
