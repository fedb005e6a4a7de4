// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts while a workload runs between its marks (include/mark.h).
 *
 *	-plugin profiler.so,mode=MODE,symbols=FILE,out=FILE,arch=x86_64[,caches=…]
 *
 * The plugin writes the counts of the last marked stretch when the workload executes
 * MARK_REPORT.  So the output has one stretch for each workload that succeeded, however
 * many stretches it marked.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "events.h"
#include "insn.h"
#include "modes.h"
#include "symbols.h"

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info,
				      int argc, char **argv);

static const struct mode *mode;
static bool active, counted, is_arm64, modelled;
static unsigned int nr_regions;
static FILE *out;

static void begin(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	mode->begin();
	active = true;
	counted = false;
}

static void start(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (mode->start)
		mode->start();
}

static void end(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (!active)
		return;
	mode->end();
	active = false;
	counted = true;
}

static void report(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	if (!counted)
		return;
	counted = false;
	fprintf(out, "region %u\n", nr_regions++);
	mode->print(out);
	fprintf(out, "end\n");
	fflush(out);
}

static void watch_mark(struct qemu_plugin_insn *insn)
{
	unsigned int kind = decode_insn(insn);
	plugin_executed_cb cb = kind & INSN_BEGIN ? begin :
				kind & INSN_END ? end :
				kind & INSN_REPORT ? report :
				kind & INSN_START ? start : NULL;

	if (cb)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, NULL);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	(void)id;
	mode->translated(tb);
	for (i = 0; i < nr; i++)
		watch_mark(qemu_plugin_tb_get_insn(tb, i));
}

static void finished(qemu_plugin_id_t id, void *data)
{
	(void)id;
	(void)data;
	fclose(out);
}

/* "KEY=VALUE": the value if the key is this one. */
static const char *option(const char *arg, const char *key)
{
	size_t len = strlen(key);

	return !strncmp(arg, key, len) && arg[len] == '=' ? arg + len + 1 : NULL;
}

static const struct mode *find_mode(const char *name)
{
	static const struct mode *const modes[] = {
		&calls_mode, &count_mode, &memory_mode, &locks_mode, NULL
	};

	for (size_t i = 0; modes[i]; i++)
		if (!strcmp(name, modes[i]->name))
			return modes[i];
	return NULL;
}

static bool take_option(const char *arg)
{
	const char *name = option(arg, "mode"), *symbols = option(arg, "symbols");
	const char *path = option(arg, "out"), *arch = option(arg, "arch");
	const char *caches = option(arg, "caches");

	if (name)
		mode = find_mode(name);
	if (path)
		out = fopen(path, "w");
	if (arch)
		is_arm64 = !strcmp(arch, "arm64");
	if (caches)
		modelled = memory_caches(caches);
	return (name && mode) || (path && out) || (symbols && symbols_read(symbols) > 1) ||
	       (arch && decode_for(arch)) || (caches && modelled);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	const char *missing;
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!take_option(argv[i])) {
			fprintf(stderr, "profiler: cannot use %s\n", argv[i]);
			return -1;
		}
	}
	if (!mode || !out)
		return -1;
	if (mode == &memory_mode && (is_arm64 || !modelled)) {
		fprintf(stderr, "profiler: mode memory is for x86_64, and needs caches=\n");
		return -1;
	}
	missing = events_find(is_arm64);
	if (missing) {
		fprintf(stderr, "profiler: the kernel has no function that counts as %s\n",
			missing);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finished, NULL);
	return 0;
}
