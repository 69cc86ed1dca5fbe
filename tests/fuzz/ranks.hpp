// Ranks that are no processes, so that a fuzzer can run thousands of whole simulations a second: the
// simulator is linked with ranks.cpp instead of host/processes.cpp. Where it would sleep until its ranks
// wait, the ranks run, one after the other: everything is done by one thread, the same way each time.
#pragma once

#include <optional>
#include <vector>

#include "abi/port_layout.hpp"
#include "host/processes.hpp"

namespace weft::fuzz {

inline constexpr std::uint64_t kBase = 0x7000'0000'0000;  // where a rank's memory begins, as it sees it
inline constexpr std::size_t kMemory = 32 * 1024;

class Rank {
 public:
  Rank() : memory(kMemory) {}
  virtual ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// It has just been started, or the simulator has let some of its threads go on. Returns once it waits.
  virtual void run() = 0;

  std::vector<std::uint8_t> memory;
  std::optional<host::Ending> ending;

 protected:
  abi::Header& header() const { return *static_cast<abi::Header*>(segment_); }
  abi::Thread& thread(unsigned i = 0) const { return *abi::thread_at(segment_, i); }
  abi::PortArea& port(unsigned i) const { return *abi::port_at(segment_, layout_, i); }
  abi::Bell& bell() const { return *static_cast<abi::Bell*>(bell_); }
  const abi::Layout& layout() const { return layout_; }

  /// Waits in thread 0 as the library does.
  void block(abi::Call call, std::uint32_t port, std::int64_t deadline);
  void exit(host::Ending how);

 private:
  friend class Ranks;
  void attach(const host::Launch& launch);
  bool granted();

  abi::Layout layout_{};  // as it was before anybody wrote into the segment
  void* segment_ = nullptr;
  void* bell_ = nullptr;
  std::uint32_t grants_[abi::kThreads] = {};
  bool started_ = false;
};

/// The ranks of the simulation that runs next.
void set_ranks(std::vector<Rank*> ranks);

}  // namespace weft::fuzz
