/* SPDX-License-Identifier: Apache-2.0
 * Waiting for files that MPI reads and writes beside the program (MPI_File_iread() and its kin): MPI libraries ask
 * the C library, between two polls of the network, whether it is done.
 *
 * Problem: a rank whose polls are empty sleeps in the network, and a run in which all do so has nothing left to
 * simulate: it looks like a deadlock.
 *
 * Model: like all input and output it takes real time and no virtual time. Who asks whether it is done waits until
 * it is. */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>

#include "clock.h"

static int error_of(int (*ask)(const struct aiocb *), const struct aiocb *request) {
  int status = ask(request);
  if (status != EINPROGRESS || exanet_virtual_ni() == NULL) return status;
  const struct aiocb *const list[] = {request};
  while ((status = ask(request)) == EINPROGRESS) aio_suspend(list, 1, NULL);
  return status;
}

EXPORT int aio_error(const struct aiocb *request) {
  static void *slot;
  return error_of((int (*)(const struct aiocb *))exanet_real(&slot, "aio_error", NULL), request);
}

/* The same function, under the name that it has for whoever asks for offsets of 64 bits. */
EXPORT int aio_error64(const struct aiocb64 *request) {
  static void *slot;
  return error_of((int (*)(const struct aiocb *))exanet_real(&slot, "aio_error64", NULL),
                  (const struct aiocb *)request);
}
