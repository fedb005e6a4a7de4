/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs for real machines read about the machine, and their random numbers. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "../include/base.h"

#ifndef UNMAP
#define UNMAP	"/sys/kernel/mm/unmap/"
#endif
#define SWITCH	UNMAP "enabled"

#define EXIT_USAGE	2
#define EXIT_LACKS	3

/* The CPUs that this process may use. */
unsigned int nr_cpus(void);
void use_cpu(unsigned int nth);		/* modulo nr_cpus() */

/*
 * The text that these four return stays until the next call.
 */

/* The first line of a file, without its end; empty if there is none. */
const char *first_line(const char *path);
/* The text after "KEY :" on the first line that begins with @key. */
const char *field_of(const char *path, const char *key);
/* The settings of transparent huge pages, without the sizes that are never used. */
const char *huge_pages(void);
/* Processor, microcode, CPUs in use, and whether this is a virtual machine. */
const char *processor(void);

/* Interrupts of all CPUs since boot that flushed TLBs, or called another function. */
struct interrupts {
	u64 flushes, calls;
};

struct interrupts read_interrupts(void);

/* A generator: the same @state gives the same numbers. */
struct random {
	u64 state;
};

u64 draw(struct random *random);
unsigned int below(struct random *random, unsigned int limit);

#endif /* MACHINE_H */
