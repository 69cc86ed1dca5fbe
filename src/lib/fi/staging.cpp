#include "lib/fi/staging.hpp"

#include <string.h>

#include <algorithm>

#include "lib/device_memory.hpp"

namespace weft::fi {

bool on_device(const Buffer& buffer) {
  for (unsigned i = 0; i < buffer.parts; ++i)
    if (buffer.part[i].iov_len && lib::device_mapping(buffer.part[i].iov_base, 1)) return true;
  return false;
}

bool on_peer(const Buffer& buffer) {
  if (buffer.parts != 1) return false;
  const lib::DeviceMapping* m = lib::device_mapping(buffer.part[0].iov_base, buffer.part[0].iov_len);
  return m && m->is_peer;
}

int copy_out(const Buffer& from, char* to) {
  for (unsigned i = 0; i < from.parts; ++i) {
    const iovec& part = from.part[i];
    if (!lib::device_mapping(part.iov_base, part.iov_len)) {
      memcpy(to, part.iov_base, part.iov_len);
    } else if (int result = lib::copy_on_device(part.iov_base, to, part.iov_len, false); result != 0) {
      return result;
    }
    to += part.iov_len;
  }
  return 0;
}

int copy_in(const Buffer& to, const char* from, std::size_t bytes) {
  for (unsigned i = 0; i < to.parts && bytes; ++i) {
    const iovec& part = to.part[i];
    const std::size_t here = std::min<std::size_t>(bytes, part.iov_len);
    if (!lib::device_mapping(part.iov_base, here)) {
      memcpy(part.iov_base, from, here);
    } else if (int result = lib::copy_on_device(part.iov_base, const_cast<char*>(from), here, true);
               result != 0) {
      return result;
    }
    from += here;
    bytes -= here;
  }
  return 0;
}

int Staging::stage(const Buffer& from, Sent& out) {
  out.copy = std::make_unique<char[]>(from.length);
  out.buffer = Buffer(out.copy.get(), from.length);
  return copy_out(from, out.copy.get());
}

Buffer Staging::expect(const Buffer& buffer) {
  auto copy = std::make_unique<char[]>(std::max<std::size_t>(buffer.length, 1));
  const Buffer out(copy.get(), buffer.length);
  expected_[key_of(out)] = {std::move(copy), buffer};
  return out;
}

int Staging::received(const Buffer& expected, std::size_t bytes) {
  if (expected_.empty()) return 0;
  auto found = expected_.find(key_of(expected));
  if (found == expected_.end()) return 0;
  const Expected done = std::move(found->second);
  expected_.erase(found);
  return copy_in(done.target, done.copy.get(), bytes);
}

void Staging::cancelled(const Buffer& expected) {
  if (!expected_.empty()) expected_.erase(key_of(expected));
}

}  // namespace weft::fi
