// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode as much of x86-64 and arm64 as enum insn_kind needs.  include/mark.h defines the
 * workloads' marks.
 */
#include <stdbool.h>
#include <string.h>

#include "../include/mark.h"
#include "decode.h"

struct x86 {
	const uint8_t *op;	/* the opcode, behind the prefixes */
	const uint8_t *end;
	bool lock;
	bool repeat;		/* f2 or f3: some opcodes mean another instruction with it */
	bool gs;
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
		x.gs |= *x.op == 0x65;
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

static unsigned int mark_kind(uint32_t number)
{
	switch (number) {
	case MARK_BEGIN:
		return INSN_BEGIN;
	case MARK_END:
		return INSN_END;
	case MARK_REPORT:
		return INSN_REPORT;
	case MARK_START:
		return INSN_START;
	default:
		return 0;
	}
}

/* nopl disp32(%rax,%rax,1) */
static unsigned int x86_mark(const struct x86 *x)
{
	uint32_t disp;

	if (x->end - x->op != 8 || byte_at(x, 2) != 0x84)
		return 0;
	memcpy(&disp, x->op + 4, sizeof(disp));
	return mark_kind(disp - MARK_X86);
}

/* Opcodes that begin with 0f. */
static unsigned int decode_0f(const struct x86 *x)
{
	uint8_t op = byte_at(x, 1), modrm = byte_at(x, 2);

	if (op == 0x1f)
		return x86_mark(x);
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
	if (((op & 0xfe) == 0xb0 || (op & 0xfe) == 0xc0) && in_memory(modrm))
		return INSN_UPDATE;				/* cmpxchg, xadd */
	return 0;
}

static unsigned int x86_masking(uint8_t op)
{
	return op == 0xfa ? INSN_CLI : op == 0xfb ? INSN_STI : op == 0xcf ? INSN_IRET : 0;
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
		return INSN_ATOMIC;				/* xchg needs no prefix */
	if ((op == 0x88 || op == 0xc6) && in_memory(modrm))
		return INSN_BYTE;
	return op == 0x0f ? decode_0f(x) : x86_masking(op);
}

unsigned int decode_x86(const uint8_t *insn, size_t len)
{
	struct x86 x = skip_prefixes(insn, len);

	return decode_plain(&x) | (x.lock ? INSN_ATOMIC : 0) | (x.gs ? INSN_PERCPU : 0);
}

/* ldapr has an atomic's encoding, but is a load. */
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
 * sys #op1, c8 (c9: the same without XS), CRm, #op2.  Bit 0 of op2: by address, or all.
 * CRm selects the domain: 1 and 5 outer shareable, 2 and 3 inner shareable, 6 and 7 this
 * CPU.
 */
static unsigned int arm64_tlbi(uint32_t insn)
{
	unsigned int kind, crm = (insn >> 8) & 0xf;

	if ((insn & 0xfff8e000) != 0xd5088000)
		return 0;
	kind = insn & (1 << 5) ? INSN_FLUSH_ONE : INSN_FLUSH_ALL;
	return crm == 6 || crm == 7 ? kind : kind | INSN_REMOTE;
}

/* movz xzr, #imm16 */
static unsigned int arm64_mark(uint32_t insn)
{
	if ((insn & 0xffe0001f) != 0xd280001f)
		return 0;
	return mark_kind((insn >> 5 & 0xffff) - MARK_ARM64);
}

unsigned int decode_arm64(uint32_t insn)
{
	unsigned int mark = arm64_mark(insn);

	if (mark)
		return mark;
	if (is_arm64_call(insn))
		return INSN_CALL;
	if ((insn & 0xfffffc1f) == 0xd65f0000 || (insn & 0xfffffbff) == 0xd65f0bff)
		return INSN_RETURN;
	return arm64_tlbi(insn) | (is_arm64_atomic(insn) ? INSN_ATOMIC : 0);
}
