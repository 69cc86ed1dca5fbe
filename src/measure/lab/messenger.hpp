// Two-sided messages over an interface, as message-passing libraries of the papers send them: short ones
// eagerly, in small messages or as a put; long ones after a request, fetched by the receiver with gets.
#pragma once

#include <map>

#include "machine/description.hpp"
#include "measure/lab/lab.hpp"

namespace weft::measure::lab {

class Messenger {
 public:
  explicit Messenger(Process& process) : p_(process), s_(process.lab().machine().description.mpi) {}

  /// Hands a message over; the data of long ones is still here afterwards.
  Task send(Process& to, std::uint64_t bytes);
  /// Until nothing of what was sent is here any more.
  Task sent();
  /// Until so many more messages have been received.
  Task receive(unsigned messages = 1);
  /// One look for progress. True in `received` where a message is complete; its sender and length follow.
  Task test(bool& received);

  Process& process() const { return p_; }
  std::uint64_t last_length() const { return last_length_; }

 private:
  struct Fetch {
    nic::Descriptor get;
    std::uint64_t asked = 0, arrived = 0, length = 0;
  };

  Task send_eagerly(Process& to, std::uint64_t bytes);
  Task progress();
  Task pump();
  void complete(std::uint64_t bytes, bool copied);
  void register_memory(std::uint64_t bytes);
  Time copy_time(std::uint64_t bytes) const;

  Process& p_;
  machine::MpiParameters s_;
  unsigned requests_open_ = 0;                                              // sends that wait to be fetched
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> parts_;  // bytes here, by sender
  std::deque<Fetch> fetches_;
  std::uint64_t fetches_begun_ = 0;
  unsigned gets_open_ = 0;
  unsigned complete_ = 0;
  std::uint64_t last_length_ = 0;
};

}  // namespace weft::measure::lab
