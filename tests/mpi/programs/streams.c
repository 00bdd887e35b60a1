/* SPDX-License-Identifier: Apache-2.0
 * Streams of stdio in each of some folders: streams FOLDER... What is printed of one folder is the same for all. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[4096], bytes[9000];

static long size_of(void) {
  struct stat status;
  return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

static void write_lines(void) {
  FILE *stream = fopen(path, "wx");
  printf("new %d, again %d\n", stream != NULL, fopen(path, "wx") == NULL && errno == EEXIST);
  for (int i = 0; i < 3000; i++) fprintf(stream, "line %d\n", i);
  printf("position %ld, ", ftell(stream));
  fflush(stream);
  printf("size %ld, ", size_of());
  printf("closed %d\n", fclose(stream));
}

static void append(void) {
  FILE *stream = fopen(path, "a+");
  char *line = NULL;
  size_t space = 0;
  fputs("tail\n", stream);
  printf("behind %ld, ", ftell(stream));
  rewind(stream);
  printf("%zd %s", getline(&line, &space, stream), line);
  const int first = fgetc(stream);
  ungetc(first, stream);
  printf("back %d at %ld\n", fgetc(stream) == first, ftell(stream));
  fseek(stream, -5, SEEK_END);
  printf("%s", fgets(bytes, 100, stream));
  printf("end %d\n", fgetc(stream) == EOF && feof(stream));
  free(line);
  fclose(stream);
}

static void change(void) {
  FILE *stream = fopen(path, "r+");
  fseek(stream, 100, SEEK_SET);
  fwrite("XYZ", 1, 3, stream);
  fseek(stream, 0, SEEK_CUR);
  printf("read %zu to %ld, ", fread(bytes, 1, sizeof bytes, stream), ftell(stream));
  fseek(stream, 98, SEEK_SET);
  printf("%zu %.7s\n", fread(bytes, 1, 7, stream), bytes);
  fclose(stream);
}

static void buffers(void) {
  FILE *stream = fopen(path, "r");
  setvbuf(stream, NULL, _IONBF, 0);
  printf("unbuffered %zu %d, ", fread(bytes, 1, 7, stream), fgetc(stream));
  printf("not for writing %d %d\n", fputc('x', stream), ferror(stream) != 0);
  fclose(stream);
  unsigned sum = 0;
  int byte;
  stream = fopen(path, "re");
  printf("closed at exec %d, ", fcntl(fileno(stream), F_GETFD));
  setvbuf(stream, bytes, _IOFBF, 512);
  while ((byte = getc(stream)) != EOF) sum = sum * 31 + (unsigned)byte;
  printf("sum %u\n", sum);
  fclose(stream);
}

static void descriptors(const char *folder) {
  snprintf(path, sizeof path, "%s/XXXXXX", folder);
  const int fd = mkstemp(path);
  FILE *stream = fdopen(fd, "w+");
  printf("same %d, ", fileno(stream) == fd);
  fprintf(stream, "hello");
  printf("cut %d, ", fflush(stream) == 0 && ftruncate(fileno(stream), 4) == 0);
  rewind(stream);
  printf("%d %s, ", fscanf(stream, "%99s", bytes), bytes);
  printf("closed %d, then %d\n", fclose(stream), close(fd));
  unlink(path);
  printf("folder %d, none %d\n", fopen(folder, "w") == NULL && errno == EISDIR, fopen("/nowhere/at/all", "r") == NULL);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  for (int i = 1; i < argc; i++) {
    printf("folder\n");
    snprintf(path, sizeof path, "%s/stream", argv[i]);
    write_lines();
    append();
    change();
    buffers();
    descriptors(argv[i]);
    snprintf(path, sizeof path, "%s/kept", argv[i]);
    fprintf(fopen(path, "w"), "what no one closes is written at the end");
  }
  MPI_Finalize();
  return 0;
}
