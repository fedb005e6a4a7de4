// SPDX-License-Identifier: GPL-2.0-only
/*
 * Just enough decoding for x86-64 and arm64: see enum insn_kind.
 *
 * The markers are instructions that do nothing and that no compiler emits:
 * a long nop with a displacement of its own on x86, a move of a number of its
 * own to the zero register on arm64.  workloads/workload.h has the other half.
 */
#include <stdbool.h>
#include <string.h>

#include "decode.h"

#define BEGIN_X86	0x53574201u
#define END_X86		0x53574202u
#define REPORT_X86	0x53574203u
#define BEGIN_ARM64	0xd28a6c3fu	/* movz xzr, #0x5361 */
#define END_ARM64	0xd28a6c5fu	/* movz xzr, #0x5362 */
#define REPORT_ARM64	0xd28a6c7fu	/* movz xzr, #0x5363 */

struct x86 {
	const uint8_t *op;	/* the opcode, prefixes passed */
	const uint8_t *end;
	bool lock;
	bool repeat;		/* f2 or f3, which make other instructions of some */
};

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
	       byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65 || byte == 0x67 || (byte & 0xf0) == 0x40;
}

static struct x86 skip_prefixes(const uint8_t *insn, size_t len)
{
	struct x86 x = { .op = insn, .end = insn + len };

	for (; x.op < x.end && (*x.op == 0xf0 || is_prefix(*x.op)); x.op++) {
		x.lock |= *x.op == 0xf0;
		x.repeat |= *x.op == 0xf2 || *x.op == 0xf3;
	}
	return x;
}

static uint8_t byte_at(const struct x86 *x, size_t i)
{
	return x->op + i < x->end ? x->op[i] : 0;
}

static unsigned int reg_field(uint8_t modrm)
{
	return (modrm >> 3) & 7;
}

static bool in_memory(uint8_t modrm)
{
	return modrm < 0xc0;
}

/* nopl disp32(%rax,%rax,1) with one of our displacements. */
static unsigned int marker(const struct x86 *x)
{
	uint32_t disp;

	if (x->end - x->op != 8 || byte_at(x, 2) != 0x84)
		return 0;
	memcpy(&disp, x->op + 4, sizeof(disp));
	if (disp == BEGIN_X86)
		return INSN_BEGIN;
	if (disp == END_X86)
		return INSN_END;
	return disp == REPORT_X86 ? INSN_REPORT : 0;
}

/* Opcodes that begin with 0f. */
static unsigned int decode_0f(const struct x86 *x)
{
	uint8_t op = byte_at(x, 1), modrm = byte_at(x, 2);

	if (op == 0x1f)
		return marker(x);
	if (op == 0x01 && in_memory(modrm) && reg_field(modrm) == 7)
		return INSN_FLUSH_ONE;				/* invlpg */
	if (op == 0x01 && modrm == 0xfe && !x->repeat)
		return INSN_FLUSH_ONE | INSN_REMOTE;		/* invlpgb */
	if (op == 0x30 || (op == 0x01 && modrm == 0xc6 && !x->repeat))
		return INSN_WRMSR;				/* wrmsr, wrmsrns */
	if (op == 0x22 && reg_field(modrm) == 3)
		return INSN_FLUSH_ALL | INSN_CR3;		/* mov %cr3 */
	if (op == 0x38 && modrm == 0x82)
		return INSN_FLUSH_ALL;				/* invpcid */
	return 0;
}

static unsigned int decode_plain(const struct x86 *x)
{
	uint8_t op = byte_at(x, 0), modrm = byte_at(x, 1);

	if (op == 0xe8)
		return INSN_CALL;
	if (op == 0xff && (reg_field(modrm) == 2 || reg_field(modrm) == 3))
		return INSN_CALL;
	if (op == 0xc3 || op == 0xc2)
		return INSN_RETURN;
	if ((op == 0x86 || op == 0x87) && in_memory(modrm))
		return INSN_ATOMIC;				/* xchg locks by itself */
	return op == 0x0f ? decode_0f(x) : 0;
}

unsigned int decode_x86(const uint8_t *insn, size_t len)
{
	struct x86 x = skip_prefixes(insn, len);

	return decode_plain(&x) | (x.lock ? INSN_ATOMIC : 0);
}

/* Acquiring loads and releasing stores are none: they are encoded nearby. */
static bool is_arm64_atomic(uint32_t insn)
{
	if ((insn & 0x3ffffc00) == 0x38bfc000)			/* ldapr */
		return false;
	return (insn & 0x3f200c00) == 0x38200000 ||		/* ldadd, swp and kin */
	       (insn & 0x3fa07c00) == 0x08a07c00 ||		/* cas */
	       (insn & 0xbfa07c00) == 0x08207c00 ||		/* casp */
	       (insn & 0x3fe00000) == 0x08000000 ||		/* stxr */
	       (insn & 0xbfe00000) == 0x88200000;		/* stxp */
}

static bool is_arm64_call(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x94000000 ||		/* bl */
	       (insn & 0xfffffc1f) == 0xd63f0000 ||		/* blr */
	       (insn & 0xfffff81f) == 0xd63f081f ||		/* blraaz */
	       (insn & 0xfffff800) == 0xd73f0800;		/* blraa */
}

/*
 * sys #op1, c8 (c9: the same without XS), CRm, #op2: bit 0 of op2 tells "by address"
 * from "all", CRm tells whom it reaches: 1 and 5 the outer shareable domain, 2 and 3
 * the inner one, 6 and 7 this CPU.
 */
static unsigned int arm64_tlbi(uint32_t insn)
{
	unsigned int kind, crm = (insn >> 8) & 0xf;

	if ((insn & 0xfff8e000) != 0xd5088000)
		return 0;
	kind = insn & (1 << 5) ? INSN_FLUSH_ONE : INSN_FLUSH_ALL;
	return crm == 6 || crm == 7 ? kind : kind | INSN_REMOTE;
}

unsigned int decode_arm64(uint32_t insn)
{
	if (insn == BEGIN_ARM64)
		return INSN_BEGIN;
	if (insn == END_ARM64)
		return INSN_END;
	if (insn == REPORT_ARM64)
		return INSN_REPORT;
	if (is_arm64_call(insn))
		return INSN_CALL;
	if ((insn & 0xfffffc1f) == 0xd65f0000 || (insn & 0xfffffbff) == 0xd65f0bff)
		return INSN_RETURN;
	return arm64_tlbi(insn) | (is_arm64_atomic(insn) ? INSN_ATOMIC : 0);
}
