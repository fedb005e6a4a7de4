// SPDX-License-Identifier: GPL-2.0-only
/* The size of new folios, and khugepaged: see unmap_util.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "unmap_util.h"

#define THP_SYSFS	"/sys/kernel/mm/transparent_hugepage/"

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

static void remember_size(const char *path)
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
	remember_size(path);
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

/*
 * khugepaged may scan this process at any time.  It would collapse 2 MiB with a few
 * swapped-out pages into one folio, which no test expects.
 */
void khugepaged_rests(void)
{
	set_khugepaged("max_ptes_swap", 0);
	set_khugepaged("scan_sleep_millisecs", 3600 * 1000);
}

long long folio_stat(unsigned long kib, const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), THP_SYSFS "hugepages-%lukB/stats/%s", kib, name);
	return read_field(path, "");
}
