/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all tests of mm/unmap share.  Helpers return false or -1 when they fail; the test
 * gives the verdict.
 *
 * unmap_util.c		files, the switch, start and end of a test, the kernel log
 * unmap_folios.c	the size of new folios
 * unmap_memory.c	memory and its content, files on XFS, guard regions, extra references
 * unmap_pagemap.c	page tables as /proc shows them
 * unmap_cgroup.c	a memory control group, and reclaim of it
 * unmap_mglru.c	MGLRU: its switch, and aging of the group
 * unmap_uffd.c		userfaultfd, access that may raise SIGBUS, memory errors
 */
#ifndef UNMAP_UTIL_H
#define UNMAP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>
#include <sys/mman.h>

/* BIT_ULL(), PM_* and PAGEMAP_PFN(). */
#include "../../mm/vm_util.h"

/* Newer than some C libraries. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile typeof(x) *)&(x) = (val))

/*
 * Bits of /proc/kpageflags.  <linux/kernel-page-flags.h> has them, too, but newer
 * kernels' vm_util.h defines some of its names as masks.
 */
#define PAGE_SWAPCACHE	BIT_ULL(13)
#define PAGE_SWAPBACKED	BIT_ULL(14)
#define PAGE_TAIL	BIT_ULL(16)

#define CGROUP_ROOT	"/sys/fs/cgroup"

/* Of the pages for which the tests are compiled; begin() refuses a kernel with others. */
#ifndef UNMAP_PAGE_SHIFT
#define UNMAP_PAGE_SHIFT	12
#endif

#define PAGE	(1UL << UNMAP_PAGE_SHIFT)
#define KIB	1024UL
#define MIB	(1024 * KIB)
#define PMD	(PAGE / 8 * PAGE)	/* what a page table maps */
/* So many pages that each folio size of the tests fits in: 2 MiB, if pages have 4 KiB. */
#define RANGE	(512 * PAGE)
/* The smallest folio that has @kib KiB. */
#define FOLIO_KIB(kib)	((kib) * KIB < PAGE ? PAGE / KIB : (kib))

#define UNMAP_SYSFS	"/sys/kernel/mm/unmap/"
#define DROP_IDLE	UNMAP_SYSFS "drop_idle_ms"
#define DROP_SHARE	UNMAP_SYSFS "drop_share"
#define POLICY		UNMAP_SYSFS "tables_policy"
/* Reclaim spares tables that became empty less than 20 ms ago. */
#define AGE		100000	/* us */
#define UNMAP_EVICT	1UL
#define UNMAP_DISCARD	2UL
#define UNMAP_RELOCATE	4UL
#define UNMAP_TABLES	8UL
#define UNMAP_DROP	16UL

/* Files. */
bool write_text(const char *path, const char *text);
bool write_number(const char *path, unsigned long value);
bool read_text(const char *path, char *buf, size_t size);
/* The number after @key at the start of a line; -1 when there is none. */
long long read_field(const char *path, const char *key);
/* The number on a line "@name N". */
long long read_named(const char *path, const char *name);
long long vmstat(const char *name);
/* A "Name: N kB" line of /proc/self/status, in pages. */
long long status_pages(const char *name);

/* The number in the environment variable @name, or @otherwise. */
long from_env(const char *name, long otherwise);

/* Whether this kernel's version is less than @major.@minor. */
bool kernel_before(long major, long minor);

/*
 * Switch on all that this kernel has of mm/unmap, or all off; false if the kernel refuses.
 */
bool switch_all(bool on);
void switch_restore(void);
bool switch_has(unsigned long bits);
long long unmap_stat(const char *name);

/*
 * Start and end of a test.  begin() binds this process to one CPU, puts it in a memory
 * control group of its own, sets the switch, the folio size, and the policy "eager", and has
 * khugepaged sleep.
 * Returns NULL, or what the machine lacks.  Tests with the switch off are left out if
 * UNMAP_ON_ONLY is in the environment.
 */
const char *begin(unsigned long kib, bool on);
/* The same with folios of 4 KiB, the switch on, and another policy. */
const char *begin_with(const char *policy);
void end(void);
void use_cpu(int cpu);

/*
 * For loops that wait for another CPU, or use memory until it has seen something: an emulator whose
 * CPUs take turns gives the turn away.  Without it, the other CPU may never run.
 */
static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	asm volatile("yield" ::: "memory");
#endif
}

/*
 * A test of a fixture that may take as long as its program allows: TIME_LIMIT seconds.  The
 * harness's own limit, 30 seconds, is too short for a very busy machine.
 */
#define TEST_LONG(fixture, name)	TEST_F_TIMEOUT(fixture, name, TIME_LIMIT)

/* The two variants of a fixture for a folio size: switched on and off. */
#define SIZE_VARIANTS(fixture, size) \
	FIXTURE_VARIANT_ADD(fixture, size ## K_on) { .kib = FOLIO_KIB(size), .on = true }; \
	FIXTURE_VARIANT_ADD(fixture, size ## K_off) { .kib = FOLIO_KIB(size), .on = false }

/* Allocate anonymous and shmem folios of @kib KiB only, until folio_size_restore(). */
bool folio_size_set(unsigned long kib);
void folio_size_restore(void);
long long folio_stat(unsigned long kib, const char *name);
/*
 * Until folio_size_restore(), if folios of @kib KiB are enabled and no others: no scans, and
 * no collapse of swapped-out pages.
 */
void khugepaged_rests(unsigned long kib);

/* mmap() at an address aligned to 2 MiB, so that folios of any size fit. */
char *map_aligned(size_t len, int prot, int flags, int fd);
/*
 * Have so many page tables more, which map the zero page: they cost no other memory, and stay.
 * (drop_walk.c passes over processes with few tables.)
 */
bool pad_tables(long nr);
/*
 * MADV_COLLAPSE until it succeeds, or fails for another reason than that somebody holds a page at
 * this moment (EAGAIN, EBUSY) or that no huge page is free (ENOMEM), or has failed 200 times.
 */
bool make_huge_pages(char *mem, size_t len);
/* Whether MADV_COLLAPSE makes huge pages of a memfd whatever sizes sysfs allows (not 6.18.35). */
bool collapse_ignores_sysfs(void);
#define COLLAPSE_ASKS	"MADV_COLLAPSE asks sysfs for sizes of shmem"
void fill(char *mem, size_t len, unsigned char seed);
/* Pages of the range that do not hold what fill() wrote. */
long count_wrong(const char *mem, size_t len, unsigned char seed);
long count_not_zero(const char *mem, size_t len);
bool page_is(const char *page, unsigned char byte);
unsigned char fill_byte(size_t page, unsigned char seed);

/* Page tables as /proc shows them. */
__u64 pagemap(const void *addr);
void pagemap_range(const void *mem, __u64 *entries, size_t nr);
__u64 page_flags(const void *addr);
/* The page's mapcount. */
__u64 page_mapcount(const void *addr);
/*
 * How many pages of a range are mapped more than once.  That tells KSM's pages: Linux 6.12 sets
 * KPF_KSM for all anonymous ones.
 */
long count_shared(const char *mem, size_t len);
long count_pages(const void *mem, size_t len, __u64 bits);
/* A field of /proc/self/smaps in KiB, summed over all VMAs that overlap the range. */
long smaps_kib(const void *mem, size_t len, const char *field);
bool folios_are(const void *mem, size_t len, unsigned long kib);
bool soft_dirty_works(void);

/*
 * Make a guard region, or remove it.  Making it discards the pages.  False where the kernel
 * lacks them for this memory.
 */
#define GUARDS_MISSING	"needs guard regions (Linux 6.13; of files 6.15)"
bool guard(char *mem, size_t len, bool on);
/* Whether an access to the page would raise SIGSEGV; otherwise it is read in. */
bool is_guarded(char *page);

/* A pipe that holds an extra reference to each page given to pin_page(), until unpin(). */
struct pin {
	int fds[2];
};

bool pin_open(struct pin *pin);
bool pin_page(struct pin *pin, const void *addr);
void unpin(struct pin *pin);

/* Put this process in a memory control group of its own; reclaim memory charged to it. */
bool cgroup_enter(void);
/* Its path below CGROUP_ROOT, which a child inherits. */
const char *cgroup_name(void);
void cgroup_leave(void);
/* Reclaim from the file LRU lists, which lazyfree memory is on, too; swap nothing. */
void reclaim_file(size_t bytes);
void reclaim_all(size_t bytes);
/* The same, or (since 6.18) from the anonymous LRU lists only: how much of each is chance there. */
void reclaim_anon(size_t bytes);
long long cgroup_stat(const char *name);
/* Read the number after @key at the start of a line of the group's @file; write the file. */
long long cgroup_read(const char *file, const char *key);
bool cgroup_write(const char *file, const char *text);

/* /sys/kernel/mm/lru_gen/enabled; false if this kernel cannot switch MGLRU as @mask says. */
bool mglru_set(int mask);
void mglru_restore(void);
/*
 * Age the group's memory once: what its processes use, their page tables say.  @all: anonymous
 * memory, too, and tables that MGLRU takes for not worth a look; otherwise old pages of files
 * are evicted first.  Needs debugfs.
 */
bool mglru_age(bool all);
bool mglru_can_age(void);

bool swap_is_on(void);
bool swap_has_room(size_t bytes);

/*
 * A clean file of @len bytes on /mnt, with fill()'s content, cached in folios of @kib KiB:
 * XFS makes folios as large as the writes.  -1 if /mnt is not XFS.
 */
int xfs_file(size_t len, unsigned char seed, unsigned long kib);
/* The same, at @path. */
int xfs_file_named(const char *path, size_t len, unsigned char seed, unsigned long kib);
void drop_caches(void);

/* A userfaultfd for a range, with UFFD_FEATURE_* and UFFDIO_REGISTER_MODE_*; or -1. */
int uffd_watch(void *mem, size_t len, __u64 features, __u64 mode);

/* Write protection through userfaultfd; a protected write raises SIGBUS. */
int uffd_open(void *mem, size_t len);
bool uffd_protect(int uffd, void *mem, size_t len, bool on);
/* Read from @addr, or write @byte to it; false if that raised SIGBUS. */
bool try_read(const char *addr);
bool try_write(char *addr, unsigned char byte);
/*
 * Read-write protection: any access to a protected page raises SIGBUS.  rwp_arm() protects
 * 21 of 64 pages: a whole folio of 64 KiB, and a part of one.
 */
#define RWP_STRIDE		64
#define RWP_ARMED		21
#define RWP_MISSING		"needs userfaultfd's read-write protection (Linux 7.3)"
#define rwp_is_armed(page)	((page) % RWP_STRIDE < RWP_ARMED)
int rwp_open(void *mem, size_t len);
bool rwp_arm(int uffd, char *mem, size_t len, bool on);
/* Pages that are protected and should not be, or the other way round. */
long rwp_count_wrong(const char *mem, size_t len);

/* MADV_HWPOISON of the page; the SIGBUS that it may raise is ignored.  False: see errno. */
bool poison_page(char *addr);

/* Open the kernel log at its end; look for @text in what was logged since. */
int kmsg_open(void);
bool kmsg_has(int fd, const char *text);
/* Whether a BUG was reported.  Data races do not count: the lab judges those (KCSAN). */
bool kmsg_has_bug(int fd);

#endif /* UNMAP_UTIL_H */
