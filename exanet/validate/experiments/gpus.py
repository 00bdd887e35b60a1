# SPDX-License-Identifier: Apache-2.0
"""Messages between GPUs on QUonG (machines/quong.yaml): peer to peer, staged, and beside InfiniBand.

The machine is given other figures than those measured here: 6.5 us host to host (INFN's page), 8.2 us GPU to GPU peer
to peer and 16.8 us staged, and 1.5 GB/s of reads from a GPU (Ammendola et al., arXiv:1307.8276). The comparison is a
cluster of the same hosts and GPUs with InfiniBand QDR, whose MPI stages in blocks; that takes 17.4 us GPU to GPU in the
same paper, which fixes its software's time.
"""

from __future__ import annotations

from exanet.validate.registry import Measured, Reading, experiment
from exanet.validate.runner import Runner

MACHINE = "quong"
NODES = (0, 1)  # neighbours
SMALL = 8  # bytes
SIZES = tuple(1024 * size for size in (16, 32, 64, 96, 128, 160, 192, 256, 512))

INFINIBAND = """router:
  clock: {value: 250 MHz, source: "128 bit a cycle are 32 Gb/s", kind: chosen}
links:
  link:
    rate: {value: 32 Gb/s, source: "InfiniBand QDR: four lanes of 10 Gb/s less 8b/10b coding", kind: published}
    word: {value: 128 bit, source: "as APElink here", kind: chosen}
    pause_every: {value: 0 words, source: "none", kind: chosen}
    framing: {value: 1 word, source: "as APElink here", kind: chosen}
    latency: {value: 244 ns, source: "as APElink here, a whole number of cycles", kind: chosen}
ni:
  mpi_send: {value: 3155.8 ns, source: "MVAPICH over InfiniBand takes 17.4 us GPU to GPU (arXiv:1307.8276)", kind: calibrated}
  mpi_receive: {value: 3155.8 ns, source: "MVAPICH over InfiniBand takes 17.4 us GPU to GPU (arXiv:1307.8276)", kind: calibrated}
gpu:
  path: staged
  staged_above: null"""

PEER = "gpu: {path: peer, staged_above: null}"
STAGED = "gpu: {path: staged, staged_above: null}"


def one_way_us(runner: Runner, places: tuple[str, str], sizes: tuple[int, ...], changes: str) -> dict[int, float]:
    """Half the round trip between buffers at these places of two neighbours, by size."""
    answer = runner.run("gpu_pingpong", MACHINE, NODES, *places, *sizes, changes=changes)
    return {int(size): float(us) for size, us in answer["one_way_us"].items()}


def crossing(ahead: dict[int, float], behind: dict[int, float]) -> float:
    """The size, in KiB, up to which the first is no slower than the second, on straight lines between sizes."""
    sizes = sorted(ahead)
    gains = [behind[size] - ahead[size] for size in sizes]
    for (size, gain), (following, loss) in zip(zip(sizes, gains, strict=True), list(zip(sizes, gains, strict=True))[1:], strict=False):
        if gain >= 0 > loss:
            return (size + (following - size) * gain / (gain - loss)) / 1024
    return sizes[-1] / 1024 if gains[0] >= 0 else 0.0


@experiment("A06", kind="calibrated", needs=("mpich",))
def small_messages(runner: Runner) -> Measured:
    host, both, one = (
        one_way_us(runner, places, (SMALL,), PEER)[SMALL] for places in (("host", "host"), ("device", "device"), ("device", "host"))
    )
    added, by_one = (100 * (us / host - 1) for us in (both, one))
    return Measured(
        added,
        f"MPI ping-pong of {SMALL} B between neighbours, GPU to GPU peer to peer: {both:.2f} us one way, host to host {host:.2f} us; "
        "8.2 and 6.5 us are what the machine is given",
        data={"host_us": host, "device_us": both, "one_device_us": one},
        readings=(Reading("a GPU at one end alone", by_one, 30),),
    )


@experiment("A08", kind="beside", needs=("mpich",))
def peer_against_infiniband(runner: Runner) -> Measured:
    places = ("device", "device")
    peer, staged, infiniband = (one_way_us(runner, places, SIZES, changes) for changes in (PEER, STAGED, INFINIBAND))
    own, ours = crossing(peer, staged), crossing(peer, infiniband)
    longest = ", ".join(f"{each[SIZES[-1]]:.0f}" for each in (peer, infiniband, staged))
    return Measured(
        ours,
        f"GPU to GPU, the size up to which APEnet+ peer to peer is ahead of staging over InfiniBand QDR; of staging over APEnet+ "
        f"it is ahead up to {own:.0f} KB. Where the lines cross follows from the blocks of staging and from InfiniBand's "
        f"software, which are ours. At 512 KB the three take {longest} us",
        data={"peer_us": peer, "staged_us": staged, "infiniband_us": infiniband},
    )


@experiment("R45", kind="shape", needs=("mpich",))
def sources(runner: Runner) -> Measured:
    """Messages by the memory that they come from and go to: both that leave a GPU's memory take longer than both that
    leave a host's."""
    one_way = runner.run("gpu_sources", MACHINE, NODES, SMALL, changes=PEER)["one_way_us"]
    from_gpu, from_host = ([us for way, us in one_way.items() if way.startswith(f"{place} ")] for place in ("device", "host"))
    return Measured(
        min(from_gpu) - max(from_host),
        f"{SMALL} B between neighbours, peer to peer: {', '.join(f'{way} {us:.2f} us' for way, us in one_way.items())}. The GPUs are those "
        "of quong, an earlier generation; a read of theirs crosses PCI Express twice, a write once",
        holds=min(from_gpu) > max(from_host),
        text=", ".join(f"{us:.2f} us" for us in one_way.values()),
        data=one_way,
    )
