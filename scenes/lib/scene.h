/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scene: two threads of a process, each on a processor of its own, and what must come of it.
 *
 * Each round, ready() prepares memory, and warm() fills the TLB of processor 0.  first() runs on processor 1, and stops at the scene's
 * first gate.  Then second() runs on processor 0.  When both have ended, right() judges.
 *
 *	int main(int argc, char **argv)
 *	{
 *		return scene_main(argc, argv, &scene);
 *	}
 *
 * The argument is the number of rounds.  The exit status is 1 if a round came out wrong.
 */
#ifndef SWATHE_SCENE_H
#define SWATHE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct scene - what happens
 * @prepare: once; may be null
 * @ready: before each round; may be null
 * @warm: before each round, by the second thread; may be null
 * @first, @second: what the two threads do
 * @right: whether all is as it should be; says what is not with scene_says()
 */
struct scene {
	bool (*prepare)(void);
	bool (*ready)(void);
	void (*warm)(void);
	void (*first)(void);
	void (*second)(void);
	bool (*right)(void);
};

int scene_main(int argc, char **argv, const struct scene *scene);

/* Without a second thread: each round is ready(), first() (may be null) and right(). */
int scene_alone(int argc, char **argv, const struct scene *scene);

/* What was wrong, as printf() has it. */
void scene_says(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Return false if @ok is not true, and say which; for prepare() and ready(). */
#define NEED(ok)							\
	do {								\
		if (!(ok)) {						\
			scene_says("%s: %m", #ok);			\
			return false;					\
		}							\
	} while (0)

#define PAGE	4096UL
#define PMD	(2UL << 20)

/* Memory of @len bytes, aligned to a PMD; @fd -1: private anonymous memory. */
char *scene_map(size_t len, int fd);
bool scene_write(const char *path, const char *text);
/* The number in a file, -1 if there is none. */
long scene_number(const char *path);

/*
 * The byte that the page table leads to: this processor may have an old TLB entry.  -1 if it cannot
 * be read.
 */
int scene_peek(const char *addr);

/* An entry of a file of /proc that has one for each page; 0 if it cannot be read. */
uint64_t scene_entry(const char *path, uint64_t number);
/* The entry of /proc/self/pagemap for an address. */
uint64_t scene_pagemap(const char *addr);

/* Have new anonymous memory in a range in folios of @kib KiB; null: in single pages. */
bool scene_folios(char *mem, size_t len, const char *kib);

#endif /* SWATHE_SCENE_H */
