// SPDX-License-Identifier: GPL-2.0-only
/* The row of a mapped file: see measure.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "../workloads/lib/datafile.h"
#include "measure.h"

static int file = -1;
static int failure;		/* why there is no file */

/* A file without a name; where that is not possible, its name is removed at once. */
void open_file(void)
{
	char path[400];

	file = open(options.dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		snprintf(path, sizeof(path), "%s/swathe-field.XXXXXX", options.dir);
		file = mkostemp(path, O_CLOEXEC);
		if (file >= 0)
			unlink(path);
	}
	failure = errno;
}

static const struct kind {
	unsigned int magic;
	const char *name;
} kinds[] = {
	{ 0xef53, "ext4" }, { 0x58465342, "xfs" }, { 0x9123683e, "btrfs" },
	{ 0xf2f52010, "f2fs" }, { 0x2fc12fc1, "zfs" }, { 0xca451a4e, "bcachefs" },
	{ 0x6969, "nfs" }, { 0x794c7630, "overlay" }, { 0x01021994, "tmpfs" },
};

static const char *file_system(void)
{
	struct statfs fs;

	if (fstatfs(file, &fs))
		return "not told";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].magic == (unsigned int)fs.f_type)
			return kinds[i].name;
	return "unknown";
}

const char *describe_dir(void)
{
	static char text[450];

	snprintf(text, sizeof(text), "%s (%s)", options.dir,
		 file < 0 ? strerror(failure) : file_system());
	return text;
}

/* The first child writes the file. */
static void need_file(size_t len)
{
	struct statfs fs;
	struct stat st;

	if (file < 0)
		skip("no file could be made in %s: %s", options.dir, strerror(failure));
	if (!strcmp(file_system(), "tmpfs"))
		skip("%s is a tmpfs: name a directory on a disk with --dir", options.dir);
	if (fstat(file, &st) || fstatfs(file, &fs))
		skip("the file cannot be looked at: %s", strerror(errno));
	if ((size_t)st.st_size == len)
		return;
	if (fs.f_bavail * (u64)fs.f_bsize < len + 64 * MIB)
		skip("%s has no %zu MiB free", options.dir, len >> 20);
	fill_file(file, len);
}

void page_out_file(const struct row *row, struct sample *sample)
{
	const size_t len = row_len(row);
	char *mem;
	u64 start;

	need_file(len);
	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	read_file(file, len);
	mem = map_file(file, len, MAP_SHARED);
	for (size_t i = 0; i < len; i += PAGE)
		READ_ONCE(mem[i]);
	if (!geteuid())
		sample->folios = take_census(mem, len).folios;

	start = measure_begin();
	advise(mem, len, MADV_PAGEOUT);
	sample->ns = measure_end(start);
	note_gone(sample, len, count_entries(mem, len));
}
