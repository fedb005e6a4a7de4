// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutants: places that break a law of mm/unmap/ on purpose, to show that the tests notice.
 *
 * This file and mutants.h are only in the kernel that the tests boot.  The lab puts them
 * there, and applies mutants/NAME.cocci, which makes the code ask unmap_mutated(NAME).
 *
 * The boot parameter unmap.mutants= and /sys/module/unmap/parameters/mutants take the names
 * of the mutants to switch on, separated by commas; an empty line switches all of them off.
 */
#include <linux/bitmap.h>
#include <linux/moduleparam.h>
#include <linux/panic.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

static const char * const names[NR_UNMAP_MUTANTS] = { UNMAP_MUTANT_NAMES };

static DECLARE_BITMAP(chosen, NR_UNMAP_MUTANTS);

bool unmap_is_mutant(enum unmap_mutant mutant)
{
	return unlikely(test_bit(mutant, chosen));
}

static int find(const char *name, size_t len)
{
	int i;

	for (i = 0; i < NR_UNMAP_MUTANTS; i++) {
		if (strlen(names[i]) == len && !strncmp(names[i], name, len))
			return i;
	}
	return -EINVAL;
}

/* Copies nothing: boot parameters are parsed before there is a slab allocator. */
static int parse(const char *text, unsigned long *mutants)
{
	static const char separators[] = ",\n";
	size_t len;
	int mutant;

	bitmap_zero(mutants, NR_UNMAP_MUTANTS);
	for (; *text; text += len + strspn(text + len, separators)) {
		len = strcspn(text, separators);
		if (!len)
			continue;
		mutant = find(text, len);
		if (mutant < 0)
			return mutant;
		__set_bit(mutant, mutants);
	}
	return 0;
}

static int mutants_set(const char *text, const struct kernel_param *kp)
{
	DECLARE_BITMAP(mutants, NR_UNMAP_MUTANTS);
	int err = parse(text ?: "", mutants);

	/* Panic: a test that ran without the mutant it asked for would prove nothing. */
	if (err && system_state < SYSTEM_RUNNING)
		panic("unmap.mutants: unknown name\n");
	if (err)
		return err;
	if (!bitmap_empty(mutants, NR_UNMAP_MUTANTS))
		add_taint(TAINT_TEST, LOCKDEP_STILL_OK);
	bitmap_copy(chosen, mutants, NR_UNMAP_MUTANTS);
	return 0;
}

static int mutants_get(char *buf, const struct kernel_param *kp)
{
	int i, len = 0;

	for (i = 0; i < NR_UNMAP_MUTANTS; i++)
		len += sysfs_emit_at(buf, len, "%s %d\n", names[i], unmap_is_mutant(i));
	return len;
}

static const struct kernel_param_ops mutants_ops = {
	.set = mutants_set,
	.get = mutants_get,
};

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "unmap."
module_param_cb(mutants, &mutants_ops, NULL, 0600);
