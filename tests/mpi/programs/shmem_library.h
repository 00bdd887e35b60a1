/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>

int shmem_my_pe(void);
char *shmem_memory(void);
void shmem_put_first(size_t bytes); /* of this rank's memory into the other's, until it is there */
void shmem_wait_for_puts(uint64_t puts); /* until the other has made so many */
void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
void start_pes(int pes);
void shmem_finalize(void);
void shmem_global_exit(int status);
