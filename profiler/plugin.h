/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of QEMU's plugin interface that the profiler uses.  Debian packages no header
 * for it; names and types are the interface's.
 *
 * PLUGIN_API is the interface's version: 1 for QEMU 7.2, 4 for QEMU 9.2 and later.
 * Version 2 removed counters without callbacks, so the profiler uses callbacks only.
 * Since version 3 qemu_plugin_insn_data() copies the bytes instead of returning a pointer.
 */
#ifndef SWATHE_PROFILER_PLUGIN_H
#define SWATHE_PROFILER_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef PLUGIN_API
#define PLUGIN_API	1
#endif

#define PLUGIN_EXPORT	__attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

enum qemu_plugin_cb_flags {
	QEMU_PLUGIN_CB_NO_REGS,
};

/*
 * QEMU 7.2 confuses loads and stores when it selects callbacks (_R gets stores only): ask
 * for both, and let the callback find out which it is.
 */
enum qemu_plugin_mem_rw {
	QEMU_PLUGIN_MEM_RW = 3,
};

typedef void (*plugin_translated_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*plugin_executed_cb)(unsigned int cpu, void *data);
typedef void (*plugin_mem_cb)(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t vaddr,
			      void *data);
typedef void (*plugin_exit_cb)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, plugin_translated_cb cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, plugin_executed_cb cb,
					  enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, plugin_executed_cb cb,
					    enum qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, plugin_mem_cb cb,
				      enum qemu_plugin_cb_flags flags,
				      enum qemu_plugin_mem_rw rw, void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t vaddr);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *where);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, plugin_exit_cb cb, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#if PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *dest, size_t len);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif

#endif /* SWATHE_PROFILER_PLUGIN_H */
