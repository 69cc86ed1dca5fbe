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

/// Tiles of a thread that have something to do in a window, and that nobody has run yet. Its own thread takes
/// them one by one, and so does any that has finished its own: cores are not equally fast, nor do all tiles
/// have as much to do.
class alignas(64) TilesLeft {
 public:
  /// Filled by their own thread, before open().
  std::vector<std::uint32_t> tiles;

  void open() { state_.store(std::uint64_t{tiles.size()} << 32, std::memory_order_release); }
  /// Whether there was one to run.
  bool take(std::uint32_t& tile) {
    if (!any(state_.load(std::memory_order_relaxed))) return false;
    const std::uint64_t state = state_.fetch_add(1, std::memory_order_acquire);
    if (!any(state)) return false;
    tile = tiles[static_cast<std::uint32_t>(state)];
    return true;
  }

 private:
  static bool any(std::uint64_t state) { return static_cast<std::uint32_t>(state) < state >> 32; }

  // How many there are, and below that how many are taken: one word, so that who takes one of an earlier
  // window's sees it.
  std::atomic<std::uint64_t> state_ = 0;
};

struct alignas(64) Worker {
  Worker(unsigned number, const Share& of_network)
      : index(number),
        share(of_network),
        timers(of_network.endpoint_begin, of_network.endpoint_end - of_network.endpoint_begin) {}

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
