/* SPDX-License-Identifier: Apache-2.0
 * Declares what the phases of a native program report to its clocks. */
#ifndef EXANET_OUTSIDE_NATIVE_H
#define EXANET_OUTSIDE_NATIVE_H

#include "runtime/clock/clock.h"

/* Which rank this process is, of how many. */
void exanet_native_is(int rank, int ranks);
struct exanet_ni *exanet_native_ni(void);
/* Whether its calls are recorded: the interface is open. */
void exanet_native_is_recorded(bool is);
/* What the calling thread has computed since it was last counted or skipped is not the program's, or is. */
void exanet_native_skip(void);
void exanet_native_count(void);
#endif
