// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU's side of the plugin interface, as far as profiler/ uses it: translates and
 * executes one block after the other, read from standard input.
 *
 *	block CPU
 *	ADDRESS BYTES [r|w ADDRESS]	an instruction, and what it reads or writes
 *	run
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

#define MAX_CALLS	4

struct call {
	plugin_executed_cb fn;
	void *data;
};

struct qemu_plugin_insn {
	uint64_t addr, vaddr;
	uint8_t bytes[16];
	size_t len;
	char does;	/* r or w */
	struct call calls[MAX_CALLS];
	size_t nr_calls;
	plugin_mem_cb mem;
	void *mem_data;
};

struct qemu_plugin_tb {
	unsigned int cpu;
	size_t nr;
	struct qemu_plugin_insn insns[16];
	struct call call;
};

extern int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

static plugin_translated_cb translate;
static plugin_exit_cb at_exit;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, plugin_translated_cb cb)
{
	(void)id;
	translate = cb;
}

void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, plugin_exit_cb cb, void *data)
{
	(void)id;
	(void)data;
	at_exit = cb;
}

void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, plugin_executed_cb cb,
					  enum qemu_plugin_cb_flags flags, void *data)
{
	(void)flags;
	tb->call = (struct call){ cb, data };
}

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, plugin_executed_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data)
{
	(void)flags;
	if (insn->nr_calls == MAX_CALLS)
		abort();
	insn->calls[insn->nr_calls++] = (struct call){ cb, data };
}

void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, plugin_mem_cb cb,
				      enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *data)
{
	(void)flags;
	if (rw != QEMU_PLUGIN_MEM_RW)
		abort();
	insn->mem = cb;
	insn->mem_data = data;
}

bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info == 'w';
}

/* Physical memory is what is mapped at 0. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
	(void)info;
	return (struct qemu_plugin_hwaddr *)vaddr;
}

uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *where)
{
	return (uint64_t)where;
}

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	return tb->nr;
}

struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i)
{
	return (struct qemu_plugin_insn *)&tb->insns[i];
}

uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->addr;
}

size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return insn->len;
}

#if PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len)
{
	memcpy(dest, insn->bytes, len);
	return len;
}
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}
#endif

static void add_insn(struct qemu_plugin_tb *tb, char *line)
{
	struct qemu_plugin_insn *insn = &tb->insns[tb->nr++];
	char hex[33], how = 0;
	unsigned int byte;

	if (tb->nr > 16 ||
	    sscanf(line, "%lx %32s %c %lx", &insn->addr, hex, &how, &insn->vaddr) < 2)
		abort();
	insn->does = how;
	for (; sscanf(hex + 2 * insn->len, "%2x", &byte) == 1; insn->len++)
		insn->bytes[insn->len] = byte;
}

static void execute(struct qemu_plugin_tb *tb)
{
	if (tb->call.fn)
		tb->call.fn(tb->cpu, tb->call.data);
	for (size_t i = 0; i < tb->nr; i++) {
		struct qemu_plugin_insn *insn = &tb->insns[i];

		for (size_t j = 0; j < insn->nr_calls; j++)
			insn->calls[j].fn(tb->cpu, insn->calls[j].data);
		if (insn->mem && insn->does)
			insn->mem(tb->cpu, insn->does, insn->vaddr, insn->mem_data);
	}
}

int main(int argc, char **argv)
{
	struct qemu_plugin_tb tb = { 0 };
	char line[200];

	if (qemu_plugin_install(1, NULL, argc - 1, argv + 1))
		return 1;
	while (fgets(line, sizeof(line), stdin)) {
		if (!strncmp(line, "block ", 6)) {
			memset(&tb, 0, sizeof(tb));
			tb.cpu = atoi(line + 6);
		} else if (!strcmp(line, "run\n")) {
			translate(1, &tb);
			execute(&tb);
		} else {
			add_insn(&tb, line);
		}
	}
	if (at_exit)
		at_exit(1, NULL);
	return 0;
}
