// SPDX-License-Identifier: GPL-2.0-only
/* Swap of a chosen size that may fail: see fault_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/swap.h>
#include <unistd.h>

#include "fault_util.h"
#include "swap_area.h"
#include "unmap_util.h"

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

static bool make_swap(const char *path, size_t bytes)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write_swap_area(fd, bytes);

	if (fd >= 0)
		close(fd);
	return done;
}

/* SIGALRM interrupts a swapoff() that does not find the users of the last slots. */
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

/* All swap areas, those included that a killed test left behind. */
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
