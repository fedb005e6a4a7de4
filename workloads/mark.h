/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MARK_H
#define MARK_H

/* No-ops that the profiler knows: profiler/decode.c has the other half. */
#ifdef __x86_64__
#define MARK_BEGIN	"nopl 0x53574201(%%rax,%%rax,1)"
#define MARK_END	"nopl 0x53574202(%%rax,%%rax,1)"
#define MARK_REPORT	"nopl 0x53574203(%%rax,%%rax,1)"
#else
#define MARK_BEGIN	"movz xzr, #0x5361"
#define MARK_END	"movz xzr, #0x5362"
#define MARK_REPORT	"movz xzr, #0x5363"
#endif

#endif /* MARK_H */
