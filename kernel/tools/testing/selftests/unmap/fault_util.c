// SPDX-License-Identifier: GPL-2.0-only
/* What the tests under faults share: see fault_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault_util.h"
#include "unmap_util.h"

#define FIRST_SWAP	"/dev/zram0"
#define FIRST	1
#define SECOND	2

/* Content. */

void noise(char *page, size_t index, unsigned char seed)
{
	__u64 *words = (__u64 *)page, x = index * 0x9e3779b97f4a7c15ULL + seed + 1;

	for (size_t i = 0; i < PAGE / sizeof(x); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		words[i] = x;
	}
}

bool is_noise(const char *page, size_t index, unsigned char seed)
{
	__u64 want[PAGE / sizeof(__u64)];

	noise((char *)want, index, seed);
	return !memcmp(page, want, PAGE);
}

/* Files come filled already, with bytes; all else with noise. */
static void put(const struct scene *scene, size_t page, unsigned char seed)
{
	if (scene->kind == FILE_SHARED)
		memset(scene->mem + page * PAGE, fill_byte(page, seed), PAGE);
	else
		noise(scene->mem + page * PAGE, page, seed);
}

static bool holds(const struct scene *scene, size_t page, unsigned char seed)
{
	const char *at = scene->mem + page * PAGE;

	if (scene->kind == FILE_SHARED)
		return page_is(at, fill_byte(page, seed));
	return is_noise(at, page, seed);
}

bool scene_was_rewritten(const struct scene *scene, size_t page)
{
	size_t folio = page / (scene->kib * KIB / PAGE);

	return folio % 2 && page % 5 == 0;
}

bool scene_page_ok(const struct scene *scene, size_t page)
{
	bool rewritten = scene_was_rewritten(scene, page);

	if (holds(scene, page, rewritten ? SECOND : FIRST))
		return true;
	return scene->kind == LAZYFREE && !rewritten && page_is(scene->mem + page * PAGE, 0);
}

long scene_wrong(const struct scene *scene)
{
	long wrong = 0;

	for (size_t i = 0; i < scene->len / PAGE; i++)
		wrong += !scene_page_ok(scene, i);
	return wrong;
}

static void rewrite(const struct scene *scene)
{
	for (size_t i = 0; i < scene->len / PAGE; i++)
		if (scene_was_rewritten(scene, i))
			put(scene, i, SECOND);
}

void scene_refill(struct scene *scene)
{
	for (size_t i = 0; i < scene->len / PAGE; i++)
		put(scene, i, scene_was_rewritten(scene, i) ? SECOND : FIRST);
}

/* Memory of a kind. */

const char *scene_needs(enum kind kind)
{
	int fd;

	if (kind == FILE_SHARED) {
		fd = xfs_file(PAGE, 0, 4);
		if (fd < 0)
			return "needs XFS at /mnt";
		close(fd);
		return NULL;
	}
	/* A test that was killed may have left it off. */
	return kind == LAZYFREE || swap_is_on() || !swapon(FIRST_SWAP, 0) ? NULL : "needs swap";
}

static int open_scene(const struct scene *scene)
{
	int fd;

	if (scene->kind == FILE_SHARED)
		return xfs_file(scene->len, FIRST, scene->kib);
	if (scene->kind != SHMEM)
		return -1;
	fd = memfd_create("scene", MFD_CLOEXEC);
	return fd >= 0 && !ftruncate(fd, scene->len) ? fd : -1;
}

bool scene_make(struct scene *scene)
{
	bool mapped = scene->kind == FILE_SHARED || scene->kind == SHMEM;
	int flags = mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	scene->fd = open_scene(scene);
	CHECK(!mapped || scene->fd >= 0);
	scene->mem = map_aligned(scene->len, PROT_READ | PROT_WRITE, flags, scene->fd);
	CHECK(scene->mem != MAP_FAILED);
	if (scene->kind == FILE_SHARED)
		CHECK(!madvise(scene->mem, scene->len, MADV_POPULATE_READ));
	else
		for (size_t i = 0; i < scene->len / PAGE; i++)
			put(scene, i, FIRST);
	CHECK(folios_are(scene->mem, scene->len, scene->kib));
	if (scene->kind == LAZYFREE)
		CHECK(!madvise(scene->mem, scene->len, MADV_FREE));
	rewrite(scene);
	return true;
}

void scene_drop(struct scene *scene)
{
	munmap(scene->mem, scene->len);
	if (scene->fd >= 0)
		close(scene->fd);
}

#define WRITE_PASSES	20

static void reclaim_once(const struct scene *scene)
{
	if (scene->kind == ANON || scene->kind == SHMEM)
		reclaim_all(2 * scene->len);
	else
		reclaim_file(2 * scene->len);
}

/* The flusher may have begun to write: such folios are spared until that is over. */
static bool is_written(const struct scene *scene)
{
	return scene->kind == FILE_SHARED && count_pages(scene->mem, scene->len, PM_PRESENT);
}

/* What was used a moment ago would be spared. */
void scene_reclaim(const struct scene *scene)
{
	write_text("/proc/self/clear_refs", "1");
	for (int pass = 0; pass < 2 || (pass < WRITE_PASSES && is_written(scene)); pass++) {
		if (pass >= 2)
			usleep(100000);
		reclaim_once(scene);
	}
}

/* Processes of their own. */

int start_apart(bool (*job)(struct scene *scene), struct scene *scene)
{
	bool done;
	int pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	done = job(scene);
	fflush(stdout);
	_exit(!done);
}

/* Whatever it is that it calls a bug: counters that are not zero, pages in a bad state. */
bool kernel_is_calm(int log)
{
	usleep(1000);
	return !kmsg_has(log, "BUG: ");
}

bool apart(bool (*job)(struct scene *scene), struct scene *scene)
{
	int log = kmsg_open(), status = -1;
	int pid = start_apart(job, scene);
	bool calm;

	CHECK(log >= 0);
	CHECK(pid > 0);
	CHECK_EQ(pid, waitpid(pid, &status, 0));
	calm = kernel_is_calm(log);
	close(log);
	CHECK_EQ(0, status);
	CHECK(calm);
	return true;
}

/* Swap. */

#define SWAPOFF_LIMIT	10	/* seconds */

static int swap_device = -1;

static bool zram_write(const char *file, unsigned long value)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/zram%d/%s", swap_device, file);
	return write_number(path, value);
}

static void device_path(char path[32])
{
	snprintf(path, 32, "/dev/zram%d", swap_device);
}

/* What mkswap(8) writes: the first page of a swap area. */
static bool make_swap(const char *path, size_t bytes)
{
	static union {
		char page[PAGE];
		struct {
			char bootbits[1024];
			__u32 version, last_page, nr_badpages;
		} info;
	} header;
	int fd = open(path, O_WRONLY);
	bool done;

	header.info.version = 1;
	header.info.last_page = bytes / PAGE - 1;
	memcpy(header.page + PAGE - 10, "SWAPSPACE2", 10);
	done = fd >= 0 && write(fd, &header, PAGE) == (ssize_t)PAGE && !fsync(fd);
	if (fd >= 0)
		close(fd);
	return done;
}

/* A signal ends a swapoff() that looks in vain for who uses the last slots. */
static void give_up(int sig)
{
	(void)sig;
}

static bool swapoff_in_time(const char *path)
{
	struct sigaction action = { .sa_handler = give_up };
	bool done;

	sigaction(SIGALRM, &action, NULL);
	alarm(SWAPOFF_LIMIT);
	done = !swapoff(path) || errno == EINVAL;
	alarm(0);
	return done;
}

/* Whatever there is, also what a test left that was killed. */
static void swapoff_all(void)
{
	char path[128], text[1024], *line;

	if (!read_text("/proc/swaps", text, sizeof(text)))
		return;
	for (line = strchr(text, '\n'); line; line = strchr(line + 1, '\n'))
		if (sscanf(line, "\n%127s", path) == 1)
			swapoff_in_time(path);
}

bool swap_only(size_t bytes)
{
	char path[32];

	swap_device = read_field("/sys/class/zram-control/hot_add", "");
	if (swap_device < 0)
		return false;
	device_path(path);
	swapoff_all();
	if (zram_write("disksize", bytes) && make_swap(path, bytes) && !swapon(path, 0))
		return true;
	swap_back();
	return false;
}

bool swap_may_fail(bool may)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/zram%d/make-it-fail", swap_device);
	return write_number(path, may);
}

bool swap_memory_limit(size_t bytes)
{
	return zram_write("mem_limit", bytes);
}

long long swap_failed_writes(void)
{
	unsigned long long reads, writes;
	char path[64], text[128];

	snprintf(path, sizeof(path), "/sys/block/zram%d/io_stat", swap_device);
	if (!read_text(path, text, sizeof(text)) || sscanf(text, "%llu %llu", &reads, &writes) != 2)
		return -1;
	return writes;
}

bool swap_back(void)
{
	char path[32];
	bool done;

	if (swap_device < 0)
		return true;
	device_path(path);
	swap_memory_limit(0);
	done = swapoff_in_time(path);
	swapon(FIRST_SWAP, 0);
	if (done)
		write_number("/sys/class/zram-control/hot_remove", swap_device);
	swap_device = -1;
	return done;
}

long long swap_free_pages(void)
{
	return read_field("/proc/meminfo", "SwapFree:") * 1024 / (long long)PAGE;
}

/* Failures on demand. */

#define MANY	1000000000L

/* Where a kernel function lies, and where the next one begins: found once for all tests. */
struct symbol {
	char name[40];
	unsigned long start, end;
};

static struct symbol *symbols;
#define NR_SYMBOLS	16

__attribute__((constructor)) static void share_symbols(void)
{
	symbols = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* The compiler may have added to the name (".constprop.0"). */
static bool is_name(const char *found, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(found, name, len) && (!found[len] || found[len] == '.');
}

static bool find_symbol(struct symbol *symbol, const char *name)
{
	FILE *file = fopen("/proc/kallsyms", "r");
	char line[256], found[128];
	unsigned long addr;

	if (!file)
		return false;
	while (!symbol->end && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx %*c %127s", &addr, found) != 2)
			continue;
		if (symbol->start && addr > symbol->start)
			symbol->end = addr;
		else if (!symbol->start && is_name(found, name))
			symbol->start = addr;
	}
	fclose(file);
	snprintf(symbol->name, sizeof(symbol->name), "%s", name);
	return symbol->end;
}

static struct symbol *look_up(const char *name)
{
	for (int i = 0; i < NR_SYMBOLS; i++) {
		if (!strcmp(symbols[i].name, name))
			return &symbols[i];
		if (!symbols[i].name[0])
			return find_symbol(&symbols[i], name) ? &symbols[i] : NULL;
	}
	return NULL;
}

static bool set(const char *what, const char *file, const char *format, unsigned long value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", what, file);
	snprintf(text, sizeof(text), format, value);
	return write_text(path, text);
}

static bool set_range(const char *what, unsigned long start, unsigned long end)
{
	return set(what, "stacktrace-depth", "%lu", 32) &&
	       set(what, "require-start", "%#lx", start) &&
	       set(what, "require-end", "%#lx", end);
}

static bool set_where(const char *what, const char *below)
{
	const struct symbol *symbol;

	if (!set(what, "task-filter", "%lu", 1))
		return false;
	if (!below)
		return set_range(what, 0, -1UL);
	symbol = look_up(below);
	return symbol && set_range(what, symbol->start, symbol->end);
}

/* Opened before anything fails, so that it can be ended. */
bool faults_task(bool on)
{
	static int fd = -1;
	bool done;

	if (fd < 0)
		fd = open("/proc/self/make-it-fail", O_WRONLY);
	done = fd >= 0 && pwrite(fd, on ? "1" : "0", 1, 0) == 1;
	if (!on && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return done;
}

bool faults_on(const char *what, const char *below, int percent)
{
	/* In this task: an interrupt taken below that function would allocate there, too. */
	if (!set_where(what, below) || (below && !faults_task(true)))
		return false;
	/* Allocations that may wait fail, too. */
	set(what, "ignore-gfp-wait", "%lu", 0);
	set(what, "ignore-gfp-highmem", "%lu", 0);
	set(what, "min-order", "%lu", 0);
	return set(what, "verbose", "%lu", 0) && set(what, "interval", "%lu", 1) &&
	       set(what, "times", "%lu", MANY) && set(what, "probability", "%lu", percent);
}

long faults_off(const char *what)
{
	char path[128];
	long long left;

	set(what, "probability", "%lu", 0);
	faults_task(false);
	set_range(what, 0, -1UL);
	set(what, "task-filter", "%lu", 0);
	snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", what);
	left = read_field(path, "");
	return left < 0 ? -1 : MANY - left;
}

/* Reading what may be gone. */

static sigjmp_buf on_sigbus;

static void catch_sigbus(int sig)
{
	(void)sig;
	siglongjmp(on_sigbus, 1);
}

bool try_read(const char *addr)
{
	static struct sigaction before;
	static bool done;
	struct sigaction catch = { .sa_handler = catch_sigbus };

	done = false;
	sigaction(SIGBUS, &catch, &before);
	if (!sigsetjmp(on_sigbus, 1)) {
		READ_ONCE(*addr);
		WRITE_ONCE(done, true);
	}
	sigaction(SIGBUS, &before, NULL);
	return READ_ONCE(done);
}
