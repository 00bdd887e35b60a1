// SPDX-License-Identifier: Apache-2.0
// The shortest program of the user-level network library: two ranks send each other bare packets and rank 0 prints the
// time one way. Build it against the installed library and run it on two nodes of a simulated machine:
//
//     D=$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/exanet
//     cc -I$D/include pingpong.c -o pingpong $D/lib/libexanet-fi.so -Wl,-rpath,$D/lib
//     exanet run --mpi none -m trenz-2x2 --map round-robin --compute off -n 2 -- ./pingpong
#include <exanet/exanet.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 100 };

int main(int argc, char **argv) {
  static char data[EXANET_PACKET_MAX];
  struct exanet_completion packet;
  struct exanet_ni *ni;
  uint16_t ep;
  size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
  if (exanet_open(&ni) != 0 || exanet_size(ni) != 2 || bytes > exanet_packet_max(ni)) {
    fprintf(stderr,
            "pingpong: run me with 'exanet run --mpi none -n 2 -- ./pingpong [BYTES]', with no more bytes than a "
            "packet takes\n");
    return 2;
  }
  exanet_ep_open(ni, EXANET_EP_RAW, &ep);
  uint32_t rank = exanet_rank(ni);
  exanet_addr other = exanet_address(1 - rank, ep);
  exanet_start(ni);
  for (int i = 0; i < kRounds; i++) {
    if (rank == 0) exanet_packet_send(ni, ep, other, data, bytes);
    exanet_wait(ni, &packet, 1, UINT64_MAX);
    if (rank == 1) exanet_packet_send(ni, ep, other, data, bytes);
  }
  if (rank == 0) printf("%zu bytes: %.1f ns one way\n", bytes, (double)exanet_clock_ps(ni) * 1e-3 / (2 * kRounds));
  exanet_finish(ni);
  exanet_close(ni);
  return 0;
}
