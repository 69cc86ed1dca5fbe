// What the protocol needs of whoever runs it: a clock, a port of an interface, memory it knows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi/descriptor.hpp"

namespace weft::mpi {

class Port {
 public:
  /// Virtual time, picoseconds.
  virtual std::int64_t now() const = 0;
  /// The processor works for so long.
  virtual void work(std::int64_t picoseconds) = 0;
  /// Posts, at the processor's cost; waits while the queue is full.
  virtual void post(nic::Descriptor& descriptor) = 0;
  /// Makes memory known to the interface, at what that costs. 0 or a negative errno. Rights: nic::kRemoteRead
  /// and the like.
  virtual int register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) = 0;
  /// The caller does without it; it may stay known.
  virtual void release_memory(std::uint64_t key) = 0;

  std::uint64_t mark = 0;  // of what is posted now: it goes into the descriptors' spare[4], for records

 protected:
  ~Port() = default;
};

}  // namespace weft::mpi
