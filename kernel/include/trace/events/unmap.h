/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace points of mm/unmap/: one event for each thing that /sys/kernel/mm/unmap/stat counts
 * in evict_runs (run), put_back_runs (put_back) and tables_freed (table_free).
 *
 * A probe, such as a BPF program, makes those wait who need what is locked there:
 *
 * run, put_back	the page-table lock of the run, its folio, the rmap lock of its VMA (for
 *			reading; for writing if it is a hugetlb folio of a file); an MMU
 *			notifier section is open.  The run is flushed, or its flush is noted
 *			(law 1), or it is back.
 * table_free		no page-table lock and no PMD lock; the mmap lock, or the rmap lock of a
 *			file that is mapped there, or, by UFFDIO_MOVE, the VMA's lock.  By
 *			"own", "worker" and "shrinker" with preemption disabled (not on
 *			PREEMPT_RT).  The table is out of its PMD and out of all TLBs, and is
 *			counted; its page is free a grace period later at the latest.  On Linux
 *			7.3 MADV_DONTNEED may hold only the VMA's lock, and tables that it
 *			empties entirely leave the TLBs when its mmu_gather is flushed (x86).
 *
 * The probe computes all that it records.  A trace point that is off costs one instruction
 * (with CONFIG_JUMP_LABEL), and none without CONFIG_TRACEPOINTS.  Discarded runs have no
 * event: many are single pages, for each of which that is one instruction in 800.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM unmap

#if !defined(_TRACE_UNMAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_UNMAP_H

#include <linux/tracepoint.h>
#include <linux/types.h>

struct mm_struct;
struct unmap_op;

#ifdef CREATE_TRACE_POINTS
/* The process that an mm belongs to: reclaim unmaps memory of others.  0 if not known. */
static pid_t unmap_trace_owner(const struct mm_struct *mm)
{
	pid_t pid = 0;
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	rcu_read_lock();
	owner = rcu_dereference(mm->owner);
	if (owner)
		pid = task_tgid_nr(owner);
	rcu_read_unlock();
#endif
	return pid;
}
#endif /* CREATE_TRACE_POINTS */

#define UNMAP_KINDS					\
	EM(UNMAP_KIND_FILE,		"file")		\
	EM(UNMAP_KIND_LAZYFREE,		"lazyfree")	\
	EM(UNMAP_KIND_SWAP,		"swap")		\
	EM(UNMAP_KIND_POISON,		"poison")	\
	EM(UNMAP_KIND_UNUSED,		"unused")	\
	EM(UNMAP_KIND_HUGETLB,		"hugetlb")	\
	EMe(UNMAP_KIND_RELOCATE,	"relocate")

#define UNMAP_REASONS					\
	EM(UNMAP_STAYS_REDIRTIED,	"redirtied")	\
	EM(UNMAP_STAYS_REFERENCED,	"referenced")	\
	EM(UNMAP_STAYS_PINNED,		"pinned")	\
	EM(UNMAP_STAYS_NO_SWAP,		"no_swap")	\
	EM(UNMAP_STAYS_SWAP_COUNT,	"swap_count")	\
	EMe(UNMAP_STAYS_ARCH,		"arch")

#define UNMAP_TABLE_BYS					\
	EM(TABLE_BY_DISCARD,		"discard")	\
	EM(TABLE_BY_MOVE,		"move")		\
	EM(TABLE_BY_WORKER,		"worker")	\
	EM(TABLE_BY_SHRINKER,		"shrinker")	\
	EMe(TABLE_BY_DROP,		"drop")

/* Tell user space the values of the enumerations. */
#undef EM
#undef EMe
#define EM(value, name)		TRACE_DEFINE_ENUM(value);
#define EMe(value, name)	TRACE_DEFINE_ENUM(value);

UNMAP_KINDS
UNMAP_REASONS
UNMAP_TABLE_BYS

/* From here on they are the lists that __print_symbolic() takes. */
#undef EM
#undef EMe
#define EM(value, name)		{ value, name },
#define EMe(value, name)	{ value, name }

/*
 * A run was evicted.  @kind: enum unmap_kind.
 */
TRACE_EVENT(run,

	TP_PROTO(const struct unmap_op *op, unsigned int kind),

	TP_ARGS(op, kind),

	TP_STRUCT__entry(
		__field(unsigned long, addr)
		__field(unsigned long, pfn)
		__field(pid_t, owner)
		__field(unsigned int, nr)
		__field(unsigned int, folio)
		__field(unsigned int, kind)
		__field(bool, noted)
	),

	TP_fast_assign(
		__entry->addr	= op->run.addr;
		__entry->pfn	= page_to_pfn(op->run.page);
		__entry->owner	= unmap_trace_owner(op->vma->vm_mm);
		__entry->nr	= op->run.nr;
		__entry->folio	= folio_nr_pages(op->folio);
		__entry->kind	= kind;
		__entry->noted	= op->run.deferred;
	),

	TP_printk("owner=%d addr=0x%lx pfn=0x%lx nr=%u folio=%u kind=%s flush=%s",
		__entry->owner, __entry->addr, __entry->pfn, __entry->nr, __entry->folio,
		__print_symbolic(__entry->kind, UNMAP_KINDS),
		__entry->noted ? "noted" : "now")
);

/*
 * A run was cleared and put back.  @reason: enum unmap_reason.
 */
TRACE_EVENT(put_back,

	TP_PROTO(const struct unmap_op *op, unsigned int reason),

	TP_ARGS(op, reason),

	TP_STRUCT__entry(
		__field(unsigned long, addr)
		__field(unsigned long, pfn)
		__field(pid_t, owner)
		__field(unsigned int, nr)
		__field(unsigned int, folio)
		__field(unsigned int, reason)
	),

	TP_fast_assign(
		__entry->addr	= op->run.addr;
		__entry->pfn	= page_to_pfn(op->run.page);
		__entry->owner	= unmap_trace_owner(op->vma->vm_mm);
		__entry->nr	= op->run.nr;
		__entry->folio	= folio_nr_pages(op->folio);
		__entry->reason	= reason;
	),

	TP_printk("owner=%d addr=0x%lx pfn=0x%lx nr=%u folio=%u reason=%s",
		__entry->owner, __entry->addr, __entry->pfn, __entry->nr, __entry->folio,
		__print_symbolic(__entry->reason, UNMAP_REASONS))
);

/*
 * A page table was freed.  @addr: the first address that it translated.  @by: enum
 * table_by.
 */
TRACE_EVENT(table_free,

	TP_PROTO(const struct mm_struct *mm, unsigned long addr, unsigned int by),

	TP_ARGS(mm, addr, by),

	TP_STRUCT__entry(
		__field(unsigned long, addr)
		__field(pid_t, owner)
		__field(unsigned int, by)
	),

	TP_fast_assign(
		__entry->addr	= addr;
		__entry->owner	= unmap_trace_owner(mm);
		__entry->by	= by;
	),

	TP_printk("owner=%d addr=0x%lx by=%s", __entry->owner, __entry->addr,
		__print_symbolic(__entry->by, UNMAP_TABLE_BYS))
);

#endif /* _TRACE_UNMAP_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
