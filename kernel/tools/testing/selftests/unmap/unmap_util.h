/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unmap tests share: folio sizes, the switch, page tables seen from
 * outside, extra references, reclaim of one control group, userfaultfd.
 *
 * Helpers report failure as false or -1 and leave the verdict to the test.
 */
#ifndef UNMAP_UTIL_H
#define UNMAP_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#ifndef BIT_ULL
#define BIT_ULL(nr)	(1ULL << (nr))
#endif
#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, val)	(*(volatile typeof(x) *)&(x) = (val))

#define PAGE	4096UL
#define KIB	1024UL
#define MIB	(1024 * KIB)
#define PMD	(2 * MIB)

#define UNMAP_SYSFS	"/sys/kernel/mm/unmap/"
#define UNMAP_EVICT	1UL
#define UNMAP_DISCARD	2UL
#define UNMAP_TABLES	8UL
#define UNMAP_ALL	(UNMAP_EVICT | UNMAP_DISCARD | UNMAP_TABLES)

/* /proc/self/pagemap */
#define PM_SOFT_DIRTY	BIT_ULL(55)
#define PM_UFFD_WP	BIT_ULL(57)
#define PM_FILE		BIT_ULL(61)
#define PM_SWAP		BIT_ULL(62)
#define PM_PRESENT	BIT_ULL(63)
#define PM_PFN(entry)	((entry) & (BIT_ULL(55) - 1))

/* /proc/kpageflags */
#define KPF_MAPPED	BIT_ULL(11)
#define KPF_SWAPBACKED	BIT_ULL(14)
#define KPF_TAIL	BIT_ULL(16)
#define KPF_MLOCKED	BIT_ULL(33)

/* Files. */
bool write_text(const char *path, const char *text);
bool write_number(const char *path, unsigned long value);
bool read_text(const char *path, char *buf, size_t size);
/* The number after @key at the start of a line; -1 when there is none. */
long long read_field(const char *path, const char *key);
long long vmstat(const char *name);
/* A "Name: N kB" line of /proc/self/status, in pages. */
long long status_pages(const char *name);

/*
 * The switch, all of it that this kernel has: false when it cannot be put in that
 * position.
 */
bool switch_all(bool on);
void switch_restore(void);
bool switch_has(unsigned long bits);
long long unmap_stat(const char *name);

/*
 * Start and end of a test: this process on one CPU and in a memory control group
 * of its own, the switch and the folio size set, khugepaged at rest.  Null, or what is
 * missing.
 */
const char *begin(unsigned long kib, bool on);
void end(void);
void use_cpu(int cpu);

/*
 * Tables that go stay visible for so many microseconds, locks held, so that others come too
 * late more often, in kernels that can be broken on purpose.  Zero: as ever.
 */
void open_window(unsigned int us);

/* Every variant of a fixture that runs per folio size, switched on and off. */
#define SIZE_VARIANTS(fixture, size) \
	FIXTURE_VARIANT_ADD(fixture, size ## K_on) { .kib = size, .on = true }; \
	FIXTURE_VARIANT_ADD(fixture, size ## K_off) { .kib = size, .on = false }

/* Folio sizes: anonymous and shmem folios of @kib KiB only, until restored. */
bool folio_size_set(unsigned long kib);
void folio_size_restore(void);
long long folio_stat(unsigned long kib, const char *name);

/* Memory: aligned to 2 MiB, so that folios of any size fit. */
char *map_aligned(size_t len, int prot, int flags, int fd);
void fill(char *mem, size_t len, unsigned char seed);
/* Pages of the range that do not hold what fill() wrote. */
long count_wrong(const char *mem, size_t len, unsigned char seed);
long count_not_zero(const char *mem, size_t len);
bool page_is(const char *page, unsigned char byte);
unsigned char fill_byte(size_t page, unsigned char seed);

/* Page tables seen from outside. */
__u64 pagemap(const void *addr);
void pagemap_range(const void *mem, __u64 *entries, size_t nr);
__u64 page_flags(const void *addr);
/* How many entries map it. */
__u64 page_mapcount(const void *addr);
long count_pages(const void *mem, size_t len, __u64 bits);
/* Of /proc/self/smaps, in KiB: of all VMAs that overlap the range. */
long smaps_kib(const void *mem, size_t len, const char *field);
bool folios_are(const void *mem, size_t len, unsigned long kib);
bool soft_dirty_works(void);

/* An extra reference to each page put in, dropped by unpin(). */
struct pin {
	int fds[2];
};

bool pin_open(struct pin *pin);
bool pin_page(struct pin *pin, const void *addr);
void unpin(struct pin *pin);

/* A memory control group for this process, and reclaim of what is charged to it. */
bool cgroup_enter(void);
void cgroup_leave(void);
/* Scan the file lists, where lazyfree memory lives, too; nothing is swapped. */
void reclaim_file(size_t bytes);
void reclaim_all(size_t bytes);
long long cgroup_stat(const char *name);
/* Its files: the number after @key at the start of a line, and writing. */
long long cgroup_read(const char *file, const char *key);
bool cgroup_write(const char *file, const char *text);

bool swap_is_on(void);
bool swap_has_room(size_t bytes);

/*
 * A filled and clean file of @len bytes on /mnt, cached in folios of @kib KiB (that
 * is the size it is written in); -1 where /mnt is not XFS.
 */
int xfs_file(size_t len, unsigned char seed, unsigned long kib);
/* The same, with a name to find it again by. */
int xfs_file_named(const char *path, size_t len, unsigned char seed, unsigned long kib);
void drop_caches(void);

/* A userfaultfd for a range, with UFFD_FEATURE_* and UFFDIO_REGISTER_MODE_*; or -1. */
int uffd_watch(void *mem, size_t len, __u64 features, __u64 mode);

/* Write protection through userfaultfd; a protected write raises SIGBUS. */
int uffd_open(void *mem, size_t len);
bool uffd_protect(int uffd, void *mem, size_t len, bool on);
/* Write @byte to @addr; false when that raised SIGBUS. */
bool try_write(char *addr, unsigned char byte);

/* The kernel log from now on. */
int kmsg_open(void);
bool kmsg_has(int fd, const char *text);

#endif /* UNMAP_UTIL_H */
