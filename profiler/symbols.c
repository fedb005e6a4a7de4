// SPDX-License-Identifier: GPL-2.0-only
/* The function that an address belongs to: binary search in a sorted table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

struct symbol {
	uint64_t addr;
	char *name;
};

static struct symbol *table;
static unsigned int nr_symbols, room;

static int add(uint64_t addr, const char *name)
{
	if (nr_symbols == room) {
		room = room ? 2 * room : 4096;
		table = realloc(table, room * sizeof(*table));
		if (!table)
			return -1;
	}
	table[nr_symbols].addr = addr;
	table[nr_symbols].name = strdup(name);
	return table[nr_symbols++].name ? 0 : -1;
}

int symbols_read(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long addr;
	char name[256];

	if (!file || add(0, "[user]"))
		return -1;
	while (fscanf(file, "%llx %255s", &addr, name) == 2)
		if (add(addr, name))
			return -1;
	fclose(file);
	return nr_symbols;
}

unsigned int symbol_count(void)
{
	return nr_symbols;
}

unsigned int symbol_at(uint64_t addr)
{
	unsigned int low = 0, high = nr_symbols;

	while (high - low > 1) {
		unsigned int mid = low + (high - low) / 2;

		if (table[mid].addr <= addr)
			low = mid;
		else
			high = mid;
	}
	return low;
}

unsigned int symbol_find(const char *name, unsigned int after)
{
	unsigned int i;

	for (i = after + 1; i < nr_symbols; i++)
		if (!strcmp(table[i].name, name))
			return i;
	return 0;
}

uint64_t symbol_start(unsigned int symbol)
{
	return table[symbol].addr;
}

const char *symbol_name(unsigned int symbol)
{
	return table[symbol].name;
}
