/* SPDX-License-Identifier: GPL-2.0-only */
/* Decode an instruction of the guest. */
#ifndef SWATHE_PROFILER_INSN_H
#define SWATHE_PROFILER_INSN_H

#include <stdbool.h>

struct qemu_plugin_insn;

/* Say which architecture the guest has, first.  Returns false if it is not known. */
bool decode_for(const char *arch);
/* Returns bits of enum insn_kind. */
unsigned int decode_insn(const struct qemu_plugin_insn *insn);

#endif /* SWATHE_PROFILER_INSN_H */
