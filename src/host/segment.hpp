// The simulator's side of a process's segment. The process may write anything into it at any time, so every
// word is read once, into a copy, and the copy is checked; what the simulator must know for sure it keeps
// outside.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "host/request.hpp"
#include "machine/machine.hpp"

namespace weft::host {

/// Memory without a name: nothing is left behind, whatever happens, and nobody else can find it.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const std::string& what, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& o) noexcept { *this = std::move(o); }
  SharedMemory& operator=(SharedMemory&& o) noexcept;
  SharedMemory(const SharedMemory&) = delete;

  void* at() const { return at_; }
  int file() const { return file_; }

 private:
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
  int file_ = -1;
};

class Segment {
 public:
  Segment(const machine::Machine& machine, std::uint32_t rank, std::uint32_t ranks, std::uint32_t node);

  int file() const { return memory_.file(); }
  Header& header() const { return *static_cast<Header*>(memory_.at()); }
  Thread& thread(unsigned i) const { return *thread_at(memory_.at(), i); }

  ThreadState state(unsigned thread) const;
  /// `not_before`: the clock it was given last.
  Request request(unsigned thread, Time not_before) const;
  void grant(unsigned thread, Time clock, Time safe_until, std::int32_t result,
             std::span<const std::uint64_t> answer);

  /// `slots`: messages its ring holds.
  void open(unsigned port, unsigned slots);
  void close(unsigned port);
  /// New descriptors, at most `room`; appended to `out`. Returns how many of the queue's slots are in use.
  void take_posted(unsigned port, std::vector<nic::Descriptor>& out);
  bool queue_full(unsigned port) const;
  /// Entries the process took since last asked.
  void take_consumed(unsigned port, unsigned& messages, unsigned& events);
  bool has_message(unsigned port, Time& time) const;
  bool has_event(unsigned port, Time& time) const;
  void push(unsigned port, const nic::Message& message);
  void push(unsigned port, const nic::Event& event);
  void slot_free(unsigned port);

 private:
  /// The simulator's own count of what it did.
  struct Book {
    std::uint32_t posted = 0, accepted = 0, slots = 0;
    std::uint32_t messages = 0, messages_taken = 0, events = 0, events_taken = 0;
    std::vector<std::int64_t> message_times, event_times;
  };
  PortArea& area(unsigned port) const { return *port_at(memory_.at(), layout_, port); }

  Layout layout_{};  // as it was written; the shared copy is not read again
  SharedMemory memory_;
  Book book_[kPortsPerProcess];
};

/// What each rank shares with the simulator, by rank.
using Segments = std::vector<std::unique_ptr<Segment>>;

}  // namespace weft::host
