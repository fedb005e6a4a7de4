// SPDX-License-Identifier: GPL-2.0-only
/* The size of new folios, and khugepaged: see unmap_util.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "unmap_util.h"

#define THP_SYSFS	"/sys/kernel/mm/transparent_hugepage/"
#define SCANS		THP_SYSFS "khugepaged/full_scans"

static struct {
	char path[160];
	char value[16];
} settings_before[64];
static int nr_settings;

static void remember(const char *path, const char *value)
{
	if (nr_settings == 64)
		return;
	snprintf(settings_before[nr_settings].path, sizeof(settings_before[0].path), "%s", path);
	snprintf(settings_before[nr_settings].value, sizeof(settings_before[0].value), "%s",
		 value);
	nr_settings++;
}

static void remember_mode(const char *path)
{
	char text[128], *mode, *end;

	if (!read_text(path, text, sizeof(text)))
		return;
	mode = strchr(text, '[');
	end = strchr(text, ']');
	if (!mode || !end || end - mode > 15)
		return;
	*end = '\0';
	remember(path, mode + 1);
}

static bool set_one_size(const char *dir, const char *file, bool wanted)
{
	char path[160];

	snprintf(path, sizeof(path), THP_SYSFS "%.40s/%s", dir, file);
	if (access(path, W_OK))
		return false;
	remember_mode(path);
	return write_text(path, wanted ? "always" : "never") && wanted;
}

bool folio_size_set(unsigned long kib)
{
	DIR *dir = opendir(THP_SYSFS);
	bool found = kib * KIB == PAGE;
	struct dirent *entry;
	char wanted[64];
	bool match;

	if (!dir)
		return found;
	snprintf(wanted, sizeof(wanted), "hugepages-%lukB", kib);
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "hugepages-", 10))
			continue;
		match = !strcmp(entry->d_name, wanted);
		found |= set_one_size(entry->d_name, "enabled", match);
		set_one_size(entry->d_name, "shmem_enabled", match);
	}
	closedir(dir);
	return found;
}

void folio_size_restore(void)
{
	while (nr_settings) {
		nr_settings--;
		write_text(settings_before[nr_settings].path,
			   settings_before[nr_settings].value);
	}
}

static void set_khugepaged(const char *file, unsigned long value)
{
	char path[160], before[16];

	snprintf(path, sizeof(path), THP_SYSFS "khugepaged/%s", file);
	if (!read_text(path, before, sizeof(before)))
		return;
	remember(path, before);
	write_number(path, value);
}

/* Whether khugepaged runs if folios of @kib KiB are enabled, and no others. */
static bool khugepaged_runs(unsigned long kib)
{
	return kib * KIB >= (kernel_before(7, 0) ? PMD : 2 * PAGE);
}

/*
 * khugepaged sleeps, but scans the first process that it learns of at once, and collapses
 * what it can, of files, too: let it scan this process while there is nothing to collapse.
 */
static void scan_nothing(void)
{
	char *mem = map_aligned(PMD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	long long scans = read_field(SCANS, "");

	if (mem == MAP_FAILED)
		return;
	madvise(mem, PMD, MADV_HUGEPAGE);
	WRITE_ONCE(*mem, 1);
	set_khugepaged("scan_sleep_millisecs", 3600 * 1000);	/* wakes it */
	for (int i = 0; i < 100 && read_field(SCANS, "") == scans; i++)
		usleep(10000);
	munmap(mem, PMD);
}

/* The mode for files, and for sizes that inherit it. */
static void never_huge(void)
{
	remember_mode(THP_SYSFS "enabled");
	write_text(THP_SYSFS "enabled", "never");
}

void khugepaged_rests(unsigned long kib)
{
	set_khugepaged("max_ptes_swap", 0);
	never_huge();
	if (khugepaged_runs(kib))
		scan_nothing();
}

long long folio_stat(unsigned long kib, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), THP_SYSFS "hugepages-%lukB/stats/%s", kib, name);
	return read_field(path, "");
}
