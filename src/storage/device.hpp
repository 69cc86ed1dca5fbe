// What a server keeps its data on, as time: flash behind its controller's buffer, or a disk with one head.
//
//   read:  command, medium
//   write: command, into the buffer while it has room; from there to the medium
//
// The way between memory and device is the bus of the server's node (service.cpp).
#pragma once

#include <algorithm>
#include <deque>

#include "machine/storage_parameters.hpp"
#include "node/flash.hpp"

namespace weft::storage {

/// One head over tracks: where it does not go on at the place it left, it seeks and waits for half a turn.
class Disk {
 public:
  explicit Disk(const machine::StorageDeviceParameters& p) : p_(p) {}

  Time read(Time at, std::uint64_t place, std::uint64_t bytes) { return move(at, place, bytes); }

  /// When the buffer has it.
  Time write(Time at, std::uint64_t place, std::uint64_t bytes) {
    Time start = at;
    while (!waiting_.empty() && waiting_.front().until <= start) forget_first();
    while (!waiting_.empty() && buffered_ + bytes > static_cast<std::uint64_t>(p_.buffer.value)) {
      start = std::max(start, waiting_.front().until);
      forget_first();
    }
    written_ = std::max(written_, move(start, place, bytes));
    waiting_.push_back({written_, bytes});
    buffered_ += bytes;
    return start;
  }

  Time written() const { return written_; }

 private:
  struct Waiting {
    Time until;
    std::uint64_t bytes;
  };

  void forget_first() {
    buffered_ -= waiting_.front().bytes;
    waiting_.pop_front();
  }

  Time move(Time at, std::uint64_t place, std::uint64_t bytes) {
    Time start = std::max(at, free_);
    if (place != next_) start = later(later(start, p_.seek), Time{p_.rotation.value / 2});
    next_ = place + bytes;
    return free_ = later(start, transfer_time(bytes, p_.disk_rate.value));
  }

  const machine::StorageDeviceParameters p_;
  std::uint64_t next_ = ~std::uint64_t{0}, buffered_ = 0;
  Time free_{0}, written_{0};
  std::deque<Waiting> waiting_;
};

class Device {
 public:
  explicit Device(const machine::StorageDeviceParameters& p)
      : flash_medium_(p.medium == machine::Medium::Flash),
        durable_buffer_(p.durable_buffer),
        command_(p.command_time),
        flash_({p.channels, p.dies, p.page, p.read_time, p.program_time, p.channel_rate, p.buffer}),
        disk_(p) {}

  /// When the controller has read it.
  Time read(Time at, std::uint64_t place, std::uint64_t bytes) {
    const Time begin = later(at, command_);
    return flash_medium_ ? flash_.read(begin, place, bytes) : disk_.read(begin, place, bytes);
  }
  /// When the controller has taken it.
  Time write(Time at, std::uint64_t place, std::uint64_t bytes) {
    const Time begin = later(at, command_);
    return flash_medium_ ? flash_.write(begin, place, bytes) : disk_.write(begin, place, bytes);
  }
  /// When all it has taken outlives a power cut.
  Time durable(Time at) const {
    return std::max(later(at, command_), durable_buffer_ ? Time{0} : on_medium());
  }
  /// The same of what was written last, without a command.
  Time settled() const { return durable_buffer_ ? Time{0} : on_medium(); }

 private:
  Time on_medium() const { return flash_medium_ ? flash_.programmed() : disk_.written(); }

  bool flash_medium_, durable_buffer_;
  Time command_;
  node::Flash flash_;
  Disk disk_;
};

}  // namespace weft::storage
