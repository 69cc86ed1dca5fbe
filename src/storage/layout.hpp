// Where a file lies: its stripe units go round the targets, from one that follows from the file's number.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/random.hpp"
#include "machine/storage_parameters.hpp"

namespace weft::storage {

using ServerId = std::uint32_t;
inline constexpr ServerId kMetadata = 0;  // targets are 1, 2, ...

class Layout {
 public:
  explicit Layout(const machine::StorageParameters& p)
      : unit_(static_cast<std::uint64_t>(p.stripe_unit.value)),
        capacity_(static_cast<std::uint64_t>(p.device.capacity.value)),
        targets_(p.targets),
        stripes_(p.stripe_count == 0 ? p.targets : std::min(p.stripe_count, p.targets)),
        replicas_(std::min(p.replicas, p.targets)) {}

  std::uint64_t unit() const { return unit_; }
  std::uint32_t targets() const { return targets_; }
  std::uint32_t replicas() const { return replicas_; }

  /// The target of a copy of a stripe unit; copies are on targets that follow each other.
  ServerId target(std::uint64_t file, std::uint64_t unit, std::uint32_t copy) const {
    return static_cast<ServerId>(1 + (file + unit % stripes_ + copy) % targets_);
  }
  /// Where on its device a byte of a file is. Parts of a file on one device lie together.
  std::uint64_t place(std::uint64_t file, std::uint64_t offset) const {
    constexpr std::uint64_t kBlock = 4096;
    const std::uint64_t first = random_bits(0x706c616365, file, 0) % (capacity_ / kBlock) * kBlock;
    return (first + offset / unit_ / stripes_ * unit_ + offset % unit_) % capacity_;
  }

 private:
  std::uint64_t unit_, capacity_;
  std::uint32_t targets_, stripes_, replicas_;
};

}  // namespace weft::storage
