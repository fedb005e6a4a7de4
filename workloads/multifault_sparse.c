// SPDX-License-Identifier: GPL-2.0-only
/* One fault for each page table, and what freeing the tables costs: see multifault.c. */
#include <sys/mman.h>
#include <unistd.h>

#include "cgroup.h"
#include "multifault.h"
#include "workload.h"

#define TABLE	(2 * MIB)
#define POLICY	"/sys/kernel/mm/unmap/tables_policy"
#define AGE	(100 * 1000)	/* us: tables that became empty just now are kept */

/* Kernels that know of no policy have one of their own. */
static void set_policy(const char *policy)
{
	if (path_exists(POLICY))
		write_text(POLICY, policy);
}

static u64 vmpte(void)
{
	return read_field("/proc/self/status", "VmPTE:");
}

static void run_passes(void)
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

void run_sparse(void)
{
	set_policy("eager");
	run_passes();
}

/* More is asked for than there is. */
void run_sparse_kept(void)
{
	enter_cgroup();
	set_policy("pressure");
	run_passes();
	metric("vmpte_kept", vmpte(), "kB");
	usleep(AGE);
	try_reclaim("64M");
	metric("vmpte_after", vmpte(), "kB");
	set_policy("eager");
	leave_cgroup();
}
