// SPDX-License-Identifier: GPL-2.0-only
/* One fault in each page table, and the cost of freeing the tables: see multifault.c. */
#include <sys/mman.h>
#include <unistd.h>

#include "lib/cgroup.h"
#include "lib/tables.h"
#include "lib/workload.h"
#include "multifault.h"

/* The last one is measured: tables that come back stay from the second one on. */
#define PASSES	4

static void run_passes(void)
{
	const size_t len = 8 * GIB;
	const unsigned long tables = len / TABLE;
	char *mem = map_anon(len);
	u64 instructions, zapping, spent[PASSES];
	unsigned long faults;

	for (int pass = 0; pass < PASSES; pass++) {
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
		spent[pass] = instructions;
	}
	report(instructions, tables);
	metric("first_pass", spent[0], "instructions");
	metric("second_pass", spent[1], "instructions");
	metric("faults", faults, "faults");
	metric("per_fault", (instructions - zapping) / tables, "instructions/fault");
	metric("per_table", zapping / tables, "instructions/table");
}

void run_sparse(void)
{
	set_tables_policy("adaptive");
	run_passes();
}

void run_sparse_kept(void)
{
	enter_cgroup();
	set_tables_policy("pressure");
	run_passes();
	metric("vmpte_kept", vmpte(), "kB");
	usleep(TABLES_AGE);
	try_reclaim("64M");	/* more than there is: false is no error */
	metric("vmpte_after", vmpte(), "kB");
	set_tables_policy("adaptive");
	leave_cgroup();
}
