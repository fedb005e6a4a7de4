/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/unmap_test, in kernels built for tests: does what drivers do with user memory, and
 * stops a reader of page tables where its table can be freed.
 *
 * Included by mm/unmap/tests/driver.c and by the tests.
 */
#ifndef __MM_UNMAP_DRIVER_H
#define __MM_UNMAP_DRIVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Offsets for mmap(), in pages.  PAGES: the driver's one page, at each address where an
 * ioctl inserts it (VM_MIXEDMAP).  PFNS: the same page as a bare PFN, mapped by faults
 * (VM_PFNMAP).
 */
#define UNMAP_DRIVER_PAGES	0
#define UNMAP_DRIVER_PFNS	1

/* A range of user memory: @pages pages from @addr on. */
struct unmap_driver_range {
	__u64 addr;
	__u64 pages;
};

/*
 * @addr: an address that the table translates
 * @look: the caller is stopped after this access to the table's PMD or to the PMD's lock;
 *	the first one is 1
 * @us: for how many microseconds at most; the caller continues as soon as the table is gone
 */
struct unmap_driver_watch {
	__u64 addr;
	__u32 look;
	__u32 us;
};

/*
 * @looks: how many accesses there were while the PMD held a table
 * @gone: the caller was stopped, and the table was freed meanwhile
 * @touched: how often the caller accessed the entry of the address in that table after that
 * @helped: AWAIT returned because the caller was stopped: its thread may still be at work
 */
struct unmap_driver_watched {
	__u32 looks;
	__u32 gone;
	__u32 touched;
	__u32 helped;
};

/* vm_insert_page(), for the first page of the range only, and vm_insert_pages(). */
#define UNMAP_DRIVER_INSERT_PAGE	_IOW('U', 1, struct unmap_driver_range)
#define UNMAP_DRIVER_INSERT_PAGES	_IOW('U', 2, struct unmap_driver_range)
/* apply_to_page_range() on any user memory; returns the number of entries visited. */
#define UNMAP_DRIVER_APPLY		_IOW('U', 3, struct unmap_driver_range)
/* Fault the first page in once, then look its entry up; ENOENT if there is none. */
#define UNMAP_DRIVER_FAULT_ONCE		_IOW('U', 4, struct unmap_driver_range)
/* Zap the range without the mmap lock or any other lock of mm's. */
#define UNMAP_DRIVER_ZAP		_IOW('U', 5, struct unmap_driver_range)

/*
 * WATCH watches the calling task from now on; there is one watch for each open file.
 * WATCHED ends the watch and reports what happened.
 */
#define UNMAP_DRIVER_WATCH		_IOW('U', 6, struct unmap_driver_watch)
#define UNMAP_DRIVER_WATCHED		_IOR('U', 7, struct unmap_driver_watched)
/*
 * AWAIT, from another thread: wait until the watched task is stopped; ESHUTDOWN after END,
 * which ends the watch.
 */
#define UNMAP_DRIVER_AWAIT		_IO('U', 8)
#define UNMAP_DRIVER_END		_IO('U', 9)

/*
 * Collect the range for migration to a device, as drivers do, and put all pages back; returns
 * the number of pages that the range was taken for.
 */
#define UNMAP_DRIVER_COLLECT		_IOW('U', 10, struct unmap_driver_range)

/*
 * Move the folios of the range to new ones on the same memory node; returns how many pages have
 * moved.
 */
#define UNMAP_DRIVER_MOVE		_IOW('U', 11, struct unmap_driver_range)
/* The same, the last one first; and so that no two that are neighbours follow one another. */
#define UNMAP_DRIVER_MOVE_DOWN		_IOW('U', 12, struct unmap_driver_range)
#define UNMAP_DRIVER_MOVE_APART		_IOW('U', 13, struct unmap_driver_range)

#endif /* __MM_UNMAP_DRIVER_H */
