// SPDX-License-Identifier: GPL-2.0-only
/*
 * Soft-dirty, userfaultfd write-protection, and KSM, which removes the marks of the pages
 * that it merges.
 *
 * Marks are checked in one direction: a page that was written since the bits were cleared
 * must be soft-dirty; a page that was protected and not written must be protected still.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memx.h"

#ifndef UFFD_FEATURE_WP_UNPOPULATED
#define UFFD_FEATURE_WP_UNPOPULATED	BIT_ULL(13)
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC	BIT_ULL(15)
#endif

/*
 * A page that is migrated while its soft-dirty bit is cleared becomes writable again, and
 * the next write sets no bit: a bug of all kernels, see docs/stock-bugs.md.  mprotect() to
 * read-only and back makes the entry read-only again.
 */
static void forbid_unnoticed_writes(struct range part)
{
	struct page_model *page = model(part.first);
	char *at = address(part.first);

	if (page->backing == UNMAPPED || !(page->prot & PROT_WRITE))
		return;
	worked(mprotect(at, part.nr * PAGE, page->prot & ~PROT_WRITE), "mprotect", "");
	worked(mprotect(at, part.nr * PAGE, page->prot), "mprotect", "");
}

static void clear_soft_dirty(struct range range)
{
	if (!world.soft_dirty_works)
		return;
	write_text("/proc/self/clear_refs", "4");
	range = (struct range){ 0, ARENA_PAGES };
	for (__u32 i = 0; i < ARENA_PAGES; i++) {
		model(i)->soft_dirty = false;
		model(i)->whole = model(i)->locked;	/* populating it may set no bit */
	}
	for_each_stretch(part, range) {
		if (!model(part.first)->locked)
			forbid_unnoticed_writes(part);
	}
}

/*
 * Folios of which some pages were written after MADV_FREE: reclaim unmaps them, notices
 * the writes, and puts the entries back as they were.
 */
static void marks_put_back(struct range range)
{
	range.first &= ~15U;
	range.nr = 16;
	map_fresh(range);
	write_all(range);
	clear_soft_dirty(range);
	lazyfree(range);
	for (__u32 n = 1 + pick(4); n; n--)
		write_all((struct range){ range.first + pick(range.nr), 1 });
	madvise(address(range.first), range.nr * PAGE, MADV_PAGEOUT);
	check_marks_of(range);
	check_range(range);
}

/*
 * The write clears the entry's bit with a plain store; on arm64 stock 6.12 warns if the processor
 * may set the accessed bit meanwhile.
 */
static bool async_writes_warn(void)
{
#ifdef __aarch64__
	return kernel_before(7, 0);
#else
	return false;
#endif
}

/* Asynchronous mode: a write to a protected page succeeds and removes the protection. */
static int open_uffd(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED |
			    UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	int uffd = async_writes_warn() ? -1 : syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api))
		return uffd;
	if (uffd >= 0)
		close(uffd);
	return -1;
}

static bool may_protect(const struct page_model *page)
{
	return !page->ksm && (page->backing == ANON ||
			      (page->backing == OBJECT && page->shared && page->object < 2));
}

static bool track(struct range part)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)address(part.first), part.nr * PAGE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	if (!worked(ioctl(world.uffd, UFFDIO_REGISTER, &reg), "UFFDIO_REGISTER", "EBUSY"))
		return false;
	for (__u32 i = 0; i < part.nr; i++)
		model(part.first + i)->tracked = true;
	return true;
}

static void protect_tracked(struct range part)
{
	if (!worked(uffd_protect(world.uffd, address(part.first), part.nr * PAGE, true) ? 0 : -1,
		    "UFFDIO_WRITEPROTECT", "ENOENT EAGAIN"))
		return;
	/* A lazyfree page may be freed, with its mark. */
	for (__u32 i = 0; i < part.nr; i++)
		model(part.first + i)->protected = !model(part.first + i)->lazy;
}

static void write_protect(struct range range)
{
	if (world.uffd == -1)
		world.uffd = open_uffd();
	if (world.uffd < 0 || world.child) {
		world.uffd = -2;
		return;
	}
	for_each_stretch(part, range) {
		if (may_protect(model(part.first)) && track(part))
			protect_tracked(part);
	}
}

/* Reclaim protected shared memory: markers in the entries must keep the protection. */
static void marks_left(struct range range)
{
	if (world.frozen)
		return;
	range.first &= ~15U;
	range.nr = 16;
	map_shmem(range);
	remove_pages(range);
	folio_size_set(64);	/* the new pages are one folio */
	write_all(range);
	write_protect(range);
	for (int pass = 0; pass < 2; pass++)
		madvise(address(range.first), range.nr * PAGE, MADV_PAGEOUT);
	check_marks_of(range);
	check_range(range);
}

static void stop_tracking(struct range range)
{
	(void)range;
	if (world.uffd < 0)
		return;
	close(world.uffd);
	world.uffd = -1;
	for (__u32 i = 0; i < ARENA_PAGES; i++)
		forget_marks(model(i));
}

static void merge(struct range range, bool on)
{
	for_each_stretch(part, range) {
		if (model(part.first)->backing != ANON || model(part.first)->tracked)
			continue;
		if (madvise(address(part.first), part.nr * PAGE,
			    on ? MADV_MERGEABLE : MADV_UNMERGEABLE))
			continue;
		for (__u32 i = 0; i < part.nr; i++) {
			model(part.first + i)->ksm = on;
			model(part.first + i)->soft_dirty = false;
		}
	}
}

static void mergeable(struct range range)
{
	merge(range, true);
}

static void unmergeable(struct range range)
{
	merge(range, false);
}

struct operation tracking_operations[] = {
	{ "clear_soft_dirty", 3, clear_soft_dirty, true },
	{ "marks_put_back", 4, marks_put_back, true },
	{ "write_protect", 12, write_protect, false },
	{ "marks_left", 4, marks_left, true },
	{ "stop_tracking", 1, stop_tracking, false },
	{ "mergeable", 3, mergeable, false },
	{ "unmergeable", 3, unmergeable, false },
	{ }
};
