/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a workload tells the profiler what to count.
 *
 * A workload executes MARK_BEGIN and MARK_END around the call that it measures, and
 * MARK_REPORT once it has verified the call and reports it.  The profiler counts between
 * the first two and writes its counts at the third.  From MARK_START, which a program executes
 * when it has read its arguments, the profiler's model of caches follows what is in them.
 *
 * A mark is an instruction that does nothing and that no compiler emits.  It carries
 * MARK_X86 or MARK_ARM64 plus the mark's number:
 *
 * x86-64	a long nop with that displacement: nopl disp32(%rax,%rax,1)
 * arm64	a move of that number to the zero register: movz xzr, #imm16
 */
#ifndef SWATHE_MARK_H
#define SWATHE_MARK_H

#define MARK_BEGIN	1
#define MARK_END	2
#define MARK_REPORT	3
#define MARK_START	4

#define MARK_X86	0x53574200
#define MARK_ARM64	0x5360

#ifdef __x86_64__
#define MARK(number)								\
	asm volatile("nopl %c0(%%rax,%%rax,1)" :: "i" (MARK_X86 + (number)) : "memory")
#else
#define MARK(number)								\
	asm volatile("movz xzr, %0" :: "i" (MARK_ARM64 + (number)) : "memory")
#endif

#endif /* SWATHE_MARK_H */
