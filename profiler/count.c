// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts events only.  Only instructions that are events have a callback, so the guest
 * runs at nearly its usual speed.
 */
#include <stdbool.h>
#include <string.h>

#include "events.h"
#include "insn.h"
#include "modes.h"

static bool active;
static uint64_t counts[NR_EVENTS];

static void executed(unsigned int cpu, void *data)
{
	unsigned int mask = (uintptr_t)data;

	(void)cpu;
	if (!active)
		return;
	for (; mask; mask &= mask - 1)
		counts[__builtin_ctz(mask)]++;
}

static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	(void)data;
	if (active && qemu_plugin_mem_is_store(info) && events_sends(vaddr))
		counts[EVENT_IPI]++;
}

static void watch(struct qemu_plugin_insn *insn)
{
	uint64_t addr = qemu_plugin_insn_vaddr(insn);
	uintptr_t mask = events_of(decode_insn(insn), addr);

	if (mask)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS,
						       (void *)mask);
	if (events_may_send(addr))
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
}

static void translated(struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);

	for (i = 0; i < nr; i++)
		watch(qemu_plugin_tb_get_insn(tb, i));
}

static void begin(void)
{
	memset(counts, 0, sizeof(counts));
	active = true;
}

static void end(void)
{
	active = false;
}

static void print(FILE *out)
{
	for (int i = 0; i < NR_EVENTS; i++)
		fprintf(out, "%s %llu\n", event_names[i], (unsigned long long)counts[i]);
}

const struct mode count_mode = {
	.name = "count",
	.translated = translated,
	.begin = begin,
	.end = end,
	.print = print,
};
