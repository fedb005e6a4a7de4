// SPDX-License-Identifier: GPL-2.0-only
/* Which instructions and which functions are events: see events.h. */
#include <stddef.h>
#include <string.h>

#include "decode.h"
#include "events.h"
#include "symbols.h"

#define MAX_NAMES	6
#define MAX_ENTRIES	16

/* The xAPIC's command register, at its address in the fixmap. */
#define APIC_PAGE	0xffffffffff5fd000u
#define APIC_ICR	0x300

const char *const event_names[NR_EVENTS] = {
	[EVENT_ATOMIC]		= "atomics",
	[EVENT_TLB_SINGLE]	= "tlb_single",
	[EVENT_TLB_FULL]	= "tlb_full",
	[EVENT_TLB_REMOTE]	= "tlb_remote",
	[EVENT_MM_SWITCH]	= "mm_switches",
	[EVENT_IPI]		= "ipis",
	[EVENT_TABLE_ALLOCATED]	= "tables_allocated",
	[EVENT_TABLE_FREED]	= "tables_freed",
};

/* Functions whose entry is an event.  A kernel may lack some of them, but not all. */
struct functions {
	enum event event;
	const char *names[MAX_NAMES];
};

/*
 * native_flush_tlb_global() writes %cr4 twice on CPUs without INVPCID: its entry counts
 * instead, once.
 *
 * A table counts as freed when the kernel hands it over to be freed, not after the grace
 * period; so pte_free_now(), the second half of pte_free_defer(), does not count.
 * mm/unmap/ calls unmap_pmd_unhook() for each table that it gives back, unless an mmu_gather
 * frees it.
 */
static const struct functions x86_functions[] = {
	{ EVENT_TLB_FULL, { "native_flush_tlb_global" } },
	{ EVENT_TLB_REMOTE, { "native_flush_tlb_multi" } },
	{ EVENT_TABLE_ALLOCATED, { "pte_alloc_one" } },
	{ EVENT_TABLE_FREED, { "___pte_free_tlb", "pte_free_defer", "unmap_pmd_unhook" } },
	{ NR_EVENTS, { NULL } },
};

/* pte_alloc_one() and __pte_free_tlb() are inline here: these count upper tables, too. */
static const struct functions arm64_functions[] = {
	{ EVENT_IPI, { "gic_ipi_send_mask", "gicv5_ipi_send_single" } },
	{ EVENT_TABLE_ALLOCATED, { "__pte_alloc" } },
	{ EVENT_TABLE_FREED, { "tlb_remove_table", "pte_free_defer", "unmap_pmd_unhook" } },
	{ NR_EVENTS, { NULL } },
};

static const char *const switching[] = {
	"switch_mm_irqs_off", "load_new_mm_cr3", "use_temporary_mm", "unuse_temporary_mm", NULL
};

struct entry {
	uint64_t addr;
	enum event event;
};

static struct entry entries[MAX_ENTRIES];
static unsigned int nr_entries;

static void find_function(enum event event, const char *name)
{
	unsigned int symbol;

	for (symbol = symbol_find(name, 0); symbol; symbol = symbol_find(name, symbol))
		if (nr_entries < MAX_ENTRIES)
			entries[nr_entries++] = (struct entry){ symbol_start(symbol), event };
}

static bool find_functions(const struct functions *functions)
{
	unsigned int before = nr_entries;

	for (size_t i = 0; i < MAX_NAMES && functions->names[i]; i++)
		find_function(functions->event, functions->names[i]);
	return nr_entries > before;
}

const char *events_find(bool is_arm64)
{
	const struct functions *functions = is_arm64 ? arm64_functions : x86_functions;

	nr_entries = 0;
	for (; functions->event != NR_EVENTS; functions++)
		if (!find_functions(functions))
			return event_names[functions->event];
	return NULL;
}

static unsigned int entered(uint64_t addr)
{
	unsigned int mask = 0;

	for (unsigned int i = 0; i < nr_entries; i++)
		if (entries[i].addr == addr)
			mask |= 1u << entries[i].event;
	return mask;
}

static bool switches_mm(const char *function)
{
	for (size_t i = 0; switching[i]; i++)
		if (!strcmp(function, switching[i]))
			return true;
	return false;
}

/* The event of a TLB instruction, by the function that contains it. */
static unsigned int flush_in(unsigned int kind, const char *function)
{
	if (kind & INSN_REMOTE)
		return 1u << EVENT_TLB_REMOTE;
	if (kind & INSN_FLUSH_ONE)
		return 1u << EVENT_TLB_SINGLE;
	if (kind & INSN_CR3)
		return 1u << (switches_mm(function) ? EVENT_MM_SWITCH : EVENT_TLB_FULL);
	/* invpcid: its type is in a register, but each function uses only one type. */
	if (strstr(function, "flush_tlb_one"))
		return 1u << EVENT_TLB_SINGLE;
	if (!strcmp(function, "native_flush_tlb_global"))
		return 0;
	return 1u << EVENT_TLB_FULL;
}

unsigned int events_of(unsigned int kind, uint64_t addr)
{
	unsigned int mask = entered(addr);

	if (kind & INSN_ATOMIC)
		mask |= 1u << EVENT_ATOMIC;
	if (kind & INSN_WRMSR && events_may_send(addr))
		mask |= 1u << EVENT_IPI;			/* x2APIC */
	if (kind & (INSN_FLUSH_ONE | INSN_FLUSH_ALL))
		mask |= flush_in(kind, symbol_name(symbol_at(addr)));
	return mask;
}

bool events_may_send(uint64_t addr)
{
	const char *function = symbol_name(symbol_at(addr));

	return strstr(function, "send_IPI") || !strcmp(function, "native_apic_mem_write");
}

/* One write counts as one IPI, even if it addresses all other CPUs. */
bool events_sends(uint64_t vaddr)
{
	return vaddr == APIC_PAGE + APIC_ICR;
}
