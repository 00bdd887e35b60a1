/* SPDX-License-Identifier: Apache-2.0
 * For programs that include CUDA's header by its name: -I.../exanet/include/exanet/cuda. */
#include "../gpu.h"
