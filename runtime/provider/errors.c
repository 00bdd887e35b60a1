/* SPDX-License-Identifier: Apache-2.0
 * Error numbers and their texts, and the operations that libfabric names and this provider does not have. */
#include <stdio.h>

#include "core/faults/status_table.h"
#include "exanet_prov.h"

int exanet_fi_errno(int status) {
  switch (status) {
    case -EMSGSIZE: return FI_ETRUNC;
    case -ENOKEY: return FI_ENOKEY;
#define EXANET_STATUS_CASE(name, number, fi, meaning) \
  case -(number): return fi;
      EXANET_STATUSES(EXANET_STATUS_CASE)
#undef EXANET_STATUS_CASE
    default: return -status;
  }
}

const char *exanet_error_text(int error, char *buf, size_t len) {
  static _Thread_local char own[160];
  const char *text = error == FI_ETRUNC          ? "message longer than its receive buffer"
                     : error == FI_EADDRNOTAVAIL ? "message from an endpoint that is not in the address vector"
                     : error == FI_EACCES        ? "remote memory is not registered for this access"
                     : error == FI_ENOMSG        ? "no matching message"
                     : error == FI_ECANCELED     ? "canceled"
                     : error == FI_ECONNREFUSED  ? "no such endpoint at the target"
                     : error == FI_EHOSTUNREACH  ? "no such rank"
                                                 : NULL;
#define EXANET_STATUS_TEXT(name, number, fi, meaning) \
  if (number && error == fi) text = meaning;
  EXANET_STATUSES(EXANET_STATUS_TEXT)
#undef EXANET_STATUS_TEXT
  if (!text)
    snprintf(own, sizeof own, "error %d", error);
  else
    snprintf(own, sizeof own, "%s", text);
  if (buf && len) snprintf(buf, len, "%s", own);
  return buf && len ? buf : own;
}

int exanet_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags) { return -FI_ENOSYS; }
int exanet_no_control(struct fid *fid, int command, void *arg) { return -FI_ENOSYS; }
int exanet_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context) {
  return -FI_ENOSYS;
}
