/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Types and macros that workloads/ and field/ share.  The selftests have their own, in
 * unmap_util.h: they must compile from the kernel tree alone.
 */
#ifndef SWATHE_BASE_H
#define SWATHE_BASE_H

#include <stdint.h>

typedef uint64_t u64;

#ifndef __noreturn
#define __noreturn	__attribute__((__noreturn__))
#endif
#ifndef __printf
#define __printf(a, b)	__attribute__((__format__(printf, a, b)))
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#define READ_ONCE(x)	(*(const volatile typeof(x) *)&(x))

#define BIT(nr)		(1UL << (nr))
#define BIT_ULL(nr)	(1ULL << (nr))

#define PAGE	4096UL
#define MIB	BIT(20)
#define GIB	BIT(30)
#define TABLE	(2 * MIB)	/* what one page table maps */

#define THP	"/sys/kernel/mm/transparent_hugepage/"

#endif /* SWATHE_BASE_H */
