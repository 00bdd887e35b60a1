/* SPDX-License-Identifier: Apache-2.0
 * Reads and writes files in one way or another, and prints how long each takes: storage FOLDER BYTES COUNT WAY...
 * A way is a name, or `FOLDER/NAME` for a folder in the first one.
 * Each rank has a file of its own, but for MPI's, which is shared. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static char path[4096];
static char *bytes;
static size_t size;
static int count, rank, ranks;

static void wrong(const char *what) {
  printf("rank %d: %s: %s\n", rank, what, strerror(errno));
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

static void check(ssize_t moved, const char *what) {
  if (moved != (ssize_t)size) wrong(what);
}

static void same(const char *what) {
  for (size_t i = 0; i < size; i += 997)
    if (bytes[i] != (char)(i * 7 + rank)) wrong(what);
}

static int opened(int flags) {
  const int fd = open(path, flags, 0644);
  if (fd < 0) wrong("open");
  return fd;
}

static void with_write(void) {
  const int fd = opened(O_WRONLY | O_CREAT | O_TRUNC);
  for (int i = 0; i < count; i++) check(write(fd, bytes, size), "write");
  close(fd);
}

static void without_close(void) {
  const int fd = opened(O_WRONLY | O_CREAT | O_TRUNC);
  for (int i = 0; i < count; i++) check(write(fd, bytes, size), "write");
}

/* By threads at once, each to a file of its own. */
static void *in_thread(void *number) {
  char name[sizeof path + 8];
  snprintf(name, sizeof name, "%s.%d", path, (int)(long)number);
  const int fd = open(name, O_WRONLY | O_CREAT, 0644);
  for (int i = 0; i < count; i++) check(write(fd, bytes, size), "write");
  close(fd);
  return NULL;
}
static void with_threads(int threads) {
  pthread_t all[2];
  for (long i = 0; i < threads; i++) pthread_create(&all[i], NULL, in_thread, (void *)i);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
}
static void with_thread(void) { with_threads(1); }
static void with_two_threads(void) { with_threads(2); }

static void with_read(void) {
  const int fd = opened(O_RDONLY);
  for (int i = 0; i < count; i++) check(read(fd, bytes, size), "read");
  same("read");
  if (read(fd, bytes, 1) != 0) wrong("end of file");
  close(fd);
}

static void with_pwrite(void) {
  const int fd = opened(O_WRONLY | O_CREAT);
  for (int i = count; i-- > 0;) check(pwrite(fd, bytes, size, (off_t)i * (off_t)size), "pwrite");
  close(fd);
}

static void with_pread(void) {
  const int fd = opened(O_RDONLY);
  for (int i = count; i-- > 0;) check(pread(fd, bytes, size, (off_t)i * (off_t)size), "pread");
  same("pread");
  close(fd);
}

static void with_vectors(void) {
  const int fd = opened(O_RDWR | O_CREAT);
  struct iovec parts[2] = {{bytes, size / 2}, {bytes + size / 2, size - size / 2}};
  for (int i = 0; i < count; i++) check(writev(fd, parts, 2), "writev");
  lseek(fd, 0, SEEK_SET);
  for (int i = 0; i < count; i++) check(readv(fd, parts, 2), "readv");
  same("readv");
  close(fd);
}

static void with_sync(void) {
  const int fd = opened(O_WRONLY);
  for (int i = 0; i < count; i++)
    if (fsync(fd) != 0) wrong("fsync");
  close(fd);
}

static void with_stdio(void) {
  FILE *stream = fopen(path, "w+");
  if (stream == NULL) wrong("fopen");
  for (int i = 0; i < count; i++)
    if (fwrite(bytes, 1, size, stream) != size) wrong("fwrite");
  if (fileno(stream) < 0 || fsync(fileno(stream)) != 0) wrong("fileno");
  rewind(stream);
  memset(bytes, 0, size);
  for (int i = 0; i < count; i++)
    if (fread(bytes, 1, size, stream) != size) wrong("fread");
  same("fread");
  if (fgetc(stream) != EOF || !feof(stream)) wrong("end of stream");
  if (fseek(stream, 3, SEEK_SET) != 0 || fprintf(stream, "%d", 12345) != 5 || ftell(stream) != 8) wrong("fprintf");
  if (fclose(stream) != 0) wrong("fclose");
  stream = fopen(path, "r");
  int number = 0;
  if (stream == NULL || fseek(stream, 3, SEEK_SET) != 0 || fscanf(stream, "%5d", &number) != 1 || number != 12345)
    wrong("fscanf");
  fclose(stream);
}

/* A file's name is as long as the rank's own: the last figure is taken off. */
static MPI_File shared(int mode) {
  MPI_File file;
  char name[sizeof path + 8];
  snprintf(name, sizeof name, "%.*s.shared", (int)(strrchr(path, '.') - path), path);
  if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) wrong("MPI_File_open");
  return file;
}

static MPI_Offset place(int i) { return (MPI_Offset)size * (i * ranks + rank); }

static void with_mpi(void) {
  MPI_File file = shared(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  for (int i = 0; i < count; i++)
    if (MPI_File_write_at(file, place(i), bytes, (int)size, MPI_BYTE, &status) != MPI_SUCCESS)
      wrong("MPI_File_write_at");
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; i++)
    if (MPI_File_read_at(file, place(i), bytes, (int)size, MPI_BYTE, &status) != MPI_SUCCESS) wrong("MPI_File_read_at");
  same("MPI_File_read_at");
  MPI_File_close(&file);
}

static void with_mpi_all(void) {
  MPI_File file = shared(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  for (int i = 0; i < count; i++) MPI_File_write_at_all(file, place(i), bytes, (int)size, MPI_BYTE, &status);
  for (int i = 0; i < count; i++) MPI_File_read_at_all(file, place(i), bytes, (int)size, MPI_BYTE, &status);
  same("MPI_File_read_at_all");
  MPI_File_close(&file);
}

static void with_mpi_later(void) {
  MPI_File file = shared(MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int i = 0; i < count; i++) {
    MPI_Request request;
    MPI_File_iwrite_at(file, place(i), bytes, (int)size, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, place(i), bytes, (int)size, MPI_BYTE, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  same("MPI_File_iread_at");
  MPI_File_close(&file);
}

/* Until the device of the host is full; what was written until then counts. */
static void until_full(void) {
  const int fd = opened(O_WRONLY | O_CREAT);
  while (write(fd, bytes, size) > 0) {
  }
  printf("full: %s\n", strerror(errno));
  close(fd);
}

static void absent(void) {
  const int fd = open("/nowhere/at/all", O_RDONLY), shut = opened(O_RDONLY);
  printf("absent: %d\n", fd);
  int moved = (int)write(shut, bytes, 1);
  printf("not for writing: %d %s\n", moved, strerror(errno));
  close(shut);
  moved = (int)read(shut, bytes, 1);
  printf("closed: %d %s\n", moved, strerror(errno));
}

/* The first rank alone. */
static void first_write(void) {
  if (rank == 0) with_write();
}
static void first_read(void) {
  if (rank == 0) with_read();
}

/* Halves of round trips between the first rank and the last one, the longest of them, while the others write. */
static void beside(void) {
  const int other = ranks - 1;
  if (rank != 0 && rank != other) {
    with_write();
    return;
  }
  double longest = 0, sum = 0;
  char word[8] = {0};
  for (int i = 0; i < 200; i++) {
    const double begin = MPI_Wtime();
    for (int turn = 0; turn < 2; turn++) {
      if ((turn == 0) == (rank == 0))
        MPI_Send(word, 8, MPI_BYTE, other - rank, 0, MPI_COMM_WORLD);
      else
        MPI_Recv(word, 8, MPI_BYTE, other - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    const double half = (MPI_Wtime() - begin) / 2;
    longest = half > longest ? half : longest;
    sum += half;
  }
  const char *end = strrchr(path, '/'), *place = end;
  while (place > path && place[-1] != '/') place--;
  if (rank == 0) printf("latency:%.*s %.9f %.9f\n", (int)(end - place), place, sum / 200, longest);
}

/* From the first rank to the second one. */
static void message(void) {
  if (rank == 0) MPI_Send(bytes, (int)size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(bytes, (int)size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } ways[] = {{"write", with_write},
              {"thread", with_thread},
              {"two-threads", with_two_threads},
              {"unclosed", without_close},
              {"read", with_read},
              {"pwrite", with_pwrite},
              {"pread", with_pread},
              {"vectors", with_vectors},
              {"sync", with_sync},
              {"stdio", with_stdio},
              {"mpi", with_mpi},
              {"mpi-all", with_mpi_all},
              {"mpi-later", with_mpi_later},
              {"full", until_full},
              {"absent", absent},
              {"beside", beside},
              {"first-write", first_write},
              {"first-read", first_read},
              {"message", message}};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  size = strtoul(argv[2], NULL, 0);
  count = atoi(argv[3]);
  bytes = malloc(size);
  for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 7 + rank);
  for (int a = 4; a < argc; a++) {
    const char *slash = strchr(argv[a], '/'), *name = slash != NULL ? slash + 1 : argv[a];
    snprintf(path, sizeof path, "%s/%.*sfile.%d", argv[1], (int)(name - argv[a]), argv[a], rank);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
      if (strcmp(name, ways[i].name) != 0) continue;
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      ways[i].run();
      double took = MPI_Wtime() - begin, longest = 0;
      MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (rank == 0) printf("%s %.9f %.9f\n", argv[a], took, longest);
    }
  }
  MPI_Finalize();
  return 0;
}
