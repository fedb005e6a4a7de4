// SPDX-License-Identifier: GPL-2.0-only
/*
 * The switch: /sys/kernel/mm/unmap/ and the boot parameter unmap=.
 * Documentation/admin-guide/mm/unmap.rst describes both.
 */
#include <linux/ctype.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "knobs.h"
#include "stat.h"
#include "tables/policy.h"

#define UNMAP_ALL_BITS							\
	(BIT(UNMAP_BIT_EVICT) | BIT(UNMAP_BIT_DISCARD) |		\
	 (IS_ENABLED(CONFIG_UNMAP_RELOCATE) ? BIT(UNMAP_BIT_RELOCATE) : 0) |	\
	 (IS_ENABLED(CONFIG_UNMAP_TABLES) ? BIT(UNMAP_BIT_TABLES) : 0) |	\
	 (IS_ENABLED(CONFIG_UNMAP_DROP) ? BIT(UNMAP_BIT_DROP) : 0))

#ifdef CONFIG_UNMAP_DEFAULT_ON
DEFINE_STATIC_KEY_ARRAY_TRUE(unmap_keys, NR_UNMAP_BITS);
#else
DEFINE_STATIC_KEY_ARRAY_FALSE(unmap_keys, NR_UNMAP_BITS);
#endif

/* The maximum length of a run, in entries.  Read once per run, without a lock. */
unsigned int unmap_max_run = MAX_PTRS_PER_PTE;

/*
 * Full page tables are dropped of processes that have not run for that long (0: of all), and once
 * page tables take that share of a group's memory, in percent.  The defaults are explained in the
 * document.
 */
unsigned int unmap_drop_idle_ms = 10000;
unsigned int unmap_drop_share = 5;

/* Serialises writers of "enabled", so that their bits do not mix. */
static DEFINE_MUTEX(unmap_mutex);

static void switch_bits(unsigned int bits)
{
	int bit;

	mutex_lock(&unmap_mutex);
	for (bit = 0; bit < NR_UNMAP_BITS; bit++) {
		if (bits & BIT(bit))
			static_key_enable(&unmap_keys[bit].key);
		else
			static_key_disable(&unmap_keys[bit].key);
	}
	mutex_unlock(&unmap_mutex);
}

static unsigned int bits_in_force(void)
{
	unsigned int bits = 0;
	int bit;

	for (bit = 0; bit < NR_UNMAP_BITS; bit++) {
		if (static_key_enabled(&unmap_keys[bit].key))
			bits |= BIT(bit);
	}
	return bits & UNMAP_ALL_BITS;
}

/* kstrtobool() reads the first character only, so it must not get numbers ("0x8", "10"). */
static int parse_bits(const char *text, unsigned int *bits)
{
	bool all;

	if (isdigit(text[0])) {
		if (kstrtouint(text, 0, bits))
			return -EINVAL;
	} else {
		if (kstrtobool(text, &all))
			return -EINVAL;
		*bits = all ? UNMAP_ALL_BITS : 0;
	}
	return *bits & ~UNMAP_ALL_BITS ? -EINVAL : 0;
}

static int unmap_param_set(const char *text, const struct kernel_param *kp)
{
	unsigned int bits;

	if (!text || parse_bits(text, &bits))
		return -EINVAL;
	switch_bits(bits);
	return 0;
}

static const struct kernel_param_ops unmap_param_ops = {
	.set = unmap_param_set,
};

/* The parameter is "unmap=", without a prefix.  No sysfs file: there is mm/unmap/enabled. */
#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX ""
module_param_cb(unmap, &unmap_param_ops, NULL, 0);

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "0x%04x\n", bits_in_force());
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t len)
{
	unsigned int bits;

	if (parse_bits(buf, &bits))
		return -EINVAL;
	switch_bits(bits);
	/* Tables may have waited for the worker before, for which nothing else would wake it. */
	if (IS_ENABLED(CONFIG_UNMAP_TABLES))
		unmap_worker_policy_changed();
	return len;
}

/* A number that the administrator can set, from @min to @max. */
struct knob {
	struct kobj_attribute attr;
	unsigned int *value;
	unsigned int min, max;
};

static ssize_t knob_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	const struct knob *knob = container_of(attr, struct knob, attr);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*knob->value));
}

static ssize_t knob_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t len)
{
	const struct knob *knob = container_of(attr, struct knob, attr);
	unsigned int value;

	if (kstrtouint(buf, 0, &value) || value < knob->min || value > knob->max)
		return -EINVAL;
	WRITE_ONCE(*knob->value, value);
	return len;
}

#define KNOB(name, from, to)						\
	struct knob name##_knob = {					\
		.attr = __ATTR(name, 0644, knob_show, knob_store),	\
		.value = &unmap_##name,					\
		.min = from,						\
		.max = to,						\
	}

static KNOB(max_run, 1, MAX_PTRS_PER_PTE);
static KNOB(drop_idle_ms, 0, UINT_MAX);
static KNOB(drop_share, 0, 100);

static ssize_t tables_policy_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	return IS_ENABLED(CONFIG_UNMAP_TABLES) ? unmap_policy_show(buf) :
						 sysfs_emit(buf, "none\n");
}

static ssize_t tables_policy_store(struct kobject *kobj,
				   struct kobj_attribute *attr,
				   const char *buf, size_t len)
{
	int err = IS_ENABLED(CONFIG_UNMAP_TABLES) ? unmap_policy_store(buf) : -EINVAL;

	return err ? err : len;
}

static ssize_t stat_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return unmap_stat_show(buf);
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute tables_policy_attr = __ATTR_RW(tables_policy);
/* Root only: the counters show how much memory of other users comes and goes. */
static struct kobj_attribute stat_attr = __ATTR_RO_MODE(stat, 0400);

static struct attribute *unmap_attrs[] = {
	&enabled_attr.attr,
	&max_run_knob.attr.attr,
	&tables_policy_attr.attr,
	&drop_idle_ms_knob.attr.attr,
	&drop_share_knob.attr.attr,
	&stat_attr.attr,
	NULL,
};

static umode_t unmap_attr_mode(struct kobject *kobj, struct attribute *attr, int index)
{
	bool drops = attr == &drop_idle_ms_knob.attr.attr || attr == &drop_share_knob.attr.attr;

	return drops && !IS_ENABLED(CONFIG_UNMAP_DROP) ? 0 : attr->mode;
}

static const struct attribute_group unmap_group = {
	.is_visible = unmap_attr_mode,
	.attrs = unmap_attrs,
};

static int __init unmap_init(void)
{
	struct kobject *kobj = kobject_create_and_add("unmap", mm_kobj);
	int err;

	if (!kobj)
		return -ENOMEM;
	err = sysfs_create_group(kobj, &unmap_group);
	if (err)
		kobject_put(kobj);
	return err;
}
subsys_initcall(unmap_init);
