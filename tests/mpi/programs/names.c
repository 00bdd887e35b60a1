/* SPDX-License-Identifier: Apache-2.0
 * Calls on names of files and folders: names FOLDER COUNT. Prints the microseconds of each call's COUNT uses together,
 * and of those on a name that there is not. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char name[4096], other[4096];
static int count, folder, rank;

static void wrong(const char *what) {
  printf("rank %d: %s: %s\n", rank, what, strerror(errno));
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static int last(const char *path) { return (int)(strrchr(path, '/') + 1 - path); }

#define TIMES(what, call, right)                                           \
  do {                                                                     \
    const double begin = MPI_Wtime();                                      \
    for (int i = 0; i < count; i++)                                        \
      if (!((call)right)) wrong(what);                                     \
    if (rank == 0) printf("%s %.3f\n", what, (MPI_Wtime() - begin) * 1e6); \
  } while (0)
#define WORKS(what, call) TIMES(what, call, == 0)
#define OPENS(what, call) TIMES(what, close(call), == 0)

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  count = atoi(argv[2]);
  snprintf(name, sizeof name, "%s/file.%d", argv[1], rank);
  snprintf(other, sizeof other, "%s/other.%d", argv[1], rank);
  folder = open(argv[1], O_RDONLY | O_DIRECTORY);
  const char *here = name + last(name), *there = other + last(other);
  struct stat status;
  struct statx more;

  OPENS("open", open(name, O_CREAT | O_RDWR, 0640));
  if (stat(name, &status) != 0 || (status.st_mode & 0777) != 0640) wrong("the mode of a file that open() made");
  OPENS("openat", openat(folder, here, O_RDONLY));
  OPENS("creat", creat(name, 0600));
  TIMES("fopen", fclose(fopen(name, "r")), == 0);
  WORKS("stat", stat(name, &status));
  WORKS("lstat", lstat(name, &status));
  WORKS("fstatat", fstatat(folder, here, &status, 0));
  WORKS("statx", statx(folder, here, 0, STATX_SIZE, &more));
  WORKS("access", access(name, R_OK));
  WORKS("faccessat", faccessat(folder, here, R_OK, 0));
  WORKS("chmod", chmod(name, 0600));
  WORKS("truncate", truncate(name, 10));
  WORKS("utimensat", utimensat(folder, here, NULL, 0));
  WORKS("rename", (rename(name, other) || rename(other, name)));
  WORKS("renameat", (renameat(folder, here, folder, there) || renameat(folder, there, folder, here)));
  WORKS("link", (link(name, other) || unlink(other)));
  WORKS("symlink", (symlink("file", other) || unlinkat(folder, there, 0)));
  if (symlink("file", other) != 0) wrong("symlink");
  WORKS("remove", (remove(other) || symlink("file", other)));
  if (unlink(other) != 0) wrong("unlink");
  WORKS("mkdir", (mkdir(other, 0700) || rmdir(other)));
  WORKS("mkdirat", (mkdirat(folder, there, 0700) || unlinkat(folder, there, AT_REMOVEDIR)));
  TIMES("opendir", closedir(opendir(argv[1])), == 0);
  if (unlink(name) != 0) wrong("unlink");
  errno = 0;
  TIMES("absent", open(name, O_RDONLY), == -1 && errno == ENOENT);
  TIMES("absent-stat", stat(name, &status), == -1 && errno == ENOENT);
  TIMES("absent-fopen", fopen(name, "r"), == NULL && errno == ENOENT);
  MPI_Finalize();
}
