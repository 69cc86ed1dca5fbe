#include "host/storage_request.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "host/processes.hpp"

namespace weft::host {

namespace {

constexpr std::uint64_t kMostParts = 1024;  // IOV_MAX

/// The parts of a process's memory that have some of the bytes of them all.
std::vector<iovec> parts_between(const std::vector<iovec>& parts, std::uint64_t skip, std::uint64_t left) {
  std::vector<iovec> out;
  for (const iovec& part : parts) {
    if (skip >= part.iov_len) {
      skip -= part.iov_len;
      continue;
    }
    const std::uint64_t bytes = std::min<std::uint64_t>(part.iov_len - skip, left);
    out.push_back({static_cast<char*>(part.iov_base) + skip, bytes});
    skip = 0;
    if ((left -= bytes) == 0) break;
  }
  return out;
}

/// Between these parts of the simulator's own memory and its buffer.
template <class Copy>
bool copy_own(const std::vector<iovec>& parts, std::uint64_t bytes, const Copy& copy) {
  std::uint64_t done = 0;
  for (const iovec& part : parts) {
    copy(static_cast<char*>(part.iov_base), done, part.iov_len);
    done += part.iov_len;
  }
  return done == bytes;
}

/// Where in the process's memory data is from or for.
std::int32_t read_parts(FileRequest& p) {
  const bool parts = p.call == FileCall::ReadParts || p.call == FileCall::WriteParts;
  const bool data = parts || p.call == FileCall::Read || p.call == FileCall::Write;
  if (!data) return 0;
  if (!parts) {
    p.parts.push_back({reinterpret_cast<void*>(p.address), p.length});
  } else {
    if (p.length > kMostParts) return -EINVAL;
    p.parts.resize(p.length);
    if (p.length && !read_memory(p.process, p.address, p.parts.data(), p.length * sizeof(iovec)))
      return -EFAULT;
    p.call = p.call == FileCall::ReadParts ? FileCall::Read : FileCall::Write;
    p.length = 0;
    for (const iovec& part : p.parts) {
      if (part.iov_len > kMostAtOnce) return -EINVAL;
      p.length += part.iov_len;
    }
  }
  return p.length > kMostAtOnce ? -EINVAL : 0;
}

}  // namespace

std::int32_t read_request(const Request& request, bool file_is_known, FileRequest& p) {
  const auto call = static_cast<std::uint32_t>(request.argument[0]);
  if (call > static_cast<std::uint32_t>(FileCall::Last)) return -ENOSYS;
  p.call = static_cast<FileCall>(call);
  p.address = request.argument[1];
  p.length = request.argument[2];
  p.offset = request.argument[3];
  if (p.call <= FileCall::LastByFile) {
    p.file = static_cast<std::uint32_t>(request.argument[0] >> 32);
    if (p.call == FileCall::Adopt) return 0;
    return file_is_known ? read_parts(p) : -EBADF;
  }
  char text[sizeof(PathCall) + 2 * kLongestPath];
  if (p.length < sizeof(PathCall) || p.length > sizeof text) return -EINVAL;
  if (!read_memory(p.process, p.address, text, p.length)) return -EFAULT;
  std::memcpy(&p.path, text, sizeof p.path);
  if (std::uint64_t{p.path.first} + p.path.second + sizeof(PathCall) != p.length) return -EINVAL;
  p.first.assign(text + sizeof(PathCall), p.path.first);
  p.second.assign(text + sizeof(PathCall) + p.path.first, p.path.second);
  return 0;
}

bool copy_from(const FileRequest& p, std::uint64_t skip, std::span<char> to) {
  const std::vector<iovec> remote = parts_between(p.parts, skip, to.size());
  if (p.process == 0)
    return copy_own(remote, to.size(), [&](const char* from, std::uint64_t at, std::uint64_t bytes) {
      std::memcpy(to.data() + at, from, bytes);
    });
  const iovec local{to.data(), to.size()};
  return process_vm_readv(p.process, &local, 1, remote.data(), remote.size(), 0) ==
         static_cast<ssize_t>(to.size());
}

bool copy_to(const FileRequest& p, std::uint64_t skip, std::span<const char> from) {
  const std::vector<iovec> remote = parts_between(p.parts, skip, from.size());
  if (p.process == 0)
    return copy_own(remote, from.size(), [&](char* to, std::uint64_t at, std::uint64_t bytes) {
      std::memcpy(to, from.data() + at, bytes);
    });
  const iovec local{const_cast<char*>(from.data()), from.size()};
  return process_vm_writev(p.process, &local, 1, remote.data(), remote.size(), 0) ==
         static_cast<ssize_t>(from.size());
}

std::int32_t refuse_path(const FileRequest& p, storage::Tree& tree) {
  if (!p.confined) return 0;
  if (const std::int32_t away = tree.plain_way(p.first); away != 0) return away;
  if (p.call == FileCall::Rename || p.call == FileCall::Link) return tree.plain_way(p.second);
  struct stat facts {};
  const bool follows = p.call == FileCall::SetModeAt || p.call == FileCall::TruncateAt;
  return follows && tree.status(p.first, false, facts) == 0 && S_ISLNK(facts.st_mode) ? -EOPNOTSUPP : 0;
}

std::int32_t fetch(const FileRequest& p, std::uint64_t address, void* to, std::uint64_t bytes) {
  if (p.process != 0) return read_memory(p.process, address, to, bytes) ? 0 : -EFAULT;
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return 0;
}

std::int32_t put(const FileRequest& p, std::uint64_t address, const void* from, std::uint64_t bytes) {
  if (p.process == 0) {
    if (bytes) std::memcpy(reinterpret_cast<void*>(address), from, bytes);
    return 0;
  }
  return bytes == 0 || write_memory(p.process, address, from, bytes) ? 0 : -EFAULT;
}

}  // namespace weft::host
