// SPDX-License-Identifier: GPL-2.0-only
/*
 * The event that counts L2 misses, which perf has no common name for: see measure_events.h.
 *
 * The numbers are those of the processors' makers, as Linux's tools/perf/pmu-events/arch has
 * them:
 *
 * Intel	L2_RQSTS.MISS, event 0x24, mask 0x3f, in x86/MODEL/cache.json (Intel's own lists
 *		are in github.com/intel/perfmon); the models are those of x86/mapfile.csv.
 *		Prefetches are counted, too.
 * AMD		L2 cache misses of data and instructions, event 0x64, mask 0x09, in
 *		x86/amdzen1 to amdzen5: l2_cache_req_stat.ic_dc_miss_in_l2.  Prefetches by L2
 *		are not counted.
 * Arm		L2D_CACHE_REFILL, common event 0x17 of the Arm Architecture Reference Manual;
 *		the kernel shows it in sysfs if the processor has it
 *		(drivers/perf/arm_pmuv3.c).
 */
#include <dirent.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "measure_events.h"

#define INTEL_L2_MISS	0x3f24
#define AMD_L2_MISS	0x0964

/* Of family 6: from Haswell on.  Hybrid processors are left out: their cores differ. */
static const unsigned char intel_models[] = {
	0x3c, 0x3f, 0x45, 0x46,			/* Haswell */
	0x3d, 0x47, 0x4f, 0x56,			/* Broadwell */
	0x4e, 0x55, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6,	/* Skylake and what follows it */
	0x6a, 0x6c, 0x7d, 0x7e,			/* Ice Lake */
	0x8c, 0x8d, 0xa7,			/* Tiger Lake, Rocket Lake */
	0x8f, 0xcf,				/* Sapphire Rapids, Emerald Rapids */
	0xad, 0xae,				/* Granite Rapids */
};

static bool is_made_by(const char *vendor)
{
	return !strcmp(field_of(CPUINFO, "vendor_id"), vendor);
}

bool is_intel(void)
{
	return is_made_by("GenuineIntel");
}

static bool is_known_intel(void)
{
	unsigned long family = strtoul(field_of(CPUINFO, "cpu family"), NULL, 10);
	unsigned long model = strtoul(field_of(CPUINFO, "model\t"), NULL, 10);

	for (size_t i = 0; is_intel() && family == 6 && i < ARRAY_SIZE(intel_models); i++)
		if (intel_models[i] == model)
			return true;
	return false;
}

/* Zen, and what follows it. */
static bool is_known_amd(void)
{
	unsigned long family = strtoul(field_of(CPUINFO, "cpu family"), NULL, 10);

	return is_made_by("AuthenticAMD") && (family == 0x17 || family == 0x19 || family == 0x1a);
}

static bool name_event(struct event *event, unsigned int type, u64 config)
{
	static char name[40];

	snprintf(name, sizeof(name), "L2 misses (raw %#llx)", (unsigned long long)config);
	event->name = name;
	event->type = type;
	event->config = config;
	return true;
}

/* Whether the kernel says that this PMU has Arm's event; it shows "event=0x0017". */
static bool has_refill(struct event *event, const char *pmu)
{
	char path[400];
	const char *said;
	u64 config;

	snprintf(path, sizeof(path), PMUS "%s/events/l2d_cache_refill", pmu);
	said = first_line(path);
	if (strncmp(said, "event=", 6))
		return false;
	config = strtoull(said + 6, NULL, 0);
	snprintf(path, sizeof(path), PMUS "%s/type", pmu);
	return name_event(event, strtoul(first_line(path), NULL, 10), config);
}

bool find_l2_misses(struct event *event)
{
	DIR *dir = opendir(PMUS);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.' && has_refill(event, entry->d_name);
	if (dir)
		closedir(dir);
	if (found)
		return true;
	if (is_known_intel())
		return name_event(event, PERF_TYPE_RAW, INTEL_L2_MISS);
	return is_known_amd() && name_event(event, PERF_TYPE_RAW, AMD_L2_MISS);
}
