/* SPDX-License-Identifier: Apache-2.0
 * Writes records into a mapped file, a piece after the other.
 *
 * Problem: a rank may be killed at any moment, and a disk may be full. Model: a record is put together in memory;
 * its fields are stored, then its length, and its code last, so that what a reader meets is whole; space for a piece
 * is taken before it is mapped, so that a full disk is an error and no signal. Limit: one stream a process. */
#define _GNU_SOURCE
#include "runtime/record/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE (UINT64_C(1) << 18)
#define LONGEST_FIELD 10 /* bytes of 64 bits in groups of seven */

static int file = -1;
static uint8_t *piece; /* mapped: PIECE bytes from piece_at on */
static uint64_t piece_at, end_at;

static struct {
  uint8_t code;
  uint8_t *bytes;
  size_t used, capacity;
  bool lost;
} record;

static int map_piece(uint64_t at) {
  if (piece != NULL) munmap(piece, PIECE);
  piece = NULL;
  const int status = posix_fallocate(file, (off_t)at, (off_t)PIECE);
  if (status != 0) return status;
  void *mapped = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
  if (mapped == MAP_FAILED) return errno;
  piece = mapped;
  piece_at = at;
  return 0;
}

static int store(uint64_t at, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    if (piece == NULL || at < piece_at || at >= piece_at + PIECE) {
      const int status = map_piece(at / PIECE * PIECE);
      if (status != 0) return status;
      if (piece == NULL) return EFAULT;
    }
    const uint64_t capacity = piece_at + PIECE - at, part = count < capacity ? count : capacity;
    memcpy(piece + (at - piece_at), bytes, part);
    at += part;
    bytes += part;
    count -= part;
  }
  return 0;
}

int exanet_stream_open(const char *path, const void *header, size_t bytes) {
  file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  end_at = bytes;
  const int status = store(0, header, bytes);
  if (status != 0) exanet_stream_close();
  return status;
}

void exanet_stream_close(void) {
  if (file < 0) return;
  if (piece != NULL) munmap(piece, PIECE);
  piece = NULL;
  if (ftruncate(file, (off_t)end_at) != 0) end_at = 0; /* a reader takes zeros for the end as well */
  close(file);
  file = -1;
}

void exanet_stream_begin(uint8_t code) {
  record.code = code;
  record.used = 0;
}

static bool make_space(size_t bytes) {
  if (record.used + bytes <= record.capacity) return true;
  size_t capacity = record.capacity ? 2 * record.capacity : 512;
  while (capacity < record.used + bytes) capacity *= 2;
  uint8_t *grown = realloc(record.bytes, capacity);
  if (grown == NULL) {
    record.lost = true;
    return false;
  }
  record.bytes = grown;
  record.capacity = capacity;
  return true;
}

static size_t encode(uint8_t *to, uint64_t value) {
  size_t n = 0;
  for (; value >= 128; value >>= 7) to[n++] = (uint8_t)(value | 128);
  to[n++] = (uint8_t)value;
  return n;
}

void exanet_stream_put(uint64_t field) {
  if (make_space(LONGEST_FIELD)) record.used += encode(record.bytes + record.used, field);
}

const uint8_t *exanet_stream_fields(size_t *bytes) {
  *bytes = record.used;
  return record.bytes;
}

void exanet_stream_put_fields(const uint8_t *fields, size_t bytes) {
  if (bytes == 0 || !make_space(bytes)) return;
  memcpy(record.bytes + record.used, fields, bytes);
  record.used += bytes;
}

int exanet_stream_end(void) {
  if (file < 0) return 0;
  uint8_t length[LONGEST_FIELD];
  const size_t prefix = encode(length, record.used);
  int status = record.lost ? ENOMEM : store(end_at + 1, length, prefix);
  if (status == 0) status = store(end_at + 1 + prefix, record.bytes, record.used);
  if (status == 0) status = store(end_at, &record.code, 1);
  if (status == 0)
    end_at += 1 + prefix + record.used;
  else
    exanet_stream_close();
  return status;
}
