/* SPDX-License-Identifier: Apache-2.0
 * Lists what can become of an operation on the network, for the simulator (C++) and the provider (C) alike: the only
 * list.
 *
 * An entry is a name, the errno value that a completion carries (negative, as its status), libfabric's errno that a
 * completion queue reports, and a text. Each entry has values of its own, so that either value names the entry. */
#ifndef EXANET_CORE_FAULTS_STATUS_TABLE_H
#define EXANET_CORE_FAULTS_STATUS_TABLE_H

#include <errno.h>

/* clang-format off */
#define EXANET_STATUSES(X) \
  X(Ok,          0,           FI_SUCCESS,     "success") \
  X(LinkDown,    ENETDOWN,    FI_ENETDOWN,    "a link on its path went down under it") \
  X(Unreachable, ENETUNREACH, FI_ENETUNREACH, "no path to its destination is left") \
  X(Lost,        EIO,         FI_EIO,         "a packet of it was lost, and nothing retransmits it") \
  X(Corrupted,   EBADMSG,     FI_ECRC,        "a packet of it arrived with wrong bits, and nothing retransmits it") \
  X(TimedOut,    ETIMEDOUT,   FI_ETIMEDOUT,   "it was given up after its last retransmission timed out") \
  X(RemoteError, EREMOTEIO,   FI_EREMOTEIO, \
    "its destination refused it: a closed mailbox, another protection domain, a page that is not to be used") \
  X(NodeDown,    EHOSTDOWN,   FI_EHOSTDOWN,   "a node that it needs is down") \
  X(Mismatched,  EINVAL,      FI_EINVAL,      "the parts of a reduction do not agree in operation, type or length")
/* clang-format on */

#endif
