// The GPU engine on a CUDA device. All that a router does is in the headers, which the host build compiles
// too; here is only who does it when: a thread for each port, a team of threads for a few routers, a barrier
// over the device after each cycle.
#include <type_traits>

#include "network/gpu/device_interface.hpp"
#include "network/gpu/stages.hpp"

namespace weft::network::gpu {

namespace {

constexpr unsigned kWarp = 32, kWholeWarp = ~0u;

// Threads of a block, and blocks that a processor has at once: what a router does is a chain of loads that
// wait for each other, so many of them must be under way, each with fewer registers the more there are.
// Measured on an H200: a grid's routers, which need little, are fastest in one large block, the fewest to
// meet at a barrier; of others eight blocks of 256 are faster than six, whatever they keep in memory.
constexpr unsigned kMostThreads = 1024;
template <class Net>
constexpr unsigned kThreads = 256;
template <class Net>
constexpr unsigned kBlocks = 8;
template <>
constexpr unsigned kThreads<PlainGrid> = 1024;
template <>
constexpr unsigned kBlocks<PlainGrid> = 1;

/// Threads that do routers together, waiting for each other after each stage: a warp, whose threads go in
/// step anyway, or where a router has more ports than that a block.
struct WarpTeam {
  u32 number, count;   // which team, of how many
  u32 routers, lanes;  // that it does at once; threads for each

  __device__ explicit WarpTeam(const Network& n)
      : number((blockIdx.x * blockDim.x + threadIdx.x) / kWarp), count(gridDim.x * blockDim.x / kWarp) {
    lanes = 1;
    while (lanes < n.ports) lanes *= 2;
    routers = kWarp / lanes;
  }
  __device__ u32 router() const { return threadIdx.x % kWarp / lanes; }
  __device__ u32 index() const { return threadIdx.x % lanes; }
  __device__ u32 first_thread() const { return threadIdx.x - index(); }
  static __device__ void sync() { __syncwarp(); }
  static __device__ bool any(bool one) { return __any_sync(kWholeWarp, one); }
};
struct BlockTeam {
  u32 number, count, routers, lanes;

  __device__ explicit BlockTeam(const Network& n)
      : number(blockIdx.x), count(gridDim.x), routers(blockDim.x / n.ports), lanes(n.ports) {}
  __device__ u32 router() const { return threadIdx.x / lanes; }
  __device__ u32 index() const { return threadIdx.x % lanes; }
  __device__ u32 first_thread() const { return threadIdx.x - index(); }
  static __device__ void sync() { __syncthreads(); }
  static __device__ bool any(bool one) { return __syncthreads_or(one); }
};

/// One cycle of the routers of a team, some of them after the others.
template <class Net, class Team>
__device__ void run_routers(const Net& n, const Team& team, Place at, Moment& t) {
  const u32 mine = team.router();
  for (u32 group = team.number * team.routers; group < n.routers; group += team.count * team.routers) {
    at.router = group + mine;
    const bool here = mine < team.routers && at.index < n.ports && at.router < n.routers;
    Found found{};
    if (here) found = look(n, t, at);
    if (!team.any(here && is_busy(n, at, found))) continue;
    if (here) arrive(n, t, at, found);
    team.sync();
    if (here) request_channels(n, t, at);
    team.sync();
    if (here) grant_channels(n, t, at);
    team.sync();
    for (u32 round = 0; round < n.iterations; ++round) {
      if (here) request_switch(n, t, at, round);
      team.sync();
      if (here) grant_switch(n, at, round);
      team.sync();
      if (here) accept_grant(n, t, at, round);
      team.sync();
    }
    if (here) finish(n, t, at);
  }
}

/// Blocks that have come to a barrier in this launch.
__device__ u32 arrived;

/// A barrier over all blocks, which are all on the device at once. Who waits looks at a number in the cache
/// that all processors share, and at nothing else: the library's own barrier empties its processor's cache
/// with each look, and so slows down those it waits for.
struct Barrier {
  u32 passed = 0;

  __device__ void wait() {
    passed += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(&arrived, 1u);
      u32 now;
      do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(&arrived) : "memory");
      while (static_cast<std::int32_t>(now - passed) < 0);
      __threadfence();
    }
    __syncthreads();
  }
};

/// What the threads of a warp have noted in a window, told once for all of them.
__device__ void tell_window(const Network& n, Moment& t) {
  const bool moved = __any_sync(kWholeWarp, t.moved);
  u64 soon = t.soon;
  for (unsigned apart = kWarp / 2; apart; apart /= 2) soon |= __shfl_xor_sync(kWholeWarp, soon, apart);
  if (threadIdx.x % kWarp == 0) end_window(n, t, moved, soon);
  t.moved = false;
  t.soon = 0;
}

template <class Net, class Team, unsigned Threads, unsigned Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    run_windows(const __grid_constant__ Net n, const Span span) {
  extern __shared__ Exchange exchanges[];
  auto* const all_wants = reinterpret_cast<Requests*>(exchanges + blockDim.x);
  auto* const all_ports = reinterpret_cast<Port*>(all_wants + blockDim.x);
  auto* const all_channels = reinterpret_cast<OutChannel*>(all_ports + blockDim.x);
  exchanges[threadIdx.x] = {};
  __syncthreads();
  Barrier all;
  const Team team(n);
  const u32 first = team.first_thread();
  const Place at{0,
                 team.index(),
                 exchanges + first,
                 all_wants + first,
                 all_ports + first,
                 all_channels + first * n.channels};
  Moment t;
  u64 begin = n.control->now, end = 0;
  bool known = n.control->known;
  if (span.fresh) {
    for (u32 endpoint = blockIdx.x * blockDim.x + threadIdx.x; endpoint < n.endpoints;
         endpoint += gridDim.x * blockDim.x)
      begin_segment(n, begin, endpoint);
    all.wait();
  }
  while (next_window(n, span, begin, known, end)) {
    for (u64 now = begin; now < end; ++now) {
      set_cycle(n, t, now, begin, end);
      run_routers(n, team, at, t);
      if (now + 1 == end) tell_window(n, t);
      all.wait();
    }
    begin = end;
    known = false;
    const bool stop = host_must_look(n, span, end);
    all.wait();  // all must have looked before anybody goes on
    if (stop) break;
  }
  for (unsigned i = 0; i < kCounts; ++i) {
    const unsigned sum = __reduce_add_sync(kWholeWarp, t.counts[i]);
    if (sum && threadIdx.x % kWarp == 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&n.control->counts[i]), sum);
  }
  all.wait();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
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

void* allocate_here(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

void release_here(void* memory) { cudaFreeHost(memory); }

/// Copies that do not wait for the kernel that runs.
cudaStream_t beside() {
  static const cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}

const char* write_beside(void* to, const void* from, std::size_t bytes) {
  return words(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, beside()));
}
const char* read_beside(void* to, const void* from, std::size_t bytes) {
  return words(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, beside()));
}
const char* settle() { return words(cudaStreamSynchronize(beside())); }

template <class Net, class Team, unsigned Threads, unsigned Blocks>
const char* launch(const Net& network, const Span& span, unsigned threads, unsigned blocks_wanted) {
  auto* const kernel = run_windows<Net, Team, Threads, Blocks>;
  const std::size_t shared =
      threads * (sizeof(Exchange) + sizeof(Requests) + sizeof(Port) + network.channels * sizeof(OutChannel));
  if (const char* wrong = words(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(shared))))
    return wrong;
  int each = 0, processors = 0;
  if (const char* wrong = words(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(threads), shared)))
    return wrong;
  if (const char* wrong = words(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0)))
    return wrong;
  const unsigned blocks = least(blocks_wanted, static_cast<unsigned>(each * processors));
  const u32 none = 0;
  if (const char* wrong = words(cudaMemcpyToSymbol(arrived, &none, sizeof none))) return wrong;
  void* arguments[] = {const_cast<Net*>(&network), const_cast<Span*>(&span)};
  if (const char* wrong = words(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), dim3(blocks),
                                                            dim3(threads), arguments, shared, nullptr)))
    return wrong;
  return words(cudaStreamSynchronize(nullptr));
}

const char* run(const Network& network, const Span& span) {
  if (network.ports > kMostThreads) return "a router has more ports than a block has threads";
  return as_its_kind(network, [&](const auto& n) {
    using Net = std::decay_t<decltype(n)>;
    const auto blocks_of = [&](unsigned routers) { return (n.routers + routers - 1) / routers; };
    if (n.ports > kWarp) {
      const unsigned threads = (n.ports + kWarp - 1) / kWarp * kWarp;
      return launch<Net, BlockTeam, kMostThreads, 1>(n, span, threads, blocks_of(threads / n.ports));
    }
    unsigned lanes = 1;
    while (lanes < n.ports) lanes *= 2;
    return launch<Net, WarpTeam, kThreads<Net>, kBlocks<Net>>(n, span, kThreads<Net>,
                                                              blocks_of(kThreads<Net> / lanes));
  });
}

const char* occupancy(const Network& network, u32* by_port) {
  add_up_queues<<<(network.all_ports + kMostThreads - 1) / kMostThreads, kMostThreads>>>(network, by_port);
  return words(cudaDeviceSynchronize());
}

constexpr DeviceInterface kInterface{sizeof(Network), open,         memory_left,  allocate, release,
                                     write,           read,         copy,         allocate_here,
                                     release_here,    write_beside, read_beside,  settle,   run,
                                     occupancy};

}  // namespace

}  // namespace weft::network::gpu

extern "C" const weft::network::gpu::DeviceInterface* weft_gpu_interface() {
  return &weft::network::gpu::kInterface;
}
