// Buffers in memory of devices. Where interfaces do not reach it, and for what the processor would have to
// copy word by word, they are staged: copied by the device to memory of the process before they are sent, and
// from there after they have come.
#pragma once

#include <memory>
#include <unordered_map>

#include "lib/fi/objects.hpp"
#include "mpi/buffer.hpp"

namespace weft::fi {

using mpi::Buffer;

/// Is some of it memory of a device?
bool on_device(const Buffer& buffer);
/// Is all of it one piece of memory of a device that interfaces reach?
bool on_peer(const Buffer& buffer);
/// Copies parts that are memory of a device by the device, others by the processor; 0 or a negative errno.
int copy_out(const Buffer& from, char* to);
int copy_in(const Buffer& to, const char* from, std::size_t bytes);

class Staging {
 public:
  /// A copy of what is sent, until the request ends.
  struct Sent {
    std::unique_ptr<char[]> copy;
    Buffer buffer;
  };
  /// 0 or a negative errno.
  static int stage(const Buffer& from, Sent& out);
  void keep(std::uint32_t request, Sent&& sent) { sent_[request] = std::move(sent); }
  void sent(std::uint32_t request) {
    if (!sent_.empty()) sent_.erase(request);
  }

  /// Where a message is received in place of a buffer on a device.
  Buffer expect(const Buffer& buffer);
  /// It has come: so many bytes go where they belong. 0 or a negative errno.
  int received(const Buffer& expected, std::size_t bytes);
  /// It will not come.
  void cancelled(const Buffer& expected);

 private:
  struct Expected {
    std::unique_ptr<char[]> copy;
    Buffer target;
  };
  static const void* key_of(const Buffer& buffer) { return buffer.parts ? buffer.part[0].iov_base : nullptr; }

  std::unordered_map<std::uint32_t, Sent> sent_;        // by request
  std::unordered_map<const void*, Expected> expected_;  // by where the copy is
};

}  // namespace weft::fi
