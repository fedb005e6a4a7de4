// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that arranges races: it stops a virtual processor at an instruction until another
 * one has executed a second instruction.
 *
 *	-plugin gate.so,gates=FILE,out=FILE,arch=x86_64
 *
 * Gates work between a program's marks (include/mark.h): MARK_BEGIN and MARK_END are around a
 * round, MARK_REPORT comes when the program ends.  Needs processors that run in parallel.
 */
#include <stdio.h>
#include <string.h>

#include "../profiler/decode.h"
#include "../profiler/insn.h"
#include "../profiler/plugin.h"
#include "gate.h"

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info,
				      int argc, char **argv);

static void begins(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	gate_begin();
}

static void ends(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	gate_end();
}

static void reports(unsigned int cpu, void *data)
{
	(void)cpu;
	(void)data;
	gate_report_ends();
}

static void watch(struct qemu_plugin_insn *insn, plugin_executed_cb cb, void *data)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, QEMU_PLUGIN_CB_NO_REGS, data);
}

static void watch_mark(struct qemu_plugin_insn *insn, unsigned int kind)
{
	if (kind & INSN_BEGIN)
		watch(insn, begins, NULL);
	if (kind & INSN_END)
		watch(insn, ends, NULL);
	if (kind & INSN_REPORT)
		watch(insn, reports, NULL);
}

/* Which place of @until: a function each, since callbacks get one pointer. */
#define PASSES(place)								\
	static void passes_ ## place(unsigned int cpu, void *data)		\
	{									\
		gate_pass(cpu, place, data);					\
	}

PASSES(0)
PASSES(1)
PASSES(2)
PASSES(3)

static const plugin_executed_cb passes[PLACES_MAX] = {
	passes_0, passes_1, passes_2, passes_3,
};

static bool is_place(struct place *place, const struct qemu_plugin_insn *insn, unsigned int kind)
{
	uint64_t addr = qemu_plugin_insn_vaddr(insn);

	if (place->end)
		return addr >= place->addr && addr < place->end && kind & INSN_RETURN;
	if (addr < place->addr && place->addr < addr + qemu_plugin_insn_size(insn))
		place->split = true;
	place->met |= addr == place->addr;
	return addr == place->addr;
}

/* Whoever comes to a place that stops and opens gates opens the others first. */
static void watch_places(struct qemu_plugin_insn *insn, unsigned int kind)
{
	unsigned int i, place;

	for (i = 0; i < nr_gates; i++)
		for (place = 0; place < gates[i].nr_until; place++)
			if (is_place(&gates[i].until[place], insn, kind))
				watch(insn, passes[place], &gates[i]);
	for (i = 0; i < nr_gates; i++) {
		if (is_place(&gates[i].since, insn, kind))
			watch(insn, gate_since, &gates[i]);
		if (is_place(&gates[i].stop, insn, kind))
			watch(insn, gate_stop, &gates[i]);
	}
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		unsigned int kind = decode_insn(insn);

		watch_places(insn, kind);
		watch_mark(insn, kind);
	}
}

static bool read_gates(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024];
	bool right = file;

	while (right && fgets(line, sizeof(line), file))
		right = gate_read(line);
	if (file)
		fclose(file);
	return right && nr_gates;
}

static bool has_report;

static bool take_option(const char *arg)
{
	if (!strncmp(arg, "gates=", 6))
		return read_gates(arg + 6);
	if (!strncmp(arg, "out=", 4)) {
		FILE *out = fopen(arg + 4, "w");

		gate_report_to(out);
		has_report = out;
		return out;
	}
	return !strncmp(arg, "arch=", 5) && decode_for(arg + 5);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!take_option(argv[i])) {
			fprintf(stderr, "gate: cannot use %s\n", argv[i]);
			return -1;
		}
	}
	if (!nr_gates || !has_report) {
		fprintf(stderr, "gate: wants gates=FILE and out=FILE\n");
		return -1;
	}
	gate_report();
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
