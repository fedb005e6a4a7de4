// SPDX-License-Identifier: GPL-2.0-only
/* Decode an instruction of the guest: see insn.h. */
#include <string.h>

#include "decode.h"
#include "insn.h"
#include "plugin.h"

static bool is_arm64;

bool decode_for(const char *arch)
{
	is_arm64 = !strcmp(arch, "arm64");
	return is_arm64 || !strcmp(arch, "x86_64");
}

unsigned int decode_insn(const struct qemu_plugin_insn *insn)
{
	size_t len = qemu_plugin_insn_size(insn);
	uint8_t bytes[16] = { 0 };
	uint32_t word;

	if (len > sizeof(bytes))
		len = sizeof(bytes);
#if PLUGIN_API >= 3
	qemu_plugin_insn_data(insn, bytes, len);
#else
	memcpy(bytes, qemu_plugin_insn_data(insn), len);
#endif
	if (!is_arm64)
		return decode_x86(bytes, len);
	memcpy(&word, bytes, sizeof(word));
	return decode_arm64(word);
}
