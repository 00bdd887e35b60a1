// SPDX-License-Identifier: Apache-2.0
// Large pages for the code of packed ranks.
//
// Problem: each packed rank has the MPI library at an address of its own. It is one copy in memory, but 64 ranks that
// take turns on a core need the translations of 64 copies: a hundred pages of 4 KiB each, far more than a processor
// keeps.
//
// Model: the beginning of a shared object up to the first page that is written to (headers, code, constants) is the
// same in all ranks, and in its file. The first rank that finds such an object copies it into a memory file of the
// host's, in pages of 2 MiB, and every rank maps that over its own. The mapping is private: a rank that changes its
// code, or its debugger, does so for itself.
//
// Left as they are: objects that do not begin at a multiple of 2 MiB (Linux places files of that size so on ext4 and
// XFS from 6.7 on), that are shorter, that are relocated in their code, or changed in any way before MPI_Init, or
// larger than EXN_MOST_TEXT_BYTES; and all of them where the kernel makes no such pages (MADV_COLLAPSE, Linux 6.1) or
// does not report one mapping (PROCMAP_QUERY, 6.11).
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/lib/ni.h"
#include "runtime/lib/switch.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define LARGE_PAGE ((uint64_t)1 << 21)
#define PAGE ((uint64_t)4096)
#define COPY_LIMIT_S 1  // after which a rank goes on without what another one copies

struct object {
  char *begins;
  uint64_t bytes;  // whole large pages
};

// Of an object at such a place: its large pages of which nothing is written. They may reach into what its loader has
// reserved and left empty.
static struct object find_text(const struct dl_phdr_info *info) {
  const struct object none = {0};
  uint64_t read_only = 0, written = UINT64_MAX;
  for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type == PT_DYNAMIC) {
      const ElfW(Dyn) *entry =
          (const ElfW(Dyn) *)(info->dlpi_addr + part->p_vaddr);  // NOLINT(performance-no-int-to-ptr)
      for (; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) return none;
    }
    if (part->p_type != PT_LOAD || written != UINT64_MAX) continue;
    if (part->p_flags & PF_W) {
      written = part->p_vaddr & ~(PAGE - 1);
    } else {
      // What lies in memory as in the file, from its beginning on.
      if (part->p_offset != part->p_vaddr || part->p_filesz != part->p_memsz) return none;
      if (read_only == 0 && part->p_vaddr != 0) return none;
      read_only = part->p_vaddr + part->p_filesz;
    }
  }
  if (info->dlpi_addr % LARGE_PAGE != 0 || written == UINT64_MAX) return none;
  const uint64_t up = (read_only + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
  const uint64_t bytes = up <= written ? up : read_only & ~(LARGE_PAGE - 1);
  if (bytes == 0 || bytes > EXN_MOST_TEXT_BYTES || read_only < LARGE_PAGE) return none;
  return (struct object){(char *)info->dlpi_addr, bytes};  // NOLINT(performance-no-int-to-ptr)
}

// Copies the file's beginning to its place, in large pages. False: the kernel makes none.
static bool copy_text(int texts, const struct exn_text *text, int file) {
  char *space = mmap(NULL, text->bytes + LARGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (space == MAP_FAILED) return false;
  char *to = (char *)(((uintptr_t)space + LARGE_PAGE - 1) &
                      ~(uintptr_t)(LARGE_PAGE - 1));  // NOLINT(performance-no-int-to-ptr)
  bool done =
      mmap(to, text->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, texts, (off_t)text->offset) != MAP_FAILED;
  if (done) madvise(to, text->bytes, MADV_HUGEPAGE);
  for (uint64_t at = 0; done && at < text->bytes;) {
    const ssize_t count = exanet_system_pread(file, to + at, text->bytes - at, (off_t)at);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) break;  // what is behind the file's end stays empty
    done = count > 0;
    at += (uint64_t)count;
  }
  done = done && madvise(to, text->bytes, MADV_COLLAPSE) == 0;
  munmap(space, text->bytes + LARGE_PAGE);
  return done;
}

static struct exn_file identify(const struct stat *status) {
  return (struct exn_file){status->st_dev, status->st_ino, (uint64_t)status->st_size, (uint64_t)status->st_mtim.tv_sec,
                           (uint64_t)status->st_mtim.tv_nsec};
}

// Returns the text of that file, once it is copied; NULL: there is none.
static const struct exn_text *find_copy(struct exn_texts *texts, int memory, int file, const struct exn_file *wanted,
                                        uint64_t bytes) {
  for (uint32_t i = 0; i < EXN_MOST_TEXTS; i++) {
    struct exn_text *text = &texts->of[i];
    uint32_t state = EXN_TEXT_NONE;
    if (__atomic_compare_exchange_n(&text->state, &state, EXN_TEXT_BEING_COPIED, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      text->file = *wanted;
      text->offset = i * EXN_MOST_TEXT_BYTES, text->bytes = bytes;
      state = copy_text(memory, text, file) ? EXN_TEXT_READY : EXN_TEXT_REFUSED;
      __atomic_store_n(&text->state, state, __ATOMIC_RELEASE);
      syscall(SYS_futex, &text->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    } else if (state == EXN_TEXT_BEING_COPIED) {
      syscall(SYS_futex, &text->state, FUTEX_WAIT, state, &(struct timespec){.tv_sec = COPY_LIMIT_S}, NULL, 0);
      state = __atomic_load_n(&text->state, __ATOMIC_ACQUIRE);
      if (state == EXN_TEXT_BEING_COPIED) return NULL;
    }
    if (memcmp(&text->file, wanted, sizeof *wanted) == 0)
      return state == EXN_TEXT_READY && text->bytes == bytes ? text : NULL;
  }
  return NULL;
}

// As ioctl(2) PROCMAP_QUERY of /proc/self/maps has it (Linux 6.11): one mapping, found by an address in it, at once
// however many there are.
struct mapping {
  uint64_t size, query_flags, query_address;
  uint64_t begin, end, flags, page_size, offset, inode;
  uint32_t device_major, device_minor, name_size, build_id_size;
  uint64_t name, build_id;
};
#define QUERY_MAPPING _IOWR('f', 17, struct mapping)
#define READABLE 1u
#define EXECUTABLE 4u

static bool find_mapping(int maps, uint64_t address, struct mapping *m) {
  *m = (struct mapping){.size = sizeof *m, .query_address = address};
  return ioctl(maps, QUERY_MAPPING, m) == 0;
}

// From `begin` to `end` it is mapped with these flags alone, from that place of the file on; with none, only of that
// file.
static bool is_mapped(int maps, const struct mapping *of, uint64_t begin, uint64_t end, uint64_t flags,
                      uint64_t offset) {
  struct mapping m;
  for (uint64_t at = begin; at < end; at = m.end) {
    if (!find_mapping(maps, at, &m) || m.flags != flags || m.inode != of->inode || m.device_major != of->device_major ||
        m.device_minor != of->device_minor || (flags != 0 && m.offset + (at - m.begin) != offset + (at - begin)))
      return false;
  }
  return true;
}

// Whether all of it is mapped as its loader has done it: nobody has changed a protection, or put something else there.
static bool is_as_loaded(int maps, const struct dl_phdr_info *info, const struct object *object, uint64_t inode) {
  const uint64_t base = info->dlpi_addr;
  struct mapping first;
  bool same = find_mapping(maps, base, &first) && first.inode == inode;
  uint64_t at = 0;
  for (uint16_t i = 0; same && i < info->dlpi_phnum && at < object->bytes; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_W)) continue;
    const uint64_t begin = part->p_vaddr & ~(PAGE - 1), end = (part->p_vaddr + part->p_filesz + PAGE - 1) & ~(PAGE - 1);
    const uint64_t flags = READABLE | (part->p_flags & PF_X ? EXECUTABLE : 0);
    same = is_mapped(maps, &first, base + at, base + begin, 0, 0) &&
           is_mapped(maps, &first, base + begin, base + end, flags, begin);
    at = end;
  }
  return same && is_mapped(maps, &first, base + at, base + object->bytes, 0, 0);
}

// Whether all of its pages are the file's, or not there yet: nobody, a debugger for one, has changed what lies there.
static bool is_as_in_file(const struct object *object) {
  const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62, of_file = UINT64_C(1) << 61;  // pagemap(5)
  uint64_t pages[512];
  const int map = exanet_system_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  bool same = map >= 0;
  for (uint64_t at = 0; same && at < object->bytes; at += sizeof pages / sizeof *pages * PAGE) {
    const off_t where = (off_t)(((uintptr_t)object->begins + at) / PAGE * sizeof *pages);
    same = exanet_system_pread(map, pages, sizeof pages, where) == (ssize_t)sizeof pages;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
      same = same && ((pages[i] & (present | swapped)) == 0 || (pages[i] & of_file) != 0);
  }
  if (map >= 0) exanet_system_close(map);
  return same;
}

struct search {
  struct exn_texts *texts;
  int memory, maps;
};

static int share(struct dl_phdr_info *info, size_t size, void *argument) {
  const struct search *search = argument;
  struct mapping headers;
  (void)size;
  if (!find_mapping(search->maps, (uintptr_t)info->dlpi_phdr, &headers) || (headers.flags & READABLE) == 0) return 0;
  const struct object object = find_text(info);
  if (object.bytes == 0 || !info->dlpi_name || info->dlpi_name[0] != '/') return 0;
  const int file = exanet_system_open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
  struct stat status;
  char head[PAGE];
  // Nothing of it is read before it is known to be there. Then it is still the file that was loaded, as far as its
  // first page says: headers, and where it was built.
  if (file >= 0 && fstat(file, &status) == 0 && is_as_loaded(search->maps, info, &object, status.st_ino) &&
      is_as_in_file(&object) && exanet_system_pread(file, head, sizeof head, 0) == (ssize_t)sizeof head &&
      memcmp(head, object.begins, sizeof head) == 0) {
    const struct exn_file wanted = identify(&status);
    const struct exn_text *text = find_copy(search->texts, search->memory, file, &wanted, object.bytes);
    if (text && mmap(object.begins, text->bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, search->memory,
                     (off_t)text->offset) != MAP_FAILED)
      madvise(object.begins, text->bytes, MADV_HUGEPAGE);
  }
  if (file >= 0) exanet_system_close(file);
  return 0;
}

void exn_share_texts(struct exn_texts *texts) {
  const int error = errno;
  struct search search = {texts, -1, -1};
  if (texts->path[0]) {
    search.memory = exanet_system_open(texts->path, O_RDWR | O_CLOEXEC);
    search.maps = exanet_system_open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  }
  if (search.memory >= 0 && search.maps >= 0) dl_iterate_phdr(share, &search);
  if (search.memory >= 0) exanet_system_close(search.memory);
  if (search.maps >= 0) exanet_system_close(search.maps);
  errno = error;
}
