/* SPDX-License-Identifier: Apache-2.0
 * The time stamp counter, where the run asks for it (tsc.c): otherwise both do nothing. */
#ifndef EXANET_CLOCK_TSC_H
#define EXANET_CLOCK_TSC_H

/* From here on the calling thread, and those that it starts, read the program's time. */
void exanet_tsc_trap(void);
/* They read the host's. */
void exanet_tsc_release(void);

#endif
