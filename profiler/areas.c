// SPDX-License-Identifier: GPL-2.0-only
/* What is in a line of memory: see areas.h. */
#include <stdlib.h>
#include <string.h>

#include "areas.h"
#include "symbols.h"

#define FIRST_ROOM	(1u << 16)
#define STRUCT_PAGE	64
/* RAM behind this is above 4 GiB in QEMU's microvm; see pc_memory_init() and microvm.c there. */
#define LOW_RAM		0xc0000000ull
#define HIGH_RAM	0x100000000ull

const char *const area_names[NR_AREAS] = {
	[AREA_PAGE]	= "page",
	[AREA_TABLE]	= "table",
	[AREA_PERCPU]	= "percpu",
	[AREA_HEAP]	= "heap",
	[AREA_IMAGE]	= "image",
	[AREA_STACK]	= "stack",
	[AREA_USER]	= "user",
};

/*
 * x86-64, with page tables of four levels and of five: see Documentation/arch/x86/x86_64/mm.rst.
 * The ranges do not overlap.  @shift is the size of the pages that map a range on a machine with
 * gigabytes of memory.
 */
struct range {
	uint64_t first, last;
	enum area area;
	unsigned int shift;
};

static const struct range ranges[] = {
	{ 0, 0x00ffffffffffffff, AREA_USER, 12 },
	{ 0xff11000000000000, 0xff90ffffffffffff, AREA_HEAP, 30 },
	{ 0xffff888000000000, 0xffffc87fffffffff, AREA_HEAP, 30 },
	{ 0xffa0000000000000, 0xffd1ffffffffffff, AREA_STACK, 12 },
	{ 0xffffc90000000000, 0xffffe8ffffffffff, AREA_STACK, 12 },
	{ 0xffd4000000000000, 0xffd5ffffffffffff, AREA_PAGE, 21 },
	{ 0xffffea0000000000, 0xffffeaffffffffff, AREA_PAGE, 21 },
	{ 0, UINT64_MAX, AREA_IMAGE, 21 },
};

static const char *const allocating[] = {
	"get_page_from_freelist", "rmqueue_bulk", "post_alloc_hook", "prep_new_page",
	"prep_compound_page", "alloc_pages_bulk", NULL
};

static const char *const table_making[] = {
	"pte_alloc_one", "__pte_alloc_one", "__pmd_alloc", "__pud_alloc", NULL
};

/* Open addressing.  Frames stay where they are. */
static struct frame **frames;
static unsigned int nr_frames, room;

static const struct range *range_of(uint64_t vaddr)
{
	const struct range *range = ranges;

	while (vaddr < range->first || vaddr > range->last)
		range++;
	return range;
}

static struct frame **slot_of(uint64_t number)
{
	unsigned int slot = (number * 0x9e3779b97f4a7c15ull) >> 32;

	for (slot &= room - 1; frames[slot]; slot = (slot + 1) & (room - 1))
		if (frames[slot]->number == number)
			break;
	return &frames[slot];
}

static void *make(size_t nr, size_t size)
{
	void *made = calloc(nr, size);

	if (!made)
		abort();
	return made;
}

static void grow(void)
{
	struct frame **old = frames;
	unsigned int i, before = room;

	room = room ? 2 * room : FIRST_ROOM;
	frames = make(room, sizeof(*frames));
	for (i = 0; i < before; i++)
		if (old[i])
			*slot_of(old[i]->number) = old[i];
	free(old);
}

static struct frame *frame_of(uint64_t number, enum area area)
{
	static struct frame *last;
	struct frame **slot;

	if (last && last->number == number)
		return last;
	if (2 * nr_frames >= room)
		grow();
	slot = slot_of(number);
	if (!*slot) {
		*slot = make(1, sizeof(**slot));
		**slot = (struct frame){ .number = number, .area = area };
		nr_frames++;
	}
	last = *slot;
	return last;
}

static bool names(const char *const *list, const char *name)
{
	for (; *list; list++) {
		size_t len = strlen(*list);

		/* Compilers and later kernels add suffixes: ".isra.0", "_noprof". */
		if (!strncmp(name, *list, len) && (!name[len] || name[len] == '.' ||
						   name[len] == '_'))
			return true;
	}
	return false;
}

void area_learn(struct site *site)
{
	const char *name = symbol_name(site->symbol);

	site->allocates = names(allocating, name);
	site->makes_tables = names(table_making, name);
}

/* The number of the frame at a physical address. */
static uint64_t linear(uint64_t addr)
{
	return (addr >> FRAME_SHIFT) + 1;
}

/* QEMU numbers RAM without the hole below 4 GiB. */
static uint64_t user_frame(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
	uint64_t addr = qemu_plugin_hwaddr_phys_addr(qemu_plugin_get_hwaddr(info, vaddr));

	return linear(addr < LOW_RAM ? addr : addr - LOW_RAM + HIGH_RAM);
}

/* A store to a struct page tells what becomes of its page. */
static void note_use(const struct site *site, const struct range *range, uint64_t vaddr)
{
	uint64_t pfn = (vaddr - range->first) / STRUCT_PAGE;

	if (site->allocates || site->makes_tables)
		frame_of(pfn + 1, AREA_HEAP)->area = site->makes_tables ? AREA_TABLE : AREA_HEAP;
}

/* A frame that is neither in the linear mapping nor in user space has its own address. */
static uint64_t number_of(qemu_plugin_meminfo_t info, uint64_t vaddr, const struct range *range)
{
	if (range->area == AREA_USER)
		return user_frame(info, vaddr);
	return range->area == AREA_HEAP ? linear(vaddr - range->first) : vaddr >> FRAME_SHIFT;
}

/* The frame is looked up where it is wanted, or where the access tells what is in it. */
static struct frame *learn(const struct range *range, uint64_t number, const struct site *site,
			   bool wanted)
{
	bool percpu = site->percpu && range->area == AREA_HEAP;
	struct frame *frame;

	if (!wanted && !percpu && range->area != AREA_USER)
		return NULL;
	frame = frame_of(number, range->area);
	if (percpu)
		frame->area = AREA_PERCPU;
	else if (range->area == AREA_USER)
		frame->area = AREA_USER;
	return frame;
}

struct place area_find(qemu_plugin_meminfo_t info, uint64_t vaddr, const struct site *site,
		       bool wanted)
{
	const struct range *range = range_of(vaddr);
	uint64_t number = number_of(info, vaddr, range);
	uint64_t index = (vaddr & ((1u << FRAME_SHIFT) - 1)) >> LINE_SHIFT;

	if (range->area == AREA_PAGE && qemu_plugin_mem_is_store(info))
		note_use(site, range, vaddr);
	return (struct place){
		.frame = learn(range, number, site, wanted),
		.line = number << (FRAME_SHIFT - LINE_SHIFT) | index,
		.page = vaddr >> range->shift | (uint64_t)range->shift << 58,
	};
}

void area_each(void (*fn)(const struct frame *frame))
{
	for (unsigned int i = 0; i < room; i++)
		if (frames[i])
			fn(frames[i]);
}
