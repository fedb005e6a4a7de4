// SPDX-License-Identifier: GPL-2.0-only
/*
 * jemalloc all|live: fill, free and purge a heap, for allocators.c.
 *
 * The program allocates the same objects as heap.go, in the same order.  It picks one of
 * SLOTS slots at random, frees the slot's object, and allocates a new one: an object lives
 * until its slot is picked again.  Half of the objects have up to 32 bytes, a quarter up to
 * 64, and so on to 512 KiB, so that each power of two makes up about as many bytes.
 */
#include <jemalloc/jemalloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t u32;
typedef uint64_t u64;

#define SEED	20261123ULL
#define SLOTS	1048576U
#define STEPS	(3 * SLOTS)
#define SMALLEST	16
#define DOUBLINGS	14
#define PAGE	4096
#define LIVING	1000	/* "live" keeps one object in this many */

struct object {
	unsigned char *mem;
	u32 size;
};

/* splitmix64 */
static u64 draw(void)
{
	static u64 state = SEED;
	u64 z = state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u32 draw_size(void)
{
	u64 word = draw();
	u32 least = SMALLEST;

	for (int i = 0; i < DOUBLINGS && (word & 1); i++, word >>= 1)
		least *= 2;
	return least + (word >> 1) % least;
}

static void mark(const struct object *object, unsigned char tag)
{
	for (u32 i = 0; i < object->size; i += PAGE)
		object->mem[i] = tag;
	object->mem[object->size - 1] = tag;
}

static void check(const struct object *object, unsigned char tag)
{
	for (u32 i = 0; i < object->size; i += PAGE) {
		if (object->mem[i] != tag) {
			fprintf(stderr, "an object that was not freed has changed\n");
			exit(1);
		}
	}
}

static void fill(struct object *objects)
{
	for (u32 step = 0; step < STEPS; step++) {
		u32 slot = draw() % SLOTS;
		struct object *object = &objects[slot];

		free(object->mem);
		object->size = draw_size();
		object->mem = malloc(object->size);
		if (!object->mem)
			abort();
		mark(object, slot);
	}
}

static void report_filled(const struct object *objects)
{
	unsigned long long count = 0, bytes = 0;

	for (u32 slot = 0; slot < SLOTS; slot++) {
		count += !!objects[slot].mem;
		bytes += objects[slot].size;
	}
	printf("filled %llu %llu\n", count, bytes);
	fflush(stdout);
}

static void free_all(struct object *objects, int live)
{
	for (u32 slot = 0; slot < SLOTS; slot++) {
		if (live && slot % LIVING == 0)
			continue;
		free(objects[slot].mem);
		objects[slot] = (struct object){ 0 };
	}
}

static void control(const char *name)
{
	if (mallctl(name, NULL, NULL, NULL, 0)) {
		fprintf(stderr, "mallctl(%s) failed\n", name);
		exit(1);
	}
}

static void purge(void)
{
	char name[40];

	control("thread.tcache.flush");
	snprintf(name, sizeof(name), "arena.%d.purge", MALLCTL_ARENAS_ALL);
	control(name);
}

int main(int argc, char **argv)
{
	int live = argc > 1 && !strcmp(argv[1], "live");
	struct object *objects = calloc(SLOTS, sizeof(*objects));

	if (!objects)
		abort();
	fill(objects);
	report_filled(objects);
	free_all(objects, live);
	if (!live) {
		free(objects);
		objects = NULL;
	}
	printf("freed\n");
	fflush(stdout);
	getchar();
	purge();
	printf("purged\n");
	fflush(stdout);
	getchar();
	for (u32 slot = 0; live && slot < SLOTS; slot += LIVING)
		if (objects[slot].mem)
			check(&objects[slot], slot);
	return 0;
}
