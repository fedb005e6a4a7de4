/* SPDX-License-Identifier: GPL-2.0-only */
/* Which function an address belongs to. */
#ifndef SWATHE_PROFILER_SYMBOLS_H
#define SWATHE_PROFILER_SYMBOLS_H

#include <stdint.h>

/* What every address outside the kernel belongs to. */
#define SYMBOL_USER	0

/*
 * Read "ADDRESS NAME" lines, addresses in hexadecimal and ascending.  Returns
 * how many there are, or -1.  To be called once.
 */
int symbols_read(const char *path);

/* The number of the function at @addr, and a number's name and first address. */
unsigned int symbol_at(uint64_t addr);
const char *symbol_name(unsigned int symbol);
uint64_t symbol_start(unsigned int symbol);

/* The next function of this name behind number @after, or 0: static ones may share a name. */
unsigned int symbol_find(const char *name, unsigned int after);

#endif /* SWATHE_PROFILER_SYMBOLS_H */
