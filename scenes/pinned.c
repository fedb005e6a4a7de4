// SPDX-License-Identifier: GPL-2.0-only
/*
 * The first processor evicts anonymous memory.  When reclaim has found that nobody has pinned it,
 * the second one pins it, for a device.  What is pinned must stay mapped: the device and the process
 * must go on to share it.
 *
 *	pinned ROUNDS [KIB]
 *
 * KIB: the size of folios.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/types.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/scene.h"

#define LEN	(16 * PAGE)
#define AT	(5 * PAGE)
#define FIRST	41
#define LAST	43
#define PRESENT	(1ULL << 63)	/* of an entry of pagemap */

/* CONFIG_GUP_TEST: mm/gup_test.h of the kernel. */
struct pin {
	__u64 addr, size;
	__u32 flags;
};

#define FOR_WRITE	1
#define FAST		2	/* without locks */
#define PIN_START	_IOW('g', 7, struct pin)
#define PIN_STOP	_IO('g', 8)
#define PIN_READ	_IOW('g', 9, __u64)

static char *mem, *shown;
static size_t evicted = PAGE;
static int gup, pagemap;
static bool pinned;

static bool make(const char *kib)
{
	mem = scene_map(LEN, -1);
	shown = scene_map(PAGE, -1);
	NEED(mem != MAP_FAILED && shown != MAP_FAILED);
	gup = open("/sys/kernel/debug/gup_test", O_RDWR);
	pagemap = open("/proc/self/pagemap", O_RDONLY);
	NEED(gup >= 0 && pagemap >= 0);
	if (kib)
		evicted = LEN;
	return scene_folios(mem, LEN, kib);
}

static char *first_evicted(void)
{
	return evicted == LEN ? mem : mem + AT;
}

static bool ready(void)
{
	pinned = false;
	NEED(!madvise(mem, LEN, MADV_DONTNEED));
	memset(mem, FIRST, LEN);
	return true;
}

static void evict(void)
{
	madvise(first_evicted(), evicted, MADV_PAGEOUT);
}

static void pin(void)
{
	struct pin range = {
		.addr = (uintptr_t)mem + AT, .size = PAGE, .flags = FOR_WRITE | FAST,
	};

	pinned = !ioctl(gup, PIN_START, &range);
}

static bool is_mapped(void)
{
	uint64_t entry = 0, nr = ((uintptr_t)mem + AT) / PAGE;

	return pread(pagemap, &entry, sizeof(entry), nr * sizeof(entry)) == sizeof(entry) &&
	       (entry & PRESENT);
}

/* Whether the device reads what the process has just stored. */
static bool is_shared(void)
{
	__u64 addr = (uintptr_t)shown;

	mem[AT] = LAST;
	return !ioctl(gup, PIN_READ, &addr) && shown[0] == LAST;
}

static bool stays(void)
{
	bool mapped = is_mapped(), shared = pinned && is_shared();

	if (!pinned)
		scene_says("the page was not pinned");
	else if (!mapped || !shared)
		scene_says("the pinned page is %smapped and %sshared", mapped ? "" : "not ",
			   shared ? "" : "not ");
	if (pinned)
		ioctl(gup, PIN_STOP);
	return mapped && shared;
}

int main(int argc, char **argv)
{
	const struct scene scene = { NULL, ready, NULL, evict, pin, stays };

	if (!make(argc > 2 ? argv[2] : NULL))
		return 2;
	return scene_main(argc, argv, &scene);
}
