// SPDX-License-Identifier: GPL-2.0-only
/* One fault for each page table, and what freeing the tables costs: see multifault.c. */
#include <sys/mman.h>

#include "multifault.h"
#include "workload.h"

#define TABLE	(2 * MIB)

void run_sparse(void)
{
	const size_t len = 8 * GIB;
	const unsigned long tables = len / TABLE;
	char *mem = map_anon(len);
	u64 instructions, zapping;
	unsigned long faults;

	for (int pass = 0; pass < 2; pass++) {
		instructions = measure_begin();
		for (size_t i = 0; i < len; i += TABLE)
			mem[i] = 1;
		zapping = cpu_time();
		advise(mem, len, MADV_DONTNEED);
		zapping = cpu_time() - zapping;
		instructions = measure_end(instructions);
		faults = measured_faults();
		if (faults < tables)
			fail("%lu faults in %lu tables", faults, tables);
		if (count_entries(mem, len))
			fail("%lu pages are still there", count_entries(mem, len));
	}
	report(instructions, tables);
	metric("faults", faults, "faults");
	metric("per_fault", (instructions - zapping) / tables, "instructions/fault");
	metric("per_table", zapping / tables, "instructions/table");
}
