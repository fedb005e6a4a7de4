// SPDX-License-Identifier: GPL-2.0-only
/* What keeps page tables: what the sleeper does to its memory before it sleeps: see drop.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drop.h"

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT	1
#endif

bool keep_mlocked(char *mem)
{
	return !mlock(mem, COPIES * LEN);
}

bool keep_locked_on_fault(char *mem)
{
	return !syscall(SYS_mlock2, mem, COPIES * LEN, MLOCK_ONFAULT);
}

/* One page of each table is the process's own. */
bool keep_copied(char *mem)
{
	for (long i = 0; i < COPIES; i++)
		WRITE_ONCE(mem[i * LEN + 5 * PAGE], READ_ONCE(mem[i * LEN + 5 * PAGE]));
	return true;
}

bool keep_watched(char *mem)
{
	return uffd_watch(mem, COPIES * LEN, 0, UFFDIO_REGISTER_MODE_MISSING) >= 0;
}

/* Soft-dirty: the process's page tables say what was written since. */
bool keep_tracked(char *mem)
{
	return write_text("/proc/self/clear_refs", "4");
}

/* The last page of each table belongs to another VMA, which maps nothing. */
bool keep_beside_anon(char *mem)
{
	for (long i = 0; i < COPIES; i++)
		CHECK(mmap(mem + (i + 1) * LEN - PAGE, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
	return true;
}

bool keep_notified(char *mem)
{
	return open("/dev/hmm_dmirror0", O_RDWR) >= 0;
}

/* A page of each table is protected, so that a write to it would be noticed. */
bool keep_protected(char *mem)
{
	int uffd = uffd_watch(mem, COPIES * LEN, UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
			      UFFDIO_REGISTER_MODE_WP);

	CHECK(uffd >= 0);
	for (long i = 0; i < COPIES; i++)
		CHECK(uffd_protect(uffd, mem + i * LEN, PAGE, true));
	return true;
}
