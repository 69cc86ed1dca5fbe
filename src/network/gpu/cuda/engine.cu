// The GPU engine on a CUDA device. All that a router does is in the headers, which the host build compiles
// too; here is only who does it when: a thread for each port, a block for some routers, a barrier over the
// device after each cycle.
#include <cooperative_groups.h>

#include "network/gpu/device_interface.hpp"
#include "network/gpu/stages.hpp"

namespace weft::network::gpu {

namespace {

namespace cg = cooperative_groups;

// Threads of a block, and blocks that a processor has at once: what a router does is a chain of loads that
// wait for each other, so many of them must be under way. Measured on an H200: 8 blocks, with 32 registers a
// thread, are 10 to 20% faster than 4 with 64. Routers of more ports than that need a larger block.
constexpr unsigned kThreads = 256, kBlocks = 8, kMostThreads = 1024;

/// One cycle of the routers of a block, one group of them after the other.
__device__ void run_routers(const Network& n, Moment& t) {
  const u32 index = threadIdx.y;
  for (u32 group = blockIdx.x * blockDim.x; group < n.routers; group += gridDim.x * blockDim.x) {
    const Place at{group + threadIdx.x, index};
    const bool here = at.router < n.routers;
    const bool busy = here && arrive(n, t, at);
    if (!__syncthreads_or(busy)) continue;
    if (here) request_channels(n, t, at);
    __syncthreads();
    if (here) grant_channels(n, t, at);
    __syncthreads();
    for (u32 round = 0; round < n.iterations; ++round) {
      if (here) request_switch(n, t, at, round);
      __syncthreads();
      if (here) grant_switch(n, at, round);
      __syncthreads();
      if (here) accept_grant(n, t, at, round);
      if (round + 1 < n.iterations) __syncthreads();
    }
    if (here) finish(n, t, at);
  }
}

template <unsigned Threads, unsigned Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    run_windows(const __grid_constant__ Network n, const Span span) {
  cg::grid_group grid = cg::this_grid();
  const bool first_of_all = grid.thread_rank() == 0;
  Moment t;
  u64 begin = n.control->now, end = 0;
  bool known = n.control->known;
  while (next_window(n, span, begin, known, end)) {
    for (u64 now = begin; now < end; ++now) {
      set_cycle(n, t, now, begin, end);
      run_routers(n, t);
      grid.sync();
    }
    begin = end;
    known = false;
    const bool stop = host_must_look(n, span, end);
    grid.sync();  // all must have looked before anybody goes on
    if (stop) break;
  }
  __shared__ unsigned long long sums[kCounts];
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  if (thread < kCounts) sums[thread] = 0;
  __syncthreads();
  for (unsigned i = 0; i < kCounts; ++i)
    if (t.counts[i]) atomicAdd(&sums[i], static_cast<unsigned long long>(t.counts[i]));
  __syncthreads();
  if (thread < kCounts)
    atomicAdd(reinterpret_cast<unsigned long long*>(&n.control->counts[thread]), sums[thread]);
  grid.sync();
  if (first_of_all) {
    n.control->now = begin;
    n.control->known = known;
  }
}

__global__ void add_up_queues(const __grid_constant__ Network n, u32* by_port) {
  const u32 p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p < n.all_ports) by_port[p] = standing_at(n, p);
}

const char* words(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

const char* open() {
  int devices = 0;
  if (const char* wrong = words(cudaGetDeviceCount(&devices))) return wrong;
  if (devices == 0) return "there is none";
  int cooperates = 0;
  if (const char* wrong = words(cudaDeviceGetAttribute(&cooperates, cudaDevAttrCooperativeLaunch, 0)))
    return wrong;
  if (!cooperates) return "it has no barrier over all of its blocks";
  return words(cudaSetDevice(0));
}

std::size_t memory_left() {
  std::size_t left = 0, all = 0;
  return cudaMemGetInfo(&left, &all) == cudaSuccess ? left : 0;
}

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

void release(void* memory) { cudaFree(memory); }

const char* write(void* to, const void* from, std::size_t bytes) {
  return words(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}
const char* read(void* to, const void* from, std::size_t bytes) {
  return words(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}
const char* copy(void* to, const void* from, std::size_t bytes) {
  return words(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice));
}

/// So many routers for a block that it has a warp's worth of neighbours, or else a few hundred threads.
dim3 block_for(const Network& n) {
  unsigned routers = 32;
  while (routers > 1 && routers * n.ports > kThreads) routers /= 2;
  return {routers, n.ports, 1};
}

const char* run(const Network& network, const Span& span) {
  const dim3 block = block_for(network);
  if (block.x * block.y > kMostThreads) return "a router has more ports than a block has threads";
  auto* const kernel =
      block.x * block.y <= kThreads ? run_windows<kThreads, kBlocks> : run_windows<kMostThreads, 1>;
  int each = 0, processors = 0;
  if (const char* wrong = words(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &each, kernel, static_cast<int>(block.x * block.y), 0)))
    return wrong;
  if (const char* wrong = words(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0)))
    return wrong;
  const unsigned wanted = (network.routers + block.x - 1) / block.x;
  const unsigned blocks = least(wanted, static_cast<unsigned>(each * processors));
  void* arguments[] = {const_cast<Network*>(&network), const_cast<Span*>(&span)};
  if (const char* wrong = words(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(blocks),
                                                            block, arguments, 0, nullptr)))
    return wrong;
  return words(cudaDeviceSynchronize());
}

const char* occupancy(const Network& network, u32* by_port) {
  add_up_queues<<<(network.all_ports + kThreads - 1) / kThreads, kThreads>>>(network, by_port);
  return words(cudaDeviceSynchronize());
}

constexpr DeviceInterface kInterface{sizeof(Network), open, memory_left, allocate, release,
                                     write,           read, copy,        run,      occupancy};

}  // namespace

}  // namespace weft::network::gpu

extern "C" const weft::network::gpu::DeviceInterface* weft_gpu_interface() {
  return &weft::network::gpu::kInterface;
}
