// SPDX-License-Identifier: GPL-2.0-only
/* Userfaultfd, access that may raise SIGBUS, memory errors: see unmap_util.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unmap_util.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY	1
#endif
/* Since Linux 7.3.  Its argument and mode are laid out like those of UFFDIO_WRITEPROTECT. */
#ifndef UFFD_FEATURE_RWP
#define UFFD_FEATURE_RWP		BIT_ULL(17)
#define UFFDIO_REGISTER_MODE_RWP	BIT_ULL(3)
#define UFFDIO_RWPROTECT		_IOWR(UFFDIO, 0x09, struct uffdio_writeprotect)
#endif
#ifndef MADV_HWPOISON
#define MADV_HWPOISON	100
#endif

int uffd_watch(void *mem, size_t len, __u64 features, __u64 mode)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)mem, .len = len },
		.mode = mode,
	};
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (uffd < 0)
		return -1;
	if (!ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &reg))
		return uffd;
	close(uffd);
	return -1;
}

int uffd_open(void *mem, size_t len)
{
	return uffd_watch(mem, len, UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP |
			  UFFD_FEATURE_WP_HUGETLBFS_SHMEM, UFFDIO_REGISTER_MODE_WP);
}

static bool protect(int uffd, unsigned long request, void *mem, size_t len, bool on)
{
	struct uffdio_writeprotect wp = {
		.range = { .start = (uintptr_t)mem, .len = len },
		.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	return !ioctl(uffd, request, &wp);
}

bool uffd_protect(int uffd, void *mem, size_t len, bool on)
{
	return protect(uffd, UFFDIO_WRITEPROTECT, mem, len, on);
}

int rwp_open(void *mem, size_t len)
{
	return uffd_watch(mem, len, UFFD_FEATURE_SIGBUS | UFFD_FEATURE_RWP,
			  UFFDIO_REGISTER_MODE_RWP);
}

bool rwp_arm(int uffd, char *mem, size_t len, bool on)
{
	for (size_t at = 0; at < len; at += RWP_STRIDE * PAGE)
		if (!protect(uffd, UFFDIO_RWPROTECT, mem + at, RWP_ARMED * PAGE, on))
			return false;
	return true;
}

/* /proc shows both kinds of protection alike. */
long rwp_count_wrong(const char *mem, size_t len)
{
	long wrong = 0;

	for (size_t i = 0; i < len / PAGE; i++)
		wrong += !(pagemap(mem + i * PAGE) & PM_UFFD_WP) == rwp_is_armed(i);
	return wrong;
}

/* Access that may raise SIGBUS. */

static sigjmp_buf on_sigbus;

static void catch_sigbus(int sig)
{
	(void)sig;
	siglongjmp(on_sigbus, 1);
}

static bool try_access(char *addr, bool write, unsigned char byte)
{
	static struct sigaction before;
	static bool done;
	struct sigaction catch = { .sa_handler = catch_sigbus };

	done = false;
	sigaction(SIGBUS, &catch, &before);
	if (!sigsetjmp(on_sigbus, 1)) {
		if (write)
			WRITE_ONCE(*addr, byte);
		else
			READ_ONCE(*addr);
		WRITE_ONCE(done, true);
	}
	sigaction(SIGBUS, &before, NULL);
	return READ_ONCE(done);
}

bool try_write(char *addr, unsigned char byte)
{
	return try_access(addr, true, byte);
}

bool try_read(const char *addr)
{
	return try_access((char *)addr, false, 0);
}

/* madvise(MADV_HWPOISON) raises SIGBUS in its caller. */
static void ignore(int sig)
{
	(void)sig;
}

bool poison_page(char *addr)
{
	struct sigaction action = { .sa_handler = ignore }, before;
	int err;

	sigaction(SIGBUS, &action, &before);
	err = madvise(addr, PAGE, MADV_HWPOISON) ? errno : 0;
	if (err)
		printf("# MADV_HWPOISON: %s\n", strerror(err));
	sigaction(SIGBUS, &before, NULL);
	errno = err;
	return !err;
}
