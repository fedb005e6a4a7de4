/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * /dev/unmap_test, in kernels built for tests: what drivers do with user memory, and a
 * reader of page tables that is stopped where its table can be taken away.
 *
 * The same for mm/unmap/driver.c and for the tests.
 */
#ifndef __MM_UNMAP_DRIVER_H
#define __MM_UNMAP_DRIVER_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * mmap() at offset 0: one page of the driver's, wherever it is put in.  At an offset of
 * one page: the same page without its descriptor, put in by faults.
 */
#define UNMAP_DRIVER_PAGES	0
#define UNMAP_DRIVER_PFNS	1

/* Pages from an address on. */
struct unmap_driver_range {
	__u64 addr;
	__u64 pages;
};

/*
 * @addr: an address that the table translates
 * @look: which look at its PMD, or access to the PMD's lock, is the one after which the
 *	caller is stopped, from 1 on
 * @us: for how long at most; it goes on as soon as the table is gone
 */
struct unmap_driver_watch {
	__u64 addr;
	__u32 look;
	__u32 us;
};

/*
 * @looks: how many there were while there was a table
 * @gone: the caller was stopped, and the table went meanwhile
 */
struct unmap_driver_watched {
	__u32 looks;
	__u32 gone;
};

/* vm_insert_page(), for the first page alone, and vm_insert_pages(). */
#define UNMAP_DRIVER_INSERT_PAGE	_IOW('U', 1, struct unmap_driver_range)
#define UNMAP_DRIVER_INSERT_PAGES	_IOW('U', 2, struct unmap_driver_range)
/* apply_to_page_range(), of any memory; returns how many entries there were. */
#define UNMAP_DRIVER_APPLY		_IOW('U', 3, struct unmap_driver_range)
/* Fault it in once, then look for it; ENOENT if it is not there. */
#define UNMAP_DRIVER_FAULT_ONCE		_IOW('U', 4, struct unmap_driver_range)
/* Take it out without the mmap lock or any other. */
#define UNMAP_DRIVER_ZAP		_IOW('U', 5, struct unmap_driver_range)

/* One watch for each open file.  For the caller's next looks; then what happened. */
#define UNMAP_DRIVER_WATCH		_IOW('U', 6, struct unmap_driver_watch)
#define UNMAP_DRIVER_WATCHED		_IOR('U', 7, struct unmap_driver_watched)
/* Another thread waits until it is stopped; ESHUTDOWN after UNMAP_DRIVER_END. */
#define UNMAP_DRIVER_AWAIT		_IO('U', 8)
#define UNMAP_DRIVER_END		_IO('U', 9)

#endif /* __MM_UNMAP_DRIVER_H */
