/* SPDX-License-Identifier: Apache-2.0
 * What runtime/cpu uses of QEMU's interface for plugins, version 1 (QEMU 6.0 to 8.x; Debian 12 has 7.2). QEMU's
 * documentation, "QEMU TCG Plugins", describes it. */
#ifndef EXANET_CPU_QEMU_H
#define EXANET_CPU_QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

typedef struct {
  const char *target_name;
  struct {
    int min, cur;
  } version;
  bool system_emulation;
  /* more follows, of system emulation alone */
} qemu_info_t;

enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W = 2, QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*exn_translated)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*exn_thread_ended)(qemu_plugin_id_t, unsigned vcpu);
typedef void (*exn_executed)(unsigned vcpu, void *data);
typedef void (*exn_accessed)(unsigned vcpu, qemu_plugin_meminfo_t, uint64_t address, void *data);

void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t, exn_thread_ended);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, exn_translated);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, exn_executed, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, exn_accessed, int flags, int accesses, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t number);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

#endif
