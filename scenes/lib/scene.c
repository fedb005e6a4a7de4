// SPDX-License-Identifier: GPL-2.0-only
/* See scene.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../include/mark.h"
#include "scene.h"

#define ROUNDS		20
#define POLLS		200000	/* of 100 microseconds, at a gate that nobody opens */

static long asked, answered;	/* steps of the second thread: two a round */

void scene_says(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

/* A gate stops the second thread here for a moment, until the first one stands at its own. */
__attribute__((noinline)) void scene_second_begins(void)
{
	asm volatile("" ::: "memory");
}

__attribute__((noinline)) void scene_second_ends(void)
{
	asm volatile("" ::: "memory");
}

static void use_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		scene_says("processor %d: %m", cpu);
}

/* Spins: a system call could come to a gate. */
static void await(const long *value, long wanted)
{
	while (__atomic_load_n(value, __ATOMIC_ACQUIRE) < wanted)
		asm volatile("" ::: "memory");
}

static void *second_thread(void *arg)
{
	const struct scene *scene = arg;

	use_cpu(0);
	for (long step = 1;; step++) {
		await(&asked, step);
		if (step % 2 && scene->warm)
			scene->warm();
		if (step % 2 == 0) {
			for (long i = 0; i < POLLS; i++)
				scene_second_begins();
			scene->second();
			scene_second_ends();
		}
		__atomic_store_n(&answered, step, __ATOMIC_RELEASE);
	}
	return NULL;
}

static bool run_round(const struct scene *scene, long round)
{
	if (scene->ready && !scene->ready()) {
		scene_says("round %ld was not ready", round);
		return false;
	}
	__atomic_store_n(&asked, 2 * round - 1, __ATOMIC_RELEASE);
	await(&answered, 2 * round - 1);
	MARK(MARK_BEGIN);
	__atomic_store_n(&asked, 2 * round, __ATOMIC_RELEASE);
	scene->first();
	await(&answered, 2 * round);
	MARK(MARK_END);
	return scene->right();
}

static bool run_alone(const struct scene *scene, long round)
{
	if (scene->ready && !scene->ready()) {
		scene_says("round %ld was not ready", round);
		exit(2);
	}
	if (scene->first)
		scene->first();
	return scene->right();
}

static long count_wrong(const struct scene *scene, long rounds,
			bool (*run)(const struct scene *scene, long round))
{
	long wrong = 0;

	for (long round = 1; round <= rounds; round++) {
		bool right = run(scene, round);

		wrong += !right;
		printf("round %ld %s\n", round, right ? "right" : "wrong");
	}
	return wrong;
}

static bool begin(const struct scene *scene)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	return !scene->prepare || scene->prepare();
}

int scene_main(int argc, char **argv, const struct scene *scene)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, wrong;
	pthread_t thread;

	if (!begin(scene))
		return 2;
	use_cpu(1);
	if (pthread_create(&thread, NULL, second_thread, (void *)scene))
		return 2;
	wrong = count_wrong(scene, rounds, run_round);
	MARK(MARK_REPORT);
	printf("rounds %ld wrong %ld\n", rounds, wrong);
	return wrong > 0;
}

int scene_alone(int argc, char **argv, const struct scene *scene)
{
	long rounds = argc > 1 ? atol(argv[1]) : ROUNDS, wrong;

	if (!begin(scene))
		return 2;
	wrong = count_wrong(scene, rounds, run_alone);
	printf("rounds %ld wrong %ld\n", rounds, wrong);
	return wrong > 0;
}

char *scene_map(size_t len, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *raw = mmap(NULL, len + PMD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *mem = (char *)(((uintptr_t)raw + PMD - 1) & ~(PMD - 1));

	if (raw == MAP_FAILED)
		return MAP_FAILED;
	return mmap(mem, len, PROT_READ | PROT_WRITE, flags | MAP_FIXED, fd, 0);
}

bool scene_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

long scene_number(const char *path)
{
	FILE *file = fopen(path, "r");
	long nr = -1;

	if (file && fscanf(file, "%ld", &nr) != 1)
		nr = -1;
	if (file)
		fclose(file);
	return nr;
}

int scene_peek(const char *addr)
{
	int fd = open("/proc/self/mem", O_RDONLY);
	unsigned char byte;
	bool done = fd >= 0 && pread(fd, &byte, 1, (uintptr_t)addr) == 1;

	if (fd >= 0)
		close(fd);
	return done ? byte : -1;
}

uint64_t scene_entry(const char *path, uint64_t number)
{
	int fd = open(path, O_RDONLY);
	uint64_t entry = 0;

	if (fd < 0 || pread(fd, &entry, sizeof(entry), number * sizeof(entry)) != sizeof(entry))
		scene_says("%s: %m", path);
	if (fd >= 0)
		close(fd);
	return entry;
}

uint64_t scene_pagemap(const char *addr)
{
	return scene_entry("/proc/self/pagemap", (uintptr_t)addr / PAGE);
}

#define THP	"/sys/kernel/mm/transparent_hugepage/"

bool scene_folios(char *mem, size_t len, const char *kib)
{
	char path[96];

	if (!kib) {
		NEED(!madvise(mem, len, MADV_NOHUGEPAGE));
		return true;
	}
	NEED(scene_write(THP "hugepages-2048kB/enabled", "never"));
	snprintf(path, sizeof(path), THP "hugepages-%skB/enabled", kib);
	NEED(scene_write(path, "always"));
	return true;
}
