// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts, between two markers in the guest's instructions,
 * what each kernel function executes and who called it.
 *
 *	-plugin profile.so,symbols=FILE,out=FILE,arch=x86_64
 *
 * Works on translation blocks: straight stretches of code that end with a jump.
 * A block whose last instruction calls makes the next one a callee; one that
 * returns makes it whoever waits at that address.  Everything else that lands
 * in another function is a tail call or an interrupt, and is hung below the
 * same caller.
 *
 * A block that faults half-way counts in whole, and once more when it is
 * resumed: the sum exceeds the guest's clock by a few parts in a thousand.
 *
 * For -icount, where all CPUs share one thread: nothing here is locked.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "plugin.h"
#include "symbols.h"
#include "tree.h"

#define MAX_CPUS	64
#define MAX_DEPTH	256

PLUGIN_EXPORT int qemu_plugin_version = PLUGIN_API;
PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info,
				      int argc, char **argv);

/* One translation block. */
struct block {
	uint64_t addr;
	uint64_t next;		/* the address behind it */
	unsigned int symbol;
	unsigned int ends;	/* INSN_CALL or INSN_RETURN, if it does so */
	unsigned int marks;	/* INSN_BEGIN or INSN_END, if it has one */
	struct counts adds;
};

struct frame {
	struct node *node;
	uint64_t waits_at;
};

struct cpu {
	struct node *node;		/* what it executes, NULL: not yet known */
	const struct block *last;
	unsigned int depth;
	struct frame frames[MAX_DEPTH];
};

static struct node root;
static struct cpu cpus[MAX_CPUS];
static bool active, is_arm64;
static unsigned int nr_regions;
static FILE *out;

static unsigned int decode(const struct qemu_plugin_insn *insn)
{
	size_t len = qemu_plugin_insn_size(insn);
	uint8_t bytes[16] = { 0 };
	uint32_t word;

	if (len > sizeof(bytes))
		len = sizeof(bytes);
#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, bytes, len);
#else
	memcpy(bytes, qemu_plugin_insn_data(insn), len);
#endif
	if (!is_arm64)
		return decode_x86(bytes, len);
	memcpy(&word, bytes, sizeof(word));
	return decode_arm64(word);
}

static void add_insn(struct block *block, const struct qemu_plugin_insn *insn)
{
	unsigned int kind = decode(insn);

	block->next = qemu_plugin_insn_vaddr(insn) + qemu_plugin_insn_size(insn);
	block->ends = kind & (INSN_CALL | INSN_RETURN);
	block->marks |= kind & (INSN_BEGIN | INSN_END);
	block->adds.instructions++;
	block->adds.atomics += !!(kind & INSN_ATOMIC);
	block->adds.flushes_one += !!(kind & INSN_FLUSH_ONE);
	block->adds.flushes_all += !!(kind & INSN_FLUSH_ALL);
}

static void push(struct cpu *cpu)
{
	/* Deeper than any kernel stack: forget the outermost half. */
	if (cpu->depth == MAX_DEPTH) {
		cpu->depth /= 2;
		memmove(cpu->frames, cpu->frames + cpu->depth,
			cpu->depth * sizeof(cpu->frames[0]));
	}
	cpu->frames[cpu->depth].node = cpu->node;
	cpu->frames[cpu->depth].waits_at = cpu->last->next;
	cpu->depth++;
}

/* Back to whoever waits at this address; false if nobody does. */
static bool pop(struct cpu *cpu, uint64_t addr)
{
	unsigned int depth;

	for (depth = cpu->depth; depth > 0; depth--) {
		if (cpu->frames[depth - 1].waits_at != addr)
			continue;
		cpu->depth = depth - 1;
		cpu->node = cpu->frames[depth - 1].node;
		return true;
	}
	return false;
}

static void jump(struct cpu *cpu, unsigned int symbol)
{
	struct node *caller = cpu->node && cpu->node->parent ? cpu->node->parent : &root;

	if (!cpu->node || cpu->node->symbol != symbol)
		cpu->node = tree_child(caller, symbol);
}

static void follow(struct cpu *cpu, const struct block *block)
{
	unsigned int how = cpu->last ? cpu->last->ends : 0;

	if (how == INSN_CALL && cpu->node) {
		push(cpu);
		cpu->node = tree_child(cpu->node, block->symbol);
		cpu->node->self.calls++;
	} else if (how != INSN_RETURN || !pop(cpu, block->addr)) {
		jump(cpu, block->symbol);
	}
	cpu->last = block;
}

static void add(struct counts *sum, const struct counts *adds)
{
	sum->instructions += adds->instructions;
	sum->atomics += adds->atomics;
	sum->flushes_one += adds->flushes_one;
	sum->flushes_all += adds->flushes_all;
}

static void begin(void)
{
	memset(cpus, 0, sizeof(cpus));
	active = true;
}

static void end(void)
{
	active = false;
	fprintf(out, "region %u\n", nr_regions++);
	tree_print(&root, out);
	fprintf(out, "end\n");
	fflush(out);
	tree_clear(&root);
}

static void executed(unsigned int index, void *data)
{
	const struct block *block = data;
	struct cpu *cpu = &cpus[index % MAX_CPUS];

	if (active && !block->marks) {
		follow(cpu, block);
		add(&cpu->node->self, &block->adds);
	} else if (block->marks & INSN_BEGIN) {
		begin();
	} else if (active && block->marks & INSN_END) {
		end();
	}
}

/* QEMU may translate the same code again: what was counted stays in the tree. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);
	struct block *block = calloc(1, sizeof(*block));

	(void)id;
	if (!block)
		abort();
	block->addr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	block->symbol = symbol_at(block->addr);
	for (i = 0; i < nr; i++)
		add_insn(block, qemu_plugin_tb_get_insn(tb, i));
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
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

static bool take_option(const char *arg)
{
	const char *value;

	if ((value = option(arg, "symbols")))
		return symbols_read(value) > 1;
	if ((value = option(arg, "out")))
		return (out = fopen(value, "w"));
	if ((value = option(arg, "arch")))
		return (is_arm64 = !strcmp(value, "arm64")) || !strcmp(value, "x86_64");
	return false;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!take_option(argv[i])) {
			fprintf(stderr, "profile: cannot use %s\n", argv[i]);
			return -1;
		}
	}
	if (!out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, finished, NULL);
	return 0;
}
