// A thread's share of the network: a run of tiles, the endpoints on them, and its own counters.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "network/cycle_engine.hpp"
#include "network/flit/fabric.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/timers.hpp"

namespace weft::network::flit {

/// The ends of cables with a link layer that belong to a thread. An end sleeps until something arrives, it is
/// given a flit or a credit, or comes to the time it named itself.
struct AwakeEnds {
  explicit AwakeEnds(std::uint32_t ends) : timers(0, ends), marks(ends, Mark::kNo) {}
  void wake(EndNumber end) {
    if (marks[end] == Mark::kYes) return;
    marks[end] = Mark::kYes;
    awake.push_back(end);
  }
  void sleep_all() {
    for (EndNumber end : awake) marks[end] = Mark::kNo;
    awake.clear();
  }

  Timers timers;                 // by end
  std::vector<EndNumber> awake;  // in this cycle, each once
  std::vector<Mark> marks;       // by end: it is among them
};

/// Tiles of a thread that nobody has run in this window. Its own thread takes them one by one, and so does
/// any that has finished its own: cores are not equally fast, nor is what tiles have to do.
struct alignas(64) TilesLeft {
  std::atomic<std::uint32_t> next = 0;
  std::uint32_t begin = 0, end = 0;

  /// Once what its endpoints make in this window is queued.
  void open() { next.store(begin, std::memory_order_release); }
  /// Whether `tile` is one to run.
  bool take(std::uint32_t& tile) {
    if (next.load(std::memory_order_relaxed) >= end) return false;
    tile = next.fetch_add(1, std::memory_order_acquire);
    return tile < end;
  }
};

struct alignas(64) Worker {
  Worker(unsigned number, const Share& of_network)
      : index(number),
        share(of_network),
        timers(of_network.endpoint_begin, of_network.endpoint_end - of_network.endpoint_begin) {
    tiles.begin = share.tile_begin;
    tiles.end = share.tile_end;
    tiles.next = share.tile_end;
  }

  PacketId take_packet(PacketStore& packets) {
    if (free.empty()) packets.grow(free);
    PacketId id = free.back();
    free.pop_back();
    return id;
  }

  unsigned index;
  Share share;
  TilesLeft tiles;
  std::vector<TilesLeft*> others;  // of the other threads of this process, the next one's first
  Timers timers;                   // by endpoint
  std::vector<PacketId> free;      // packet numbers
  CycleCounters counters;
  std::uint64_t in_network = 0;   // flits injected here less flits delivered here; sums over workers
  std::uint64_t copied = 0;       // flits that routers have added by copying; the same
  std::optional<AwakeEnds> ends;  // with a link layer
  Traffic* traffic = nullptr;     // of the run under way,
  Observer* observer = nullptr;   // and who hears of it
};

}  // namespace weft::network::flit
