/* SPDX-License-Identifier: Apache-2.0
 * Exec in user space: a program and its dynamic loader mapped once more, and a stack as execve() makes it.
 *
 * Model: the PT_LOAD segments of both at addresses of their own; a stack with argument count, argv, envp and the
 * auxiliary vector (System V ABI for x86-64, 3.4.1). Of the vector, the entries that describe the program are
 * replaced, and the others are the calling process's own: the vDSO, the processor's properties, the file's name. The
 * loader then does all else, as after execve(): libraries, thread-local storage, libc.
 *
 * Limits: x86-64. The program must be position-independent and have a dynamic loader. What it maps stays until the
 * address space ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/exec/hosted.h"
#include "runtime/lib/switch.h"

#define PAGE ((uintptr_t)4096)
#define MOST_SEGMENTS 64
#define MOST_AUXILIARY 64
#define SMALLEST_STACK ((size_t)1 << 17)
#define LARGEST_STACK ((size_t)1 << 30)

struct mapped {
  uintptr_t entry, bias, headers;
  size_t header_count;
  uint32_t stack_flags;
  char interpreter[PATH_MAX];
};

static uintptr_t page_down(uintptr_t at) { return at & ~(PAGE - 1); }
static uintptr_t page_up(uintptr_t at) { return (at + PAGE - 1) & ~(PAGE - 1); }

static int protection(uint32_t flags) {
  static const int kBits[] = {[PF_X] = PROT_EXEC, [PF_W] = PROT_WRITE, [PF_R] = PROT_READ};
  return kBits[flags & PF_X] | kBits[flags & PF_W] | kBits[flags & PF_R];
}

/* Address space for all segments, aligned as they ask for. */
static uintptr_t reserve(uintptr_t size, uintptr_t alignment) {
  char *space = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return 0;
  const uintptr_t at = (uintptr_t)space, aligned = (at + alignment - 1) & ~(alignment - 1);
  if (aligned > at) munmap(space, aligned - at);
  munmap((char *)(aligned + size), alignment - (aligned - at));
  return aligned;
}

static int map_segment(int file, const Elf64_Phdr *segment, uintptr_t bias) {
  const uintptr_t from = page_down(bias + segment->p_vaddr), ends = bias + segment->p_vaddr + segment->p_filesz;
  const uintptr_t until = page_up(bias + segment->p_vaddr + segment->p_memsz);
  const int kind = MAP_PRIVATE | MAP_FIXED, allowed = protection(segment->p_flags);
  uintptr_t filled = from;
  if (segment->p_filesz > 0) {
    filled = page_up(ends);
    if (mmap((void *)from, filled - from, allowed, kind, file, (off_t)page_down(segment->p_offset)) == MAP_FAILED)
      return -errno;
    /* What follows in the file is not the program's zeros. */
    if (segment->p_memsz > segment->p_filesz && (allowed & PROT_WRITE)) memset((void *)ends, 0, filled - ends);
  }
  if (until > filled && mmap((void *)filled, until - filled, allowed, kind | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
    return -errno;
  return 0;
}

static int note_headers(int file, const Elf64_Ehdr *header, const Elf64_Phdr *segments, struct mapped *out) {
  out->header_count = header->e_phnum;
  for (size_t i = 0; i < header->e_phnum; i++) {
    const Elf64_Phdr *s = &segments[i];
    if (s->p_type == PT_LOAD && s->p_offset <= header->e_phoff && header->e_phoff < s->p_offset + s->p_filesz)
      out->headers = out->bias + s->p_vaddr + (header->e_phoff - s->p_offset);
    if (s->p_type == PT_GNU_STACK) out->stack_flags = s->p_flags;
    if (s->p_type != PT_INTERP) continue;
    if (s->p_filesz >= sizeof out->interpreter) return -ENOEXEC;
    if (pread(file, out->interpreter, s->p_filesz, (off_t)s->p_offset) != (ssize_t)s->p_filesz) return -ENOEXEC;
    out->interpreter[s->p_filesz] = 0;
  }
  return 0;
}

static int map_file(int file, struct mapped *out) {
  Elf64_Ehdr header;
  Elf64_Phdr segments[MOST_SEGMENTS];
  *out = (struct mapped){.stack_flags = PF_R | PF_W};
  if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
      memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_type != ET_DYN || header.e_machine != EM_X86_64 ||
      header.e_phentsize != sizeof *segments || header.e_phnum > MOST_SEGMENTS)
    return -ENOEXEC;
  const size_t bytes = header.e_phnum * sizeof *segments;
  if (pread(file, segments, bytes, (off_t)header.e_phoff) != (ssize_t)bytes) return -ENOEXEC;
  uintptr_t low = UINTPTR_MAX, high = 0, alignment = PAGE;
  for (size_t i = 0; i < header.e_phnum; i++) {
    const Elf64_Phdr *s = &segments[i];
    if (s->p_type != PT_LOAD) continue;
    if (page_down(s->p_vaddr) < low) low = page_down(s->p_vaddr);
    if (page_up(s->p_vaddr + s->p_memsz) > high) high = page_up(s->p_vaddr + s->p_memsz);
    if (s->p_align > alignment) alignment = s->p_align;
  }
  if (high <= low) return -ENOEXEC;
  const uintptr_t space = reserve(high - low, alignment);
  if (!space) return -errno;
  out->bias = space - low;
  out->entry = out->bias + header.e_entry;
  for (size_t i = 0; i < header.e_phnum; i++) {
    const int error = segments[i].p_type == PT_LOAD ? map_segment(file, &segments[i], out->bias) : 0;
    if (error) return error;
  }
  return note_headers(file, &header, segments, out);
}

/* -- the stack ----------------------------------------------------------------------------------------------------- */
/* A page that nobody may touch at either end: below, so that an overflow is one; above, so that the C library finds
   where the stack ends. */
static int make_stack(uint32_t flags, uintptr_t *low, uintptr_t *high) {
  struct rlimit limit;
  getrlimit(RLIMIT_STACK, &limit);
  const size_t asked = limit.rlim_cur < LARGEST_STACK ? limit.rlim_cur : LARGEST_STACK;
  const size_t size = page_up(asked > SMALLEST_STACK ? asked : SMALLEST_STACK);
  char *space = mmap(NULL, size + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (space == MAP_FAILED) return -errno;
  if (mprotect(space + PAGE, size, protection(flags))) return -errno;
  *low = (uintptr_t)space + PAGE;
  *high = *low + size;
  return 0;
}

static size_t own_auxiliary(Elf64_auxv_t *vector, uintptr_t workers) {
  const int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t bytes = read(file, vector, (MOST_AUXILIARY - 2) * sizeof *vector);
  close(file);
  size_t count = bytes < 0 ? 0 : (size_t)bytes / sizeof *vector;
  while (count > 0 && vector[count - 1].a_type == AT_NULL) count--;
  if (workers) vector[count++] = (Elf64_auxv_t){.a_type = EXN_AT_WORKERS, .a_un.a_val = workers};
  vector[count++] = (Elf64_auxv_t){.a_type = AT_NULL};
  return count;
}

static void describe(Elf64_auxv_t *entry, const struct mapped *program, const struct mapped *loader, uintptr_t random) {
  switch (entry->a_type) {
    case AT_PHDR: entry->a_un.a_val = program->headers; break;
    case AT_PHNUM: entry->a_un.a_val = program->header_count; break;
    case AT_ENTRY: entry->a_un.a_val = program->entry; break;
    case AT_BASE: entry->a_un.a_val = loader->bias; break;
    case AT_RANDOM: entry->a_un.a_val = random; break;
    default: break;
  }
}

/* Returns the next string's address. */
static char *put_strings(uintptr_t **word, char *text, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    *(*word)++ = (uintptr_t)text;
    text += strlen(text) + 1;
  }
  *(*word)++ = 0;
  return text;
}

static int fill_stack(struct exn_request *request, const struct mapped *program, const struct mapped *loader,
                      uintptr_t workers, struct exn_image *out) {
  uintptr_t low = 0, high = 0;
  const int error = make_stack(program->stack_flags, &low, &high);
  if (error) return error;
  const uintptr_t random = high - 16;
  if (getrandom((void *)random, 16, 0) != 16) return -EIO;
  Elf64_auxv_t vector[MOST_AUXILIARY];
  const size_t count = own_auxiliary(vector, workers);
  for (size_t i = 0; i < count; i++) describe(&vector[i], program, loader, random);
  const size_t words = 1 + request->arguments + 1 + request->variables + 1;
  const size_t bytes = words * sizeof(uintptr_t) + count * sizeof *vector;
  if (bytes > (high - low) / 4) return -E2BIG;
  out->stack = (random - bytes) & ~(uintptr_t)15;
  uintptr_t *word = (uintptr_t *)out->stack;
  *word++ = request->arguments;
  char *text = put_strings(&word, (char *)(request + 1), request->arguments);
  put_strings(&word, text, request->variables);
  memcpy(word, vector, count * sizeof *vector);
  out->below = page_down(out->stack) - PAGE;
  out->entry = loader->entry;
  return 0;
}

int exn_load(int program_file, struct exn_request *request, uintptr_t workers, struct exn_image *out) {
  struct mapped program, loader;
  int error = map_file(program_file, &program);
  if (error) return error;
  if (!program.interpreter[0] || !program.headers) return -ENOEXEC;
  const int file = open(program.interpreter, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  error = map_file(file, &loader);
  close(file);
  return error ? error : fill_stack(request, &program, &loader, workers, out);
}
