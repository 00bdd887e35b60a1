/* SPDX-License-Identifier: Apache-2.0
 * The program's persistent collectives, by the numbers of their requests: what each is, as it stood when it was
 * made, and whether it is under way.
 *
 * A start is recorded as the nonblocking collective, so that a stream knows no other kind. */
#ifndef EXANET_RECORD_PERSISTENT_H
#define EXANET_RECORD_PERSISTENT_H

#include <stdbool.h>
#include <stdint.h>

/* Keeps the fields of the record that is being made. */
void exanet_persistent_keep(uint32_t request, uint8_t code);
/* Code of its nonblocking form; 0: the request is none of a persistent collective. */
uint8_t exanet_persistent_code(uint32_t request);
/* Puts the fields kept. It is under way then. */
void exanet_persistent_start(uint32_t request);
/* Whether it was under way, which it is no longer. */
bool exanet_persistent_stop(uint32_t request);
bool exanet_persistent_is_active(uint32_t request);
void exanet_persistent_forget(uint32_t request);
#endif
