/* SPDX-License-Identifier: Apache-2.0
 * The protocol between exanet-exec and the host of packed ranks (host.c).
 *
 * Over a connection of an abstract SOCK_SEQPACKET socket, whose name EXANET_HOST has, exanet-exec sends one message:
 * descriptors of (1) a file in memory that holds `struct exn_request`, then the strings of argv and of the
 * environment, each ended by a zero; (2) the working directory; (3) the files that the program inherits. The host
 * answers with replies. Each end kills what it has when the other goes. */
#ifndef EXANET_EXEC_HOSTED_H
#define EXANET_EXEC_HOSTED_H

#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define EXN_MOST_FILES 240 /* SCM_MAX_FD of Linux is 253 */

struct exn_request {
  uint64_t bytes; /* of the whole file in memory */
  uint32_t arguments, variables, files;
  uint32_t rank;
  uint32_t umask;
  int32_t process_group;
  uint64_t blocked, ignored; /* signals: bit S - 1 stands for S */
  int32_t targets[EXN_MOST_FILES]; /* numbers that the inherited files have in the program */
};

enum exn_reply_kind {
  EXN_REPLY_STARTED, /* value: its pid */
  EXN_REPLY_FAILED, /* value: errno */
  EXN_REPLY_ENDED, /* value: its wait status; nothing of it is left */
};
struct exn_reply {
  int32_t kind, value;
};

/* -- ask.c: the side of exanet-exec -------------------------------------------------------------------------------- */
/* The Unix socket of a path, or of "@name" in the abstract name space. Returns the address's length, 0 when the name
   is too long. */
socklen_t exn_address(const char *name, struct sockaddr_un *out);

/* Has the host that EXANET_HOST names start the program. Returns its pid, and in *connection where its end is
 * reported; a negative errno value when it could not be started; 0 when there is no host (any more). */
pid_t exn_ask(char **argv, long rank, const sigset_t *mask, int *connection);

/* -- load.c: a program in the calling process's address space ------------------------------------------------------ */
struct exn_image {
  uintptr_t entry; /* of its dynamic loader */
  uintptr_t stack; /* as the kernel leaves the stack pointer after execve() */
  uintptr_t below; /* a free part of the same stack */
};
/* Maps `program` and its loader afresh and makes a stack, with EXN_AT_WORKERS in its auxiliary vector unless
   `workers` is 0. Returns 0 or a negative errno value; -ENOEXEC: it cannot be moved. */
int exn_load(int program, struct exn_request *request, uintptr_t workers, struct exn_image *out);
#endif
