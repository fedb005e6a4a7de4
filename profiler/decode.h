/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the profiler needs to know about an instruction: whether it is atomic, invalidates
 * a TLB, calls, returns, may take or release a lock, masks interrupts, or is a workload's
 * mark.
 */
#ifndef SWATHE_PROFILER_DECODE_H
#define SWATHE_PROFILER_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum insn_kind {
	INSN_CALL	= 1 << 0,
	INSN_RETURN	= 1 << 1,
	INSN_ATOMIC	= 1 << 2,	/* locked, or an exclusive store */
	INSN_FLUSH_ONE	= 1 << 3,	/* invalidates one page's translation */
	INSN_FLUSH_ALL	= 1 << 4,	/* invalidates an address space or more */
	INSN_BEGIN	= 1 << 5,	/* the workload's marks: include/mark.h */
	INSN_END	= 1 << 6,
	INSN_REPORT	= 1 << 7,
	INSN_CR3	= 1 << 8,	/* with INSN_FLUSH_ALL: by writing %cr3 */
	INSN_REMOTE	= 1 << 9,	/* with INSN_FLUSH_*: on other CPUs, too */
	INSN_WRMSR	= 1 << 10,
	INSN_START	= 1 << 16,	/* another mark */
	/* x86 alone has these: */
	INSN_UPDATE	= 1 << 11,	/* cmpxchg or xadd of memory, locked or not */
	INSN_BYTE	= 1 << 12,	/* stores one byte */
	INSN_CLI	= 1 << 13,
	INSN_STI	= 1 << 14,
	INSN_IRET	= 1 << 15,
	INSN_PERCPU	= 1 << 17,	/* the %gs prefix: of this CPU */
};

unsigned int decode_x86(const uint8_t *insn, size_t len);
unsigned int decode_arm64(uint32_t insn);

#endif /* SWATHE_PROFILER_DECODE_H */
