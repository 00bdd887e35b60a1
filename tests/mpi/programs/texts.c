// SPDX-License-Identifier: Apache-2.0
// Where the MPI library's code lies: each rank prints whether it is on large pages that ranks share, and whether it
// could be; rank 1 changes its own behind MPI_Init, or before: "write", "protect", "hide" and "map" say how.
#define _GNU_SOURCE
#include <link.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define LARGE ((size_t)1 << 21)
#define UNUSED 9  // a byte of an object's header that means nothing

static char *library;  // where it begins

static int find(struct dl_phdr_info *info, size_t size, void *argument) {
  (void)size, (void)argument;
  if (strstr(info->dlpi_name, "/libmpi.so")) library = (char *)info->dlpi_addr;
  return 0;
}

// The kernel makes large pages of a memory file's.
static bool kernel_can(void) {
  const int file = memfd_create("probe", 0);
  if (file < 0 || ftruncate(file, (off_t)LARGE)) return false;
  char *space = mmap(NULL, 2 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *at = (char *)(((uintptr_t)space + LARGE - 1) & ~(LARGE - 1));
  if (mmap(at, LARGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) return false;
  memset(at, 1, LARGE);
  const bool can = madvise(at, LARGE, MADV_COLLAPSE) == 0;
  munmap(space, 2 * LARGE);
  close(file);
  return can;
}

// Bytes of the mapping at that address that are on large pages; -1: it is no shared text.
static long large_kib(const char *at) {
  char line[512];
  bool here = false;
  long kib = -1;
  FILE *maps = fopen("/proc/self/smaps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
      here = begin == (uintptr_t)at && strstr(line, "memfd:exanet-texts");
      if (here) kib = 0;
    } else if (here && strncmp(line, "ShmemPmdMapped:", 15) == 0) {
      sscanf(line + 15, "%ld", &kib);
    }
  }
  if (maps) fclose(maps);
  return kib;
}

static void write_to(size_t at, int value) {
  if (mprotect(library + at / 4096 * 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC)) perror("mprotect");
  ((volatile char *)library)[at] = (char)value;
}

// In rank 1, before MPI_Init; each leaves what lies there as it was, or what it puts there.
static int *own;

static void change(const char *how) {
  if (strcmp(how, "write") == 0) write_to(8192, library[8192]);  // a page of its own, of which nothing differs
  if (strcmp(how, "protect") == 0 && mprotect(library + 8192, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
    perror("mprotect");
  if (strcmp(how, "hide") == 0 && mprotect(library, 4096, PROT_NONE)) perror("mprotect");
  if (strcmp(how, "map") == 0) {  // over code that is not called
    char *page = (char *)((uintptr_t)&PMPI_Type_create_darray & ~(uintptr_t)4095);
    own = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    *own = 77;
  }
}

int main(int argc, char **argv) {
  int rank;
  const bool early = argc > 1;
  dl_iterate_phdr(find, NULL);
  if (early && strcmp(getenv("PMI_RANK"), "1") == 0) change(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const long kib = large_kib(library);
  // Rank by rank, so that one that changes its own would be noticed by others.
  MPI_Barrier(MPI_COMM_WORLD);
  if (!early && rank == 1) write_to(UNUSED, 0x5a);
  MPI_Barrier(MPI_COMM_WORLD);
  if (own && *own != 77) printf("rank %d has lost its memory\n", rank);
  if (early && rank == 1 && strcmp(argv[1], "hide") == 0 && mprotect(library, 4096, PROT_READ)) perror("mprotect");
  if (early && rank == 1 && strcmp(argv[1], "protect") == 0) ((volatile char *)library)[8192] = library[8192];
  printf("rank %d: possible %d, large %ld KiB, byte %d\n", rank, (uintptr_t)library % LARGE == 0 && kernel_can(), kib,
         library[UNUSED]);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
