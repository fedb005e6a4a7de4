// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory and the test device of CONFIG_TEST_HMM.
 *
 *	device ROUNDS arrays|exclusive [control]
 *
 * arrays: the first processor moves 2 MiB to the device: single pages, and large folios behind them,
 * which are split on the way; the second one purges the memory meanwhile.  control: it does not.
 * exclusive: the device has a page of a large folio for itself when reclaim looks at the folio.
 * control: it has not.
 *
 * What comes of it, the kernel says: KASAN, or a warning of CONFIG_DEBUG_VM.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../lib/scene.h"

/* As in lib/test_hmm_uapi.h, which is not installed. */
struct mirror_command {
	__u64 addr, ptr, npages, cpages, faults;
};

#define MIGRATE_TO_DEVICE	_IOWR('H', 0x02, struct mirror_command)
#define MAKE_EXCLUSIVE		_IOWR('H', 0x05, struct mirror_command)

#define GROUP	"/sys/fs/cgroup/device"
#define SINGLE	(16 * PAGE)	/* pages that are folios of their own */

static char *mem;
static int device;
static bool control;

static bool prepare(void)
{
	device = open("/dev/hmm_dmirror0", O_RDWR);
	NEED(device >= 0);
	mem = scene_map(PMD, -1);
	NEED(mem != MAP_FAILED);
	return true;
}

static bool ready_arrays(void)
{
	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	NEED(scene_write("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "never"));
	memset(mem, 1, SINGLE);
	NEED(scene_folios(mem, PMD, "64"));
	memset(mem + SINGLE, 1, PMD - SINGLE);
	return true;
}

static void migrate(void)
{
	struct mirror_command command = {
		.addr = (unsigned long)mem, .ptr = (unsigned long)mem, .npages = PMD / PAGE,
	};

	if (ioctl(device, MIGRATE_TO_DEVICE, &command))
		scene_says("HMM_DMIRROR_MIGRATE_TO_DEV: %m");
}

static void purge(void)
{
	if (!control && madvise(mem, PMD, MADV_DONTNEED))
		scene_says("MADV_DONTNEED: %m");
}

static bool right(void)
{
	return true;
}

static bool prepare_exclusive(void)
{
	NEED(prepare());
	scene_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	NEED(scene_write(GROUP "/cgroup.procs", "0"));
	return scene_folios(mem, PMD, "64");
}

static bool ready_exclusive(void)
{
	char byte[PAGE];
	struct mirror_command command = {
		.addr = (unsigned long)(mem + PAGE), .ptr = (unsigned long)byte, .npages = 1,
	};

	NEED(!madvise(mem, PMD, MADV_DONTNEED));
	memset(mem, 1, PMD);
	NEED(control || !ioctl(device, MAKE_EXCLUSIVE, &command));
	return true;
}

/* It may find less than that. */
static void reclaim(void)
{
	for (int i = 0; i < 8; i++)
		scene_write(GROUP "/memory.reclaim", "1M");
}

static const struct scene arrays = { prepare, ready_arrays, NULL, migrate, purge, right };
static const struct scene exclusive = {
	.prepare = prepare_exclusive, .ready = ready_exclusive, .first = reclaim, .right = right,
};

int main(int argc, char **argv)
{
	control = argc > 3;
	if (argc > 2 && !strcmp(argv[2], "exclusive"))
		return scene_alone(argc, argv, &exclusive);
	return scene_main(argc, argv, &arrays);
}
