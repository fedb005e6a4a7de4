// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measures how long locks are held, in instructions, and the longest stretches without
 * preemption and without interrupts.  x86-64, one CPU.
 *
 * A lock is taken by the first cmpxchg or xadd of a function that takes locks: its address
 * is the lock's.  On one CPU this update fails only where another task holds a lock that
 * sleeps; a trylock that finds a spinlock held returns before it.  The compiler inlines
 * the release of a spinlock, a store of one byte: such a store to a held lock releases it.
 *
 * Preemption is off while a lock that spins is held.  A kernel that does not count how often
 * preemption was disabled leaves no other trace of it: preempt_disable() and RCU's read side
 * are not seen, nor are bit spinlocks, semaphores and per-CPU rwsems.
 *
 * Interrupts are off from cli, from the entry of a system call, an interrupt or an exception;
 * they are on from sti, iret and in user space.  popf is not followed: the kernel restores
 * flags by sti.  Stretches in an interrupt of the kernel do not count, nor does the first one
 * in an interrupt of a program: they come by chance.
 *
 * A kernel that preempts itself could leave an interrupt for another task: not followed.
 */
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "held.h"
#include "insn.h"
#include "modes.h"
#include "stretch.h"
#include "symbols.h"

#define MAX_LEVELS	8

/* What the first update of the functions with this prefix does to its lock. */
struct lock_function {
	const char *prefix;
	unsigned int how;
	void (*releases)(uint64_t addr);	/* NULL: it takes the lock */
};

static const struct lock_function lock_functions[] = {
	{ "_raw_spin_lock", 0, NULL },
	{ "_raw_spin_trylock", LOCK_TRIES, NULL },
	{ "_raw_write_lock", 0, NULL },
	{ "_raw_write_trylock", LOCK_TRIES, NULL },
	{ "_raw_read_lock", LOCK_SHARED, NULL },
	{ "_raw_read_trylock", LOCK_SHARED | LOCK_TRIES, NULL },
	{ "down_read_trylock", LOCK_SLEEPS | LOCK_SHARED | LOCK_TRIES, NULL },
	{ "down_read", LOCK_SLEEPS | LOCK_SHARED, NULL },
	{ "down_write_trylock", LOCK_SLEEPS | LOCK_TRIES, NULL },
	{ "down_write", LOCK_SLEEPS, NULL },
	{ "mutex_trylock", LOCK_SLEEPS | LOCK_TRIES, NULL },
	{ "mutex_lock", LOCK_SLEEPS, NULL },
	{ "up_read", 0, held_release },
	{ "up_write", 0, held_release },
	{ "mutex_unlock", 0, held_release },
	{ "downgrade_write", 0, held_downgrade },
	{ NULL, 0, NULL },
};

/* These initialise the lock of the page table that they allocate. */
static const char *const initialisers[] = {
	"pte_alloc_one", "pte_alloc_one_noprof", "__pmd_alloc", "pmd_alloc_one",
	"pmd_alloc_one_noprof", NULL
};

/* These take locks for their callers, who are told, too. */
static const char *const agents[] = {
	"__pte_offset_map_lock", "pte_offset_map_lock", "__pmd_trans_huge_lock",
	"folio_lruvec_lock", "folio_lruvec_lock_irq", "folio_lruvec_lock_irqsave",
	"folio_lock_anon_vma_read", NULL
};

enum entry { ENTRY_NONE, ENTRY_EXCEPTION, ENTRY_INTERRUPT };

/* One translation block. */
struct block {
	unsigned int symbol;
	unsigned int nr;			/* of its instructions */
	const struct lock_function *function;	/* that it belongs to, or NULL */
	bool starts;				/* is the first block of its function */
	bool initialises;
	bool starts_agent;
	enum entry entry;
	bool returns;				/* ends with iret */
};

/* An instruction that may take or release a lock, or mask interrupts. */
struct site {
	const struct block *block;
	unsigned int index;
	unsigned int kind;
};

/* What runs: level 0, an interrupt of it, an exception in that. */
struct context {
	const struct block *last;
	const struct lock_function *armed;	/* called, and did not update its lock yet */
	path_t caller;				/* of the last such function */
	unsigned int agent, client;		/* the last one, and its caller */
};

static struct context contexts[MAX_LEVELS];
static unsigned int level;
static struct stretch masked;
static bool masked_by_chance;
static struct sums masked_sums;
static uint64_t began, ended;
static bool active;

static void mask(path_t who, bool by_chance)
{
	if (masked.runs)
		return;
	stretch_begin(&masked, who);
	masked_by_chance = by_chance || level;
}

static void unmask(void)
{
	if (masked.runs)
		stretch_end(&masked, active && !masked_by_chance ? &masked_sums : NULL);
}

/*
 * An interrupt of the kernel, or an exception in it: the code that it interrupts waits.  An
 * exception at level 0 may sleep, so it stays there.
 */
static bool enters(const struct block *block, const struct block *last)
{
	if (!block->entry || !last || last->symbol == SYMBOL_USER || level + 1 == MAX_LEVELS)
		return false;
	return level || block->entry == ENTRY_INTERRUPT;
}

static void change_level(const struct block *block, const struct block *last)
{
	if (last && last->returns && level)
		level--;
	if (block->symbol == SYMBOL_USER)
		level = 0;
	else if (enters(block, contexts[level].last))
		contexts[++level] = (struct context){ .last = NULL };
}

/* Interrupts are masked, or no longer, when this block begins. */
static void follow_mask(const struct block *block, const struct block *last)
{
	bool from_user = last && last->symbol == SYMBOL_USER;

	if (block->symbol == SYMBOL_USER || (last && last->returns))
		unmask();
	if (block->symbol != SYMBOL_USER && (block->entry || from_user))
		mask(block->symbol, block->entry == ENTRY_INTERRUPT);
}

/* Whoever ran last in this context calls the function, or jumps to it. */
static void called(const struct block *block)
{
	struct context *context = &contexts[level];
	unsigned int caller = context->last ? context->last->symbol : block->symbol;

	if (block->starts_agent) {
		context->agent = block->symbol;
		context->client = caller;
	}
	if (!block->function || !block->starts)
		return;
	context->armed = block->function;
	context->caller = caller;
	if (caller == context->agent)
		context->caller |= (path_t)context->client << 32;
}

static void executed(unsigned int cpu, void *data)
{
	const struct block *block = data, *last = contexts[level].last;

	(void)cpu;
	change_level(block, last);
	clock_block(block->nr, level);
	follow_mask(block, last);
	called(block);
	contexts[level].last = block;
}

static void use_lock(const struct site *site, uint64_t vaddr)
{
	struct context *context = &contexts[level];
	const struct lock_function *function = context->armed;

	if (!site->block->function) {
		held_update(vaddr);
		return;
	}
	context->armed = NULL;
	if (!function)
		return;			/* tries again */
	if (function->releases)
		function->releases(vaddr);
	else
		held_acquire(vaddr, function->how, context->caller);
}

/* An atomic update is reported as a load and a store. */
static void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr, void *data)
{
	const struct site *site = data;

	(void)cpu;
	if (!qemu_plugin_mem_is_store(info))
		return;
	clock_at(site->index);
	if (site->kind & INSN_UPDATE)
		use_lock(site, vaddr);
	if (site->kind & INSN_BYTE)
		held_byte(vaddr);
	if (site->block->initialises)
		held_initialise(vaddr, site->block->symbol);
}

static void masks(unsigned int cpu, void *data)
{
	const struct site *site = data;

	(void)cpu;
	clock_at(site->index);
	if (site->kind & INSN_STI)
		unmask();
	else
		mask(site->block->function ? contexts[level].caller : site->block->symbol, false);
}

static const struct lock_function *function_of(const char *name)
{
	for (size_t i = 0; lock_functions[i].prefix; i++)
		if (!strncmp(name, lock_functions[i].prefix, strlen(lock_functions[i].prefix)))
			return &lock_functions[i];
	return NULL;
}

static bool is_in(const char *const *names, const char *name)
{
	for (size_t i = 0; names[i]; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* The stubs of device interrupts lie behind each other: each is an entry. */
static enum entry entry_of(const char *name, bool starts)
{
	if (!strcmp(name, "irq_entries_start") || !strcmp(name, "spurious_entries_start"))
		return ENTRY_INTERRUPT;
	if (!starts)
		return ENTRY_NONE;
	if (!strncmp(name, "asm_sysvec_", 11))
		return ENTRY_INTERRUPT;
	return strncmp(name, "asm_exc_", 8) ? ENTRY_NONE : ENTRY_EXCEPTION;
}

static void *make(size_t size)
{
	void *made = calloc(1, size);

	if (!made)
		abort();
	return made;
}

static struct block *describe(struct qemu_plugin_tb *tb)
{
	struct block *block = make(sizeof(*block));
	uint64_t addr = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
	const char *name;

	block->nr = qemu_plugin_tb_n_insns(tb);
	block->symbol = symbol_at(addr);
	if (block->symbol == SYMBOL_USER)
		return block;
	name = symbol_name(block->symbol);
	block->starts = addr == symbol_start(block->symbol);
	block->function = function_of(name);
	block->initialises = is_in(initialisers, name);
	block->starts_agent = block->starts && is_in(agents, name);
	block->entry = entry_of(name, block->starts);
	return block;
}

static void watch(struct qemu_plugin_insn *insn, struct block *block, unsigned int index)
{
	unsigned int kind = decode_insn(insn);
	struct site *site;

	block->returns = kind & INSN_IRET;
	if (!(kind & (INSN_UPDATE | INSN_BYTE | INSN_CLI | INSN_STI)) && !block->initialises)
		return;
	site = make(sizeof(*site));
	*site = (struct site){ block, index, kind };
	if (kind & (INSN_CLI | INSN_STI))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, masks, QEMU_PLUGIN_CB_NO_REGS, site);
	else
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, site);
}

/* QEMU may translate the same code again: blocks and sites are never freed. */
static void translated(struct qemu_plugin_tb *tb)
{
	struct block *block = describe(tb);

	for (unsigned int i = 0; block->symbol != SYMBOL_USER && i < block->nr; i++)
		watch(qemu_plugin_tb_get_insn(tb, i), block, i);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void begin(void)
{
	held_begin();
	memset(&masked_sums, 0, sizeof(masked_sums));
	began = clock_read();
	active = true;
}

static void end(void)
{
	held_end();
	ended = clock_read();
	active = false;
}

static void print(FILE *out)
{
	fprintf(out, "instructions %llu\n", (unsigned long long)(ended - began));
	held_print(out);
	sums_print("interrupts", &masked_sums, out);
}

const struct mode locks_mode = {
	.name = "locks",
	.translated = translated,
	.begin = begin,
	.end = end,
	.print = print,
};
