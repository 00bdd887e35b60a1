/* SPDX-License-Identifier: Apache-2.0
 * What ranks have published with MPICH's launcher about themselves, read without asking it.
 *
 * Problem: each rank asks for the address of every other one, a question at a time over a socket: a million round
 * trips for a thousand ranks.
 *
 * Model: at each barrier the launcher (exanet/run/pmi1.py) adds what was put before it to a file in memory, whose
 * lines are `key value`, in the order of the keys' numbers, which is that of MPICH's questions. A question for one
 * of them is answered here: what would be written is taken, and the next read from the launcher's socket returns the
 * answer. All else goes to the launcher.
 *
 * Limits: MPICH asks one question at a time, in one write, and reads the answer at once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "beside.h"

#define TABLE_BYTES (16ul << 20) /* as in pmi1.py: the length of the lines, then the lines */
#define QUESTION "cmd=get "
#define KEY " key="
#define ABORT "cmd=abort exitcode="
#define ANSWER "cmd=get_result rc=0 msg=success value="
#define ANSWER_MOST 8192 /* more than any value of the launcher's */

static struct {
  char text[ANSWER_MOST];
  size_t begin, end; /* what of it is still to be read */
} answer;

/* The lines and their length; NULL where there is no launcher of ours. */
static const char *lines(size_t *length) {
  static const char *map;
  static bool tried;
  if (!tried) {
    const char *path = getenv("EXANET_PMI_TABLE");
    const int file = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *got = file >= 0 ? mmap(NULL, TABLE_BYTES, PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0) close(file);
    map = got != MAP_FAILED ? got : NULL;
    tried = true;
  }
  if (map == NULL) return NULL;
  const uint64_t written = __atomic_load_n((const uint64_t *)map, __ATOMIC_ACQUIRE);
  *length = written <= TABLE_BYTES - sizeof written ? written : 0;
  return map + sizeof written;
}

/* The value of a key, without an end of its own; NULL if the table does not have it. Looks on from behind the last
   one. */
static const char *find(const char *key, size_t key_length, size_t *value_length) {
  static size_t next;
  size_t length = 0;
  const char *table = lines(&length);
  if (table == NULL) return NULL;
  if (next > length) next = 0;
  for (size_t at = next, looked = 0; looked < length;) {
    const char *line = table + at, *end = memchr(line, '\n', length - at);
    if (end == NULL) return NULL;
    const size_t bytes = (size_t)(end - line) + 1;
    looked += bytes;
    at = at + bytes < length ? at + bytes : 0;
    if (bytes > key_length + 1 && line[key_length] == ' ' && memcmp(line, key, key_length) == 0) {
      next = at;
      *value_length = bytes - key_length - 2;
      return line + key_length + 1;
    }
  }
  return NULL;
}

bool exanet_pmi_asked(const char *text, size_t size) {
  if (size < sizeof QUESTION || memcmp(text, QUESTION, sizeof QUESTION - 1) != 0 || text[size - 1] != '\n')
    return false;
  const char *key = memmem(text, size, KEY, sizeof KEY - 1);
  if (key == NULL || answer.begin < answer.end) return false;
  key += sizeof KEY - 1;
  const char *key_end = memchr(key, ' ', (size_t)(text + size - key));
  const size_t key_length = (size_t)((key_end != NULL ? key_end : text + size - 1) - key);
  size_t value_length = 0;
  const char *value = find(key, key_length, &value_length);
  if (value == NULL || value_length > ANSWER_MOST - sizeof ANSWER - 1) return false;
  answer.begin = 0;
  answer.end = (size_t)snprintf(answer.text, ANSWER_MOST, ANSWER "%.*s\n", (int)value_length, value);
  return true;
}

static int abort_code = -1; /* that the launcher has; -1: nothing */

void exanet_pmi_aborts(const char *text, size_t size) {
  char line[64];
  const size_t bytes = size < sizeof line - 1 ? size : sizeof line - 1;
  memcpy(line, text, bytes);
  line[bytes] = 0;
  int code = 0;
  if (sscanf(line, ABORT "%d", &code) != 1) return;
  /* Of an error of its own MPICH gives a number with a place in a table, which differs from run to run: the class is in
     the lowest bits. */
  abort_code = code & 0xff;
  struct exanet_ni *ni = exanet_process_ni();
  if (ni == NULL || !exanet_is_virtual(ni) || exanet_helper_thread == 1) return;
  exanet_abort(ni, abort_code);
  exanet_go_no_further(ni);
}

void exanet_pmi_left(void) {
  if (abort_code >= 0) _exit(abort_code);
}

ssize_t exanet_pmi_answered(char *buffer, size_t size) {
  const size_t left = answer.end - answer.begin, bytes = left < size ? left : size;
  memcpy(buffer, answer.text + answer.begin, bytes);
  answer.begin += bytes;
  return (ssize_t)bytes;
}
