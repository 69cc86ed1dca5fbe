// The GPU engine on the host: the very stages that run on a device, router after router.
#include <cstdlib>
#include <new>

#include "base/memory_left.hpp"
#include "network/gpu/backend.hpp"
#include "network/gpu/stages.hpp"

namespace weft::network::gpu {

namespace {

/// One router's cycle, stage by stage; on a device each port has a thread of its own.
template <class Net>
void run_router(const Net& n, Moment& t, Place at, std::vector<Found>& found) {
  const auto every_port = [&](auto stage) {
    for (at.index = 0; at.index < n.ports; ++at.index) stage();
  };
  bool busy = false;
  every_port([&] {
    found[at.index] = look(n, t, at);
    busy |= is_busy(n, at, found[at.index]);
  });
  if (!busy) return;
  every_port([&] { arrive(n, t, at, found[at.index]); });
  every_port([&] { request_channels(n, t, at); });
  every_port([&] { grant_channels(n, t, at); });
  for (u32 round = 0; round < n.iterations; ++round) {
    every_port([&] { request_switch(n, t, at, round); });
    every_port([&] { grant_switch(n, at, round); });
    every_port([&] { accept_grant(n, t, at, round); });
  }
  every_port([&] { finish(n, t, at); });
}

template <class Net>
void run_windows(const Net& n, const Span& span) {
  Control& control = *n.control;
  if (span.fresh)
    for (u32 endpoint = 0; endpoint < n.endpoints; ++endpoint) begin_segment(n, control.now, endpoint);
  std::vector<Exchange> exchange(n.ports);
  std::vector<Requests> wants(n.ports);
  std::vector<Port> ports(n.ports);
  std::vector<OutChannel> channels(std::size_t{n.ports} * n.channels);
  std::vector<Found> found(n.ports);
  for (u64 end = 0; next_window(n, span, control.now, control.known, end);) {
    Moment t;
    for (u64 now = control.now; now < end; ++now) {
      set_cycle(n, t, now, control.now, end);
      for (u32 router = 0; router < n.routers; ++router)
        run_router(n, t, {router, 0, exchange.data(), wants.data(), ports.data(), channels.data()}, found);
    }
    end_window(n, t, t.moved, t.soon);
    for (unsigned i = 0; i < kCounts; ++i) control.counts[i] += t.counts[i];
    control.now = end;
    control.known = false;
    if (host_must_look(n, span, end)) break;
  }
}

class Host final : public Backend {
 public:
  void* allocate(std::size_t bytes) override {
    if (static_cast<double>(bytes) > kSurelyThere)
      require_memory(static_cast<double>(bytes), "an array of the GPU engine", "the flit engine takes less");
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory) throw std::bad_alloc();
    return memory;
  }
  void release(void* memory) override { std::free(memory); }
  void write(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void read(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes) std::memcpy(to, from, bytes);
  }

  void* allocate_here(std::size_t bytes) override { return allocate(bytes); }
  void release_here(void* memory) override { release(memory); }
  void write_beside(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void read_beside(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void settle() override {}

  bool runs_elsewhere() const override { return false; }
  void run(const Network& n, const Span& span) override {
    as_its_kind(n, [&](const auto& kind) { run_windows(kind, span); });
  }

  void occupancy(const Network& n, std::vector<u32>& by_port) override {
    by_port.assign(n.all_ports, 0);
    for (u32 p = 0; p < n.all_ports; ++p) by_port[p] = standing_at(n, p);
  }
};

}  // namespace

std::unique_ptr<Backend> host_backend() { return std::make_unique<Host>(); }

}  // namespace weft::network::gpu
