/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory tags (arm64's MTE): four bits for each 16 bytes of memory that is mapped with PROT_MTE.
 * They can be read and written through a pointer without a tag, which is not checked.
 */
#ifndef UNMAP_MTE_H
#define UNMAP_MTE_H

#include <stdbool.h>

#ifdef __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>

#define PROT_TAGGED	0x20	/* PROT_MTE */
#define TAG_SHIFT	56

static inline bool mte_works(void)
{
	return getauxval(AT_HWCAP2) & HWCAP2_MTE;
}

/* @at: of a granule of 16 bytes */
static inline void mte_set(char *at, unsigned long tag)
{
	char *tagged = (char *)((unsigned long)at | tag << TAG_SHIFT);

	asm volatile(".arch armv8.5-a+memtag\n\tstg %0, [%0]" : : "r"(tagged) : "memory");
}

static inline unsigned long mte_get(const char *at)
{
	asm volatile(".arch armv8.5-a+memtag\n\tldg %0, [%0]" : "+r"(at) : : "memory");
	return (unsigned long)at >> TAG_SHIFT;
}
#else
#define PROT_TAGGED	0

static inline bool mte_works(void)
{
	return false;
}

static inline void mte_set(char *at, unsigned long tag)
{
}

static inline unsigned long mte_get(const char *at)
{
	return 0;
}
#endif

#endif /* UNMAP_MTE_H */
