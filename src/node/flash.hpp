// Flash behind a controller: when data has been read, when it has been programmed. Pages lie over dies in
// turn; dies of a channel share the way to the controller.
//
//   read:  die busy for read_time, then the page over its channel
//   write: into the controller's buffer while it has room; over the channel, then die busy for program_time
//
// A read suspends what its die is programming, which takes so much longer.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "base/quantity.hpp"
#include "base/virtual_time.hpp"

namespace weft::node {

struct FlashParameters {
  unsigned channels = 8, dies = 4;  // dies of a channel
  DataSize page{16'384};
  Time read_time{50'000'000}, program_time{600'000'000};
  DataRate channel_rate{9'600'000'000};
  DataSize buffer{64 << 20};
};

class Flash {
 public:
  explicit Flash(const FlashParameters& p)
      : p_(p),
        read_free_(std::size_t{p.channels} * p.dies),
        program_free_(read_free_.size()),
        channel_free_(p.channels) {}

  /// When bytes from a place on are in the controller.
  Time read(Time at, std::uint64_t place, std::uint64_t bytes) {
    Time last = at;
    each_page(place, bytes, [&](std::size_t die, std::uint64_t part) {
      read_free_[die] = later(std::max(at, read_free_[die]), p_.read_time);
      if (program_free_[die] > at) program_free_[die] = later(program_free_[die], p_.read_time);
      Time& channel = channel_free_[die % p_.channels];
      channel = later(std::max(read_free_[die], channel), transfer_time(part, p_.channel_rate.value));
      last = std::max(last, channel);
    });
    return last;
  }

  /// When a write has its data in the buffer, from where it is programmed.
  Time write(Time at, std::uint64_t place, std::uint64_t bytes) {
    Time start = at;
    while (!programming_.empty() && programming_.front().until <= start) forget_first();
    while (!programming_.empty() && buffered_ + bytes > static_cast<std::uint64_t>(p_.buffer.value)) {
      start = std::max(start, programming_.front().until);
      forget_first();
    }
    Time last = start;
    each_page(place, bytes, [&](std::size_t die, std::uint64_t part) {
      Time& channel = channel_free_[die % p_.channels];
      channel = later(std::max(start, channel), transfer_time(part, p_.channel_rate.value));
      program_free_[die] = later(std::max(channel, program_free_[die]), p_.program_time);
      last = std::max(last, program_free_[die]);
    });
    last = std::max(last, programmed_);  // told in order
    programmed_ = last;
    programming_.push_back({last, bytes});
    buffered_ += bytes;
    return start;
  }

  /// When all that was written is programmed.
  Time programmed() const { return programmed_; }

 private:
  struct Programming {
    Time until;
    std::uint64_t bytes;
  };

  void forget_first() {
    buffered_ -= programming_.front().bytes;
    programming_.pop_front();
  }

  template <class F>
  void each_page(std::uint64_t place, std::uint64_t bytes, F f) const {
    const auto page = static_cast<std::uint64_t>(p_.page.value);
    while (bytes) {
      const std::uint64_t part = std::min(bytes, page - place % page);
      f(static_cast<std::size_t>(place / page % read_free_.size()), part);
      place += part;
      bytes -= part;
    }
  }

  FlashParameters p_;
  std::vector<Time> read_free_, program_free_;  // by die
  std::vector<Time> channel_free_;
  std::deque<Programming> programming_;
  std::uint64_t buffered_ = 0;
  Time programmed_{0};
};

}  // namespace weft::node
