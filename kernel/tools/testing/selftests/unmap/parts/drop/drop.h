/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of drop, which tests that full page tables of idle processes go.
 *
 * drop_sleeper.c	a process that maps a file, sleeps, and checks what it has mapped
 * drop_old.c		memory that a process uses, or not, while it runs
 * drop_keep.c		what keeps tables: what the sleeper does to its memory before it sleeps
 * drop_race.c		memory changes while its tables are dropped all the time
 * drop_flush.c		who read through a table that went sees what changes then
 * drop_dropping.c	a thread that drops tables all the time
 * drop_uffd.c		userfaultfd begins to watch memory meanwhile
 * drop_taken.c		others take tables meanwhile: holes in the file, huge pages
 * drop_ends.c		processes end, fork or lock their memory meanwhile
 * drop_killed.c	processes are killed while a task is about to drop their tables
 * drop_disk.c		a file on a disk that is nearly full is written meanwhile
 * drop_latency.c	a process whose tables a throttled task drops
 */
#ifndef DROP_H
#define DROP_H

#include <stdbool.h>
#include <stddef.h>

#include "../../lib/fault_util.h"
#include "../../lib/unmap_util.h"

#define LEN		PMD		/* of the file, which is mapped COPIES times: */
#define PAGES		((long)(LEN / PAGE))
#define COPIES		40L		/* fewer tables would not be worth it */
#define SEED		31
#define IDLE_MS		30
#define DROPPED		"drop_tables"

/* How the sleeper maps the file. */
struct mapping {
	enum kind kind;		/* SHMEM or FILE_SHARED */
	unsigned long kib;
	bool writes;		/* all pages, after reading them */
	bool readonly;
	bool private;		/* MAP_PRIVATE */
	bool sysv;		/* SysV shared memory instead of a file */
	bool shm_locked;	/* SHM_LOCK, from outside */
	bool runs;		/* instead of sleeping; on another CPU, if it uses memory: */
	void (*use)(char *mem);	/* called all the time */
	unsigned char seed;	/* of the content in the end; 0: it is as it was */
	/* Called when all is mapped; @mem: the first copy. */
	bool (*prepare)(char *mem);
	/* Called before the content is checked. */
	bool (*wake)(char *mem);
};

struct sleeper {
	const struct mapping *mapping;
	int fd;
	int shm;		/* SysV's identifier, if there is no file */
	int pid;
	int ready[2], go[2];
	int log;
};

/* NULL, or what this machine lacks. */
const char *sleeper_needs(enum kind kind);
/* Returns when it sleeps, for longer than IDLE_MS. */
bool sleeper_start(struct sleeper *s, const struct mapping *mapping);
/* Wake it; whether it found all content as it should be, and the kernel log has no complaint. */
bool sleeper_wake(struct sleeper *s);
/* Its page tables; the pages of files that it has mapped. */
long sleeper_tables(const struct sleeper *s);
long sleeper_pages(const struct sleeper *s);
/* A line of /proc/PID/status. */
long process_kib(int pid, const char *key);
/* Reclaim, as urgent as it can be, of everything that is no page. */
bool drop_slabs(void);

/* drop_old.c */
#define USED		(COPIES - 6)	/* tables that use_most() uses: enough for a look */
#define OLD_MS		1000		/* for drop_idle_ms */
void use_most(char *mem);
/* Reclaim, several times, until tables that are not used are old.  @age: MGLRU ages meanwhile. */
bool let_age(int fd, bool age);

/* Processes that sleep, and have few tables. */
#define MANY		70
bool sleepers_start(int nr);
bool sleepers_end(int nr);

/* drop_keep.c */
bool keep_mlocked(char *mem);
bool keep_locked_on_fault(char *mem);
bool keep_copied(char *mem);
bool keep_watched(char *mem);
bool keep_tracked(char *mem);
bool keep_beside_anon(char *mem);
bool keep_notified(char *mem);
bool keep_protected(char *mem);

/* drop_race.c: jobs for apart(); @seed for the random choices of the first. */
bool race_munmap(struct scene *scene);
bool race_changes(struct scene *scene);
void race_seed(unsigned long seed);

/* drop_flush.c: jobs for apart() */
bool flush_reader(struct scene *scene);
bool flush_collapsed(struct scene *scene);

/*
 * drop_dropping.c: a thread of this process drops tables all the time, of this process and its
 * children.  Each table is locked for longer than usual.
 */
bool dropping_start(void);
/* Wait until each table was looked at again. */
void dropping_wait(void);
void dropping_stop(void);
/*
 * A race goes on until so many tables were dropped, if any may be; for DROP_MS milliseconds at
 * least.  dropping_start() begins it.
 */
#define RACE_TABLES	20
#define RACE_CHANGES	60	/* for changes of all kinds */
#define RACE_WATCHED	2	/* few may go of memory that is about to be watched */
void race_begins(void);
bool race_goes_on(long tables);
/* A file of LEN zeroes; -1 if there is none. */
int drop_file(const struct scene *scene);
/* Map it several times, one behind the other; @flags: MAP_SHARED or MAP_PRIVATE. */
char *map_file(int fd, long copies, int flags);

/* drop_uffd.c: jobs for apart() */
bool race_watched(struct scene *scene);
bool race_watched_minor(struct scene *scene);

/* drop_taken.c: jobs for apart() */
bool race_punched(struct scene *scene);
bool race_collapsed(struct scene *scene);

/* drop_ends.c: jobs for apart() */
bool race_ends(struct scene *scene);
bool race_oom(struct scene *scene);
/* The tables of a process that the OOM reaper has been at stay. */
bool keep_reaped(struct scene *scene);

/* drop_disk.c: NULL, or what the machine lacks; a job for apart() */
const char *disk_needs(void);
bool race_full_disk(struct scene *scene);

/* drop_latency.c: a job for latency_round() */
void drop_victim_job(struct child *child, void *latency);

/* drop_killed.c: a job for apart() */
bool race_killed(struct scene *scene);

#endif /* DROP_H */
