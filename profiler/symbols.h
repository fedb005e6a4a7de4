/* SPDX-License-Identifier: GPL-2.0-only */
/* The function that an address belongs to. */
#ifndef SWATHE_PROFILER_SYMBOLS_H
#define SWATHE_PROFILER_SYMBOLS_H

#include <stdint.h>

/* The number of all addresses outside the kernel. */
#define SYMBOL_USER	0

/*
 * Read "ADDRESS NAME" lines: hexadecimal addresses, in ascending order.  Returns the number
 * of symbols, or -1.  Call it once.
 */
int symbols_read(const char *path);

/* How many there are, with SYMBOL_USER. */
unsigned int symbol_count(void);

/* The number of the function at @addr; a function's name and first address. */
unsigned int symbol_at(uint64_t addr);
const char *symbol_name(unsigned int symbol);
uint64_t symbol_start(unsigned int symbol);

/* The next function of this name after number @after, or 0: static functions may share a name. */
unsigned int symbol_find(const char *name, unsigned int after);

#endif /* SWATHE_PROFILER_SYMBOLS_H */
