/* SPDX-License-Identifier: Apache-2.0
 * A plugin of QEMU that counts the cycles of an in-order processor.
 *
 * Each block of instructions has its cycles from the time when it is translated (cycles.h). When it is executed they
 * are added to its thread's count, and those of a mispredicted branch where the block before it was followed by
 * another one the last time. With caches, each load and store looks its address up.
 *
 *   -plugin libexanet-cpu.so,width=2,cycle-fs=833333,latency=1:4:...,mispredicted=9[,cache1=SETS:WAYS:LINE:BEYOND]...
 *
 * Limits: instructions come from memory without a miss. A block that an exception ends counts as a whole. A thread's
 * caches are its own. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exanet/cpu_counts.h"
#include "runtime/cpu/cycles.h"
#include "runtime/cpu/qemu.h"

#define EXPORTED __attribute__((visibility("default")))
#define MOST_INSTRUCTIONS 512 /* of a block, by QEMU's own limit */

EXPORTED int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv);

struct block {
  struct exn_cpu_cycles cycles;
  uint32_t instructions;
  const struct block *next; /* the last time, since virtual time began for `since` times */
  uint32_t since;
};

static struct exn_cpu cpu;
static uint32_t begins; /* of virtual time */
static struct exn_cpu_counts *counts;
static int is_riscv;
static struct {
  struct block *last;
  struct exn_cpu_tags tags;
} threads[EXN_CPU_THREADS];

static struct exn_cpu_thread *begun(unsigned vcpu) {
  struct exn_cpu_thread *thread = &counts->thread[vcpu];
  if (thread->tid == 0) {
    threads[vcpu].tags = exn_cpu_new_tags(&cpu);
    __atomic_store_n(&thread->tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
    __atomic_fetch_add(&counts->threads, 1, __ATOMIC_RELAXED);
  }
  return thread;
}

/* Its number may be that of a later thread, which has another identity and empty caches. */
static void ended(qemu_plugin_id_t id, unsigned vcpu) {
  (void)id;
  if (vcpu >= EXN_CPU_THREADS || counts->thread[vcpu].tid == 0) return;
  counts->thread[vcpu].tid = 0;
  threads[vcpu].last = NULL;
  exn_cpu_free_tags(&threads[vcpu].tags);
}

static void begin_anew(unsigned vcpu, struct exn_cpu_thread *thread) {
  thread->fresh = 0;
  begins++;
  threads[vcpu].last = NULL;
  exn_cpu_free_tags(&threads[vcpu].tags);
  threads[vcpu].tags = exn_cpu_new_tags(&cpu);
}

static void executed(unsigned vcpu, void *data) {
  if (vcpu >= EXN_CPU_THREADS) return;
  struct block *block = data, *last = threads[vcpu].last;
  struct exn_cpu_thread *thread = begun(vcpu);
  if (thread->stopped) return;
  if (thread->fresh) {
    begin_anew(vcpu, thread);
    last = NULL;
  }
  thread->cycles += last && last == block ? block->cycles.again : block->cycles.first;
  thread->instructions += block->instructions;
  if (last && (last->next != block || last->since != begins)) {
    if (last->next && last->since == begins) {
      thread->cycles += cpu.mispredicted;
      thread->mispredicted++;
    }
    last->next = block;
    last->since = begins;
  }
  threads[vcpu].last = block;
}

static void accessed(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address, void *data) {
  (void)data;
  if (vcpu >= EXN_CPU_THREADS) return;
  struct exn_cpu_thread *thread = begun(vcpu);
  if (thread->stopped) return;
  thread->cycles += exn_cpu_access(&cpu, &threads[vcpu].tags, address, qemu_plugin_mem_is_store(info), thread->misses);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
  (void)id;
  struct exn_decoded decoded[MOST_INSTRUCTIONS];
  const size_t all = qemu_plugin_tb_n_insns(tb), count = all < MOST_INSTRUCTIONS ? all : MOST_INSTRUCTIONS;
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(tb, i);
    const size_t bytes = qemu_plugin_insn_size(instruction);
    uint32_t word = 0;
    memcpy(&word, qemu_plugin_insn_data(instruction), bytes < sizeof word ? bytes : sizeof word);
    decoded[i] = is_riscv ? exn_decode_riscv64(word, (unsigned)bytes) : exn_decode_aarch64(word);
    if (cpu.level[0].sets > 0 && (decoded[i].kind == EXN_LOAD || decoded[i].kind == EXN_STORE))
      qemu_plugin_register_vcpu_mem_cb(instruction, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
  }
  struct block *block =
      calloc(1, sizeof *block); /* as long as the program runs: QEMU says of no block that it is gone */
  if (!block) abort();
  block->cycles = exn_cpu_block_cycles(&cpu, decoded, (uint32_t)count);
  block->instructions = (uint32_t)all;
  qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, block);
}

/* -- options ------------------------------------------------------------------------------------------------------- */
static int numbers(const char *text, uint32_t *to, int count) {
  for (int i = 0; i < count; i++) {
    char *end;
    to[i] = (uint32_t)strtoul(text, &end, 10);
    if (end == text || *end != (i + 1 < count ? ':' : '\0')) return -1;
    text = end + 1;
  }
  return 0;
}

static int latencies(const char *text) {
  uint32_t all[EXN_CLASSES + 1];
  if (numbers(text, all, EXN_CLASSES + 1)) return -1;
  memcpy(cpu.latency, all, sizeof cpu.latency);
  cpu.addend = all[EXN_CLASSES];
  return 0;
}

static int cache(const char *text, int level) {
  uint32_t four[4];
  if (numbers(text, four, 4)) return -1;
  cpu.level[level] = (struct exn_cpu_cache){four[0], four[1], four[2]};
  cpu.beyond[level] = four[3];
  return four[0] > 0 && four[1] > 0 && four[2] > 0 ? 0 : -1;
}

static int option(const char *text, uint64_t *cycle_fs) {
  const char *value = strchr(text, '=');
  if (!value) return -1;
  const size_t length = (size_t)(value++ - text);
#define IS(name) (length == sizeof name - 1 && !memcmp(text, name, length))
  if (IS("width")) return numbers(value, &cpu.width, 1);
  if (IS("mispredicted")) return numbers(value, &cpu.mispredicted, 1);
  if (IS("latency")) return latencies(value);
  if (IS("cache1")) return cache(value, 0);
  if (IS("cache2")) return cache(value, 1);
  if (IS("cycle-fs")) return (*cycle_fs = strtoull(value, NULL, 10)) > 0 ? 0 : -1;
  return -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
  uint64_t cycle_fs = 0;
  for (int i = 0; i < argc; i++) {
    if (!option(argv[i], &cycle_fs)) continue;
    fprintf(stderr, "exanet: the plugin for QEMU does not understand %s\n", argv[i]);
    return -1;
  }
  is_riscv = !strncmp(info->target_name, "riscv", 5);
  const char *file = getenv(EXN_CPU_COUNTS_FD);
  if (!file || cycle_fs == 0 || cpu.width == 0) {
    fprintf(stderr, "exanet: the plugin for QEMU is started by exanet run --cpu\n");
    return -1;
  }
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(file), 0);
  if (counts == MAP_FAILED) {
    perror("exanet: the counts of cycles");
    return -1;
  }
  counts->cycle_fs = cycle_fs;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_vcpu_exit_cb(id, ended);
  return 0;
}
