// SPDX-License-Identifier: GPL-2.0-only
/* A process that maps a file, sleeps, and checks what it has mapped: see drop.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drop.h"

const char *sleeper_needs(enum kind kind)
{
	return access(DROP_IDLE, W_OK) ? "needs CONFIG_UNMAP_DROP" : scene_needs(kind);
}

/* Filled by faults: write() makes single pages, whatever sizes are enabled (Linux 6.12). */
static int shmem_file(unsigned long kib)
{
	int fd = memfd_create("drop", MFD_CLOEXEC);
	bool right;
	char *mem;

	if (fd < 0 || ftruncate(fd, LEN))
		return -1;
	mem = map_aligned(LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (mem == MAP_FAILED)
		return -1;
	fill(mem, LEN, SEED);
	right = folios_are(mem, LEN, kib);
	munmap(mem, LEN);
	return right ? fd : -1;
}

static int sysv_memory(void)
{
	int shm = shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0600);
	char *mem = shmat(shm, NULL, 0);

	if (mem == MAP_FAILED)
		return -1;
	fill(mem, LEN, SEED);
	shmdt(mem);
	return shm;
}

static bool make_memory(struct sleeper *s)
{
	const struct mapping *mapping = s->mapping;

	s->shm = -1;
	s->fd = -1;
	if (mapping->sysv)
		s->shm = sysv_memory();
	else if (mapping->kind == SHMEM)
		s->fd = shmem_file(mapping->kib);
	else
		s->fd = xfs_file(LEN, SEED, mapping->kib);
	return s->fd >= 0 || s->shm >= 0;
}

static char *map_copy(const struct sleeper *s, char *mem)
{
	int flags = MAP_FIXED | (s->mapping->private ? MAP_PRIVATE : MAP_SHARED);
	int prot = s->mapping->readonly ? PROT_READ : PROT_READ | PROT_WRITE;

	if (s->mapping->sysv)
		return shmat(s->shm, mem, SHM_REMAP | (s->mapping->readonly ? SHM_RDONLY : 0));
	return mmap(mem, LEN, prot, flags, s->fd, 0);
}

/* All copies of the file, one behind the other. */
static char *map_copies(const struct sleeper *s)
{
	char *mem = map_aligned(COPIES * LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	for (long i = 0; mem != MAP_FAILED && i < COPIES; i++)
		if (map_copy(s, mem + i * LEN) == MAP_FAILED)
			return MAP_FAILED;
	return mem;
}

static void touch(char *mem, bool writes)
{
	for (long i = 0; i < COPIES * PAGES; i++) {
		char byte = READ_ONCE(mem[i * PAGE]);

		if (writes)
			WRITE_ONCE(mem[i * PAGE], byte);
	}
}

static bool content_is_right(const char *mem, unsigned char seed)
{
	for (long i = 0; i < COPIES; i++)
		CHECK_EQ(0, count_wrong(mem + i * LEN, LEN, seed));
	return true;
}

/* Until the parent writes.  A process that runs looks at its pipe all the time. */
static bool wait_for_go(struct sleeper *s, char *mem)
{
	char byte;

	if (s->mapping->runs)
		CHECK(!fcntl(s->go[0], F_SETFL, O_NONBLOCK));
	while (read(s->go[0], &byte, 1) != 1) {
		if (!s->mapping->runs)
			return false;
		if (s->mapping->use)
			s->mapping->use(mem);
	}
	return true;
}

static bool sleep_once(struct sleeper *s)
{
	char *mem = map_copies(s);

	CHECK(mem != MAP_FAILED);
	if (s->mapping->use)
		use_cpu(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	touch(mem, s->mapping->writes);
	CHECK(!s->mapping->prepare || s->mapping->prepare(mem));
	CHECK(write(s->ready[1], "r", 1) == 1);
	CHECK(wait_for_go(s, mem));
	CHECK(!s->mapping->wake || s->mapping->wake(mem));
	return content_is_right(mem, s->mapping->seed ? s->mapping->seed : SEED);
}

bool sleeper_start(struct sleeper *s, const struct mapping *mapping)
{
	char byte;

	s->mapping = mapping;
	s->log = kmsg_open();
	CHECK(s->log >= 0 && make_memory(s));
	CHECK(!pipe(s->ready) && !pipe(s->go));
	fflush(stdout);
	s->pid = fork();
	if (!s->pid) {
		bool done = sleep_once(s);

		fflush(stdout);
		_exit(!done);
	}
	CHECK(s->pid > 0);
	close(s->ready[1]);
	CHECK(read(s->ready[0], &byte, 1) == 1);
	CHECK(!mapping->shm_locked || !shmctl(s->shm, SHM_LOCK, NULL));
	/* It goes with the last process that has attached it. */
	CHECK(!mapping->sysv || !shmctl(s->shm, IPC_RMID, NULL));
	return !usleep(2 * IDLE_MS * 1000);
}

bool sleeper_wake(struct sleeper *s)
{
	int status = -1;
	bool calm;

	CHECK(write(s->go[1], "g", 1) == 1);
	CHECK(waitpid(s->pid, &status, 0) == s->pid);
	calm = kernel_is_calm(s->log);
	close(s->log);
	close(s->ready[0]);
	close(s->go[0]);
	close(s->go[1]);
	CHECK_EQ(0, status);
	return calm;
}

long process_kib(int pid, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, key);
}

long sleeper_tables(const struct sleeper *s)
{
	return process_kib(s->pid, "VmPTE:") / (long)(PAGE / KIB);
}

long sleeper_pages(const struct sleeper *s)
{
	return (process_kib(s->pid, "RssFile:") + process_kib(s->pid, "RssShmem:")) /
	       (long)(PAGE / KIB);
}

bool drop_slabs(void)
{
	return write_text("/proc/sys/vm/drop_caches", "2");
}
