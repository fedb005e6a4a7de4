// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the instructions of each kernel function, by call path.
 *
 * The unit is QEMU's translation block: straight code that ends with a jump.  After a
 * block that ends with a call, the next block belongs to a callee.  After a block that
 * ends with a return, the next block belongs to the caller whose return address it is.
 * Any other change of function is a tail call or an interrupt, and becomes a child of the
 * same caller.
 *
 * Code that enters the kernel from user space, by a call or an interrupt, begins at the root:
 * no kernel function waits below it.  A program's own calls are one node.  If they were
 * followed, a fault in the middle of a block that calls would leave its caller waiting for
 * ever, and the tree would be as deep as there are faults.
 *
 * Every task has a call stack of its own.  A CPU's current task is learned in the function
 * that switches stacks: its first load is from the next task's structure.
 *
 * An instruction of x86 that reaches into the next page is a block of its own.  QEMU 7.2 finds that
 * out when it has listed it in the block before, too: it is taken from that one's counts.
 *
 * A block that faults half-way counts as a whole, and again when it is restarted: the sum
 * exceeds the guest's clock by a few parts in a thousand.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "events.h"
#include "insn.h"
#include "modes.h"
#include "symbols.h"
#include "tree.h"

#define MAX_DEPTH	256
#define NR_LISTS	256

/* One translation block. */
struct block {
	uint64_t addr;
	uint64_t next;		/* the address behind it */
	unsigned int symbol;
	unsigned int ends;	/* INSN_CALL, INSN_RETURN, or 0 */
	bool enters;		/* is the first block of its function */
	bool first;		/* is the first block that a new task executes */
	bool crosses;		/* its first instruction reaches into the next page */
	uint64_t last;		/* the address of its last instruction */
	struct counts adds, last_adds;
};

struct frame {
	struct node *node;
	uint64_t waits_at;
};

struct task {
	uint64_t id;			/* where its stack pointer is kept */
	struct task *next;
	struct node *node;		/* the function it executes; NULL: not yet known */
	const struct block *last;
	unsigned int depth;
	struct frame frames[MAX_DEPTH];
};

struct cpu {
	uint64_t runs;			/* the task's id; up to MAX_CPUS: not yet known */
	struct task *task;		/* the same task; NULL: to be looked up */
	bool switches;			/* stacks, and has not loaded the next one yet */
};

static struct node root;
static struct task *tasks[NR_LISTS];
static struct cpu cpus[MAX_CPUS];
static bool active;

static struct task **list_of(uint64_t id)
{
	return &tasks[(id * 0x9e3779b97f4a7c15ull) >> 56];
}

static struct task *find_task(uint64_t id)
{
	struct task *task, **list = list_of(id);

	for (task = *list; task; task = task->next)
		if (task->id == id)
			return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		abort();
	task->id = id;
	task->next = *list;
	*list = task;
	return task;
}

static struct cpu *cpu_of(unsigned int index)
{
	struct cpu *cpu = &cpus[index % MAX_CPUS];

	if (!cpu->runs)
		cpu->runs = 1 + index % MAX_CPUS;
	return cpu;
}

static struct task *task_of(struct cpu *cpu)
{
	if (!cpu->task)
		cpu->task = find_task(cpu->runs);
	return cpu->task;
}

static void forget_tasks(void)
{
	struct task *task, *next;

	for (unsigned int i = 0; i < NR_LISTS; i++) {
		for (task = tasks[i]; task; task = next) {
			next = task->next;
			free(task);
		}
		tasks[i] = NULL;
	}
	for (unsigned int i = 0; i < MAX_CPUS; i++)
		cpus[i].task = NULL;
}

static void call(struct task *task, const struct block *block)
{
	/* Deeper than any kernel stack: returns were missed, and no caller waits. */
	if (task->depth == MAX_DEPTH) {
		task->depth = 0;
		task->node = tree_child(&root, task->node->symbol);
	}
	task->frames[task->depth].node = task->node;
	task->frames[task->depth].waits_at = task->last->next;
	task->depth++;
	task->node = tree_child(task->node, block->symbol);
	task->node->self.calls++;
}

/* Return to the caller that waits at this address; false if there is none. */
static bool pop(struct task *task, uint64_t addr)
{
	unsigned int depth;

	for (depth = task->depth; depth > 0; depth--) {
		if (task->frames[depth - 1].waits_at != addr)
			continue;
		task->depth = depth - 1;
		task->node = task->frames[depth - 1].node;
		return true;
	}
	return false;
}

static void jump(struct task *task, const struct block *block)
{
	struct node *caller = task->node && task->node->parent ? task->node->parent : &root;

	if (task->node && task->node->symbol == block->symbol)
		return;
	task->node = tree_child(caller, block->symbol);
	task->node->self.calls += block->enters;
}

/* Follow a block that enters user space or leaves it. */
static void cross(struct task *task, const struct block *block)
{
	task->depth = 0;
	task->node = tree_child(&root, block->symbol);
	task->node->self.calls += block->enters;
}

static void follow(struct task *task, const struct block *block)
{
	unsigned int how = task->last ? task->last->ends : 0;

	if (block->symbol == SYMBOL_USER || (task->node && task->node->symbol == SYMBOL_USER))
		cross(task, block);
	else if (how == INSN_CALL && task->node)
		call(task, block);
	else if (how != INSN_RETURN || !pop(task, block->addr))
		jump(task, block);
	task->last = block;
}

/* Forget a task's calls: a new task may reuse the structure of one that has ended. */
static void forget_calls(struct task *task)
{
	task->node = NULL;
	task->last = NULL;
	task->depth = 0;
}

static void add(struct counts *sum, const struct counts *adds)
{
	sum->instructions += adds->instructions;
	sum->atomics += adds->atomics;
	sum->flushes_one += adds->flushes_one;
	sum->flushes_all += adds->flushes_all;
}

static void take_away(struct counts *sum, const struct counts *adds)
{
	sum->instructions -= adds->instructions;
	sum->atomics -= adds->atomics;
	sum->flushes_one -= adds->flushes_one;
	sum->flushes_all -= adds->flushes_all;
}

static void executed(unsigned int index, void *data)
{
	const struct block *block = data;
	struct task *task;

	if (!active)
		return;
	task = task_of(cpu_of(index));
	if (block->first)
		forget_calls(task);
	if (block->crosses && task->last && task->last->last == block->addr)
		take_away(&task->node->self, &task->last->last_adds);
	follow(task, block);
	add(&task->node->self, &block->adds);
}

static void switch_begins(unsigned int index, void *data)
{
	(void)data;
	cpu_of(index)->switches = true;
}

static void switch_accesses(unsigned int index, qemu_plugin_meminfo_t info, uint64_t vaddr,
			    void *data)
{
	struct cpu *cpu = cpu_of(index);

	(void)data;
	if (!cpu->switches || qemu_plugin_mem_is_store(info))
		return;
	cpu->switches = false;
	cpu->runs = vaddr;
	cpu->task = NULL;
}

static void watch_switch(struct qemu_plugin_insn *insn, bool first)
{
	if (first)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, switch_begins,
						       QEMU_PLUGIN_CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_mem_cb(insn, switch_accesses, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, NULL);
}

static bool switches_stacks(unsigned int symbol)
{
	const char *name = symbol_name(symbol);

	return !strcmp(name, "__switch_to_asm") || !strcmp(name, "cpu_switch_to");
}

static bool begins_tasks(unsigned int symbol)
{
	const char *name = symbol_name(symbol);

	return !strcmp(name, "ret_from_fork_asm") || !strcmp(name, "ret_from_fork");
}

static bool reaches_into_next_page(const struct qemu_plugin_insn *insn)
{
	return qemu_plugin_insn_vaddr(insn) % 4096 + qemu_plugin_insn_size(insn) > 4096;
}

/* arm64: a remote flush is counted by what it flushes, one page or all. */
static void add_insn(struct block *block, const struct qemu_plugin_insn *insn)
{
	unsigned int kind = decode_insn(insn);
	uint64_t addr = qemu_plugin_insn_vaddr(insn);
	unsigned int events = events_of(kind, addr);

	block->last = addr;
	block->next = addr + qemu_plugin_insn_size(insn);
	block->ends = kind & (INSN_CALL | INSN_RETURN);
	block->last_adds = (struct counts){
		.instructions = 1,
		.atomics = !!(events & 1u << EVENT_ATOMIC),
		.flushes_one = kind & INSN_REMOTE ? !!(kind & INSN_FLUSH_ONE) :
						    !!(events & 1u << EVENT_TLB_SINGLE),
		.flushes_all = kind & INSN_REMOTE ? !!(kind & INSN_FLUSH_ALL) :
						    !!(events & 1u << EVENT_TLB_FULL),
	};
	add(&block->adds, &block->last_adds);
}

/* QEMU may translate the same code again: blocks are never freed, counts are in the tree. */
static void translated(struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);
	struct block *block = calloc(1, sizeof(*block));

	if (!block)
		abort();
	block->addr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	block->symbol = symbol_at(block->addr);
	block->enters = block->addr == symbol_start(block->symbol);
	block->first = block->enters && begins_tasks(block->symbol);
	block->crosses = reaches_into_next_page(qemu_plugin_tb_get_insn(tb, 0));
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		add_insn(block, insn);
		if (switches_stacks(block->symbol))
			watch_switch(insn, block->enters && !i);
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void begin(void)
{
	forget_tasks();
	tree_clear(&root);
	active = true;
}

static void end(void)
{
	active = false;
}

static void print(FILE *out)
{
	tree_print(&root, out);
}

const struct mode calls_mode = {
	.name = "calls",
	.translated = translated,
	.begin = begin,
	.end = end,
	.print = print,
};
