/* SPDX-License-Identifier: Apache-2.0
 * Messages whose buffers are in memory of simulated GPUs, and the time of copies and kernels. Arguments: what to do,
 * and for `pingpong` bytes and where each rank's buffer is (host or device). Each line that rank 0 prints is a name and
 * figures; `wrong` says that data are not what was sent. */
#include <exanet/gpu.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static unsigned char *buffer(const char *place, size_t bytes) {
  void *memory = NULL;
  if (strcmp(place, "host") == 0) return malloc(bytes > 0 ? bytes : 1);
  if (cudaMalloc(&memory, bytes > 0 ? bytes : 1) != cudaSuccess) printf("wrong: no device memory\n");
  return memory;
}

static void check(int holds, const char *what) {
  if (!holds) printf("wrong: rank %d, %s\n", rank, what);
}

static void fill(unsigned char *data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 7 + (size_t)seed);
}

static int is_filled(const unsigned char *data, size_t bytes, int seed) {
  for (size_t i = 0; i < bytes; ++i)
    if (data[i] != (unsigned char)(i * 7 + (size_t)seed)) return 0;
  return 1;
}

static void ping_pong(size_t bytes, const char *const *places) {
  const int rounds = 10, peer = 1 - rank;
  if (rank > 1) return;
  unsigned char *out = buffer(places[rank], bytes), *in = buffer(places[rank], bytes);
  fill(out, bytes, rank);
  double begin = 0;
  for (int i = -2; i < rounds; ++i) {
    if (i == 0) begin = MPI_Wtime();
    if (rank == 0) MPI_Send(out, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(in, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, (int)bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("one-way-us %.6f\n", (MPI_Wtime() - begin) / (2 * rounds) * 1e6);
  check(is_filled(in, bytes, peer), "a message");
}

static void collectives(const char *place) {
  enum { kBytes = 20000 };
  unsigned char *data = buffer(place, kBytes * (size_t)size), *all = buffer(place, kBytes * (size_t)size);
  fill(data, kBytes, rank == 0 ? 3 : 99);
  const double begin = MPI_Wtime();
  MPI_Bcast(data, kBytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  check(is_filled(data, kBytes, 3), "MPI_Bcast");
  fill(data, kBytes, rank);
  MPI_Allgather(data, kBytes, MPI_BYTE, all, kBytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) check(is_filled(all + (size_t)i * kBytes, kBytes, i), "MPI_Allgather");
  MPI_Alltoall(all, kBytes, MPI_BYTE, data, kBytes, MPI_BYTE, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) check(is_filled(data + (size_t)i * kBytes, kBytes, rank), "MPI_Alltoall");
  double *sums = (double *)(void *)all;
  for (int i = 0; i < 1000; ++i) sums[i] = rank + i;
  MPI_Allreduce(MPI_IN_PLACE, sums, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 1000; ++i) check(sums[i] == size * (size - 1) / 2 + size * i, "MPI_Allreduce");
  MPI_Request requests[2];
  MPI_Isend(data, kBytes, MPI_BYTE, (rank + 1) % size, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(all, kBytes, MPI_BYTE, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(is_filled(all, kBytes, (rank + size - 1) % size), "MPI_Irecv");
  if (rank == 0) printf("collectives-us %.6f\n", (MPI_Wtime() - begin) * 1e6);
}

static void windows(const char *place) {
  enum { kBytes = 100000 };
  unsigned char *shared = buffer(place, kBytes), *own = buffer(place, kBytes);
  fill(own, kBytes, rank);
  MPI_Win window;
  MPI_Win_create(shared, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  const double begin = MPI_Wtime();
  MPI_Put(own, kBytes, MPI_BYTE, (rank + 1) % size, 0, kBytes, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(is_filled(shared, kBytes, (rank + size - 1) % size), "MPI_Put");
  MPI_Get(own, kBytes, MPI_BYTE, (rank + 1) % size, 0, kBytes, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  check(is_filled(own, kBytes, rank), "MPI_Get");
  if (rank == 0) printf("windows-us %.6f\n", (MPI_Wtime() - begin) * 1e6);
  MPI_Win_free(&window);
}

static double now;
static void lap(const char *name) {
  const double before = now;
  now = MPI_Wtime();
  if (rank == 0) printf("%s %.6f\n", name, (now - before) * 1e6);
}

static void copies(void) {
  enum { kBytes = 6700000 };
  unsigned char *host = malloc(kBytes), *a = buffer("device", kBytes), *b = buffer("device", kBytes);
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i) check(cudaStreamCreate(&streams[i]) == cudaSuccess, "cudaStreamCreate");
  fill(host, kBytes, 1);
  now = MPI_Wtime();
  cudaMemcpy(a, host, kBytes, cudaMemcpyHostToDevice);
  lap("to-device");
  cudaMemcpy(b, a, kBytes, cudaMemcpyDeviceToDevice);
  lap("within-launched");
  cudaDeviceSynchronize();
  lap("within");
  memset(host, 0, kBytes);
  cudaMemcpy(host, b, kBytes, cudaMemcpyDefault);
  lap("to-host");
  check(is_filled(host, kBytes, 1), "cudaMemcpy");
  exanet_gpu_compute(100e-6);
  lap("launch");
  cudaDeviceSynchronize();
  lap("kernel");
  for (int i = 0; i < 2; ++i) exanet_gpu_compute_in(200e-6, streams[i]);
  cudaStreamSynchronize(streams[0]);
  cudaStreamSynchronize(streams[1]);
  lap("two-streams");
  for (int i = 0; i < 2; ++i) exanet_gpu_compute(200e-6);
  cudaDeviceSynchronize();
  lap("one-stream");
  for (int i = 0; i < 2; ++i) cudaStreamDestroy(streams[i]);
}

static void errors(void) {
  int count = -1, device = -1;
  struct cudaPointerAttributes attributes;
  size_t left = 0, total = 0;
  void *memory = NULL, *other = NULL;
  check(cudaGetDeviceCount(&count) == cudaSuccess && count == 2, "cudaGetDeviceCount");
  check(cudaSetDevice(2) == cudaErrorInvalidDevice, "cudaSetDevice(2)");
  check(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess, "cudaGetLastError");
  check(cudaSetDevice(1) == cudaSuccess && cudaGetDevice(&device) == cudaSuccess && device == 1, "cudaSetDevice(1)");
  check(cudaMalloc(&memory, (size_t)6000000001) == cudaErrorMemoryAllocation && memory == NULL, "too much memory");
  check(cudaMalloc(&memory, 1 << 20) == cudaSuccess && memory != NULL, "cudaMalloc");
  check(cudaMemGetInfo(&left, &total) == cudaSuccess && total == 6000000000 && left == total - (1 << 20),
        "memory left");
  check(cudaPointerGetAttributes(&attributes, (char *)memory + 5) == cudaSuccess &&
            attributes.type == cudaMemoryTypeDevice && attributes.device == 1,
        "attributes of device memory");
  check(cudaPointerGetAttributes(&attributes, &count) == cudaSuccess && attributes.type == cudaMemoryTypeUnregistered,
        "attributes of host memory");
  check(cudaMallocHost(&other, 100) == cudaSuccess && cudaFreeHost(other) == cudaSuccess, "cudaMallocHost");
  check(cudaMemcpy(memory, &count, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue, "a kind that is wrong");
  check(cudaMemcpy((char *)memory + (1 << 20) - 2, &count, 4, cudaMemcpyDefault) == cudaErrorInvalidValue, "too long");
  check(cudaStreamDestroy((cudaStream_t)&count) == cudaErrorInvalidResourceHandle, "no stream");
  check(cudaFree((char *)memory + 1) == cudaErrorInvalidValue && cudaFree(memory) == cudaSuccess, "cudaFree");
  check(cudaFree(memory) == cudaErrorInvalidValue && cudaFree(NULL) == cudaSuccess, "cudaFree again");
  if (rank == 0) printf("errors %s\n", cudaGetErrorName(cudaErrorNoDevice));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "pingpong") == 0 && argc == 5) {
    const char *const places[] = {argv[3], argv[4]};
    ping_pong((size_t)atol(argv[2]), places);
  } else if (strcmp(what, "collectives") == 0 && argc == 3) {
    collectives(argv[2]);
  } else if (strcmp(what, "windows") == 0 && argc == 3) {
    windows(argv[2]);
  } else if (strcmp(what, "copies") == 0) {
    copies();
  } else if (strcmp(what, "errors") == 0) {
    errors();
  } else if (strcmp(what, "kernel") == 0) {
    extern void cudaLaunchKernel(void);
    cudaLaunchKernel();
  }
  MPI_Finalize();
  return 0;
}
