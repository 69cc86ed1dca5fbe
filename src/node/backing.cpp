#include "node/backing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostics.hpp"

namespace weft::node {

Backing::Backing(std::uint64_t size, const std::string& file) : size_(size) {
  int number = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (!file.empty()) {
    number = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (number < 0) throw UserError(fmt::format("{}: cannot be opened: {}", file, std::strerror(errno)));
    struct stat found {};
    const bool regular = fstat(number, &found) == 0 && S_ISREG(found.st_mode);
    if (!regular || (static_cast<std::uint64_t>(found.st_size) < size &&
                     ftruncate(number, static_cast<off_t>(size)) != 0)) {
      const int error = errno;
      close(number);
      throw UserError(fmt::format("{}: {}", file,
                                  regular
                                      ? fmt::format("cannot have {} bytes: {}", size, std::strerror(error))
                                      : std::string("is no regular file")));
    }
    flags = MAP_SHARED;
  }
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, number, 0);
  const int error = errno;
  if (number >= 0) close(number);
  if (mapped == MAP_FAILED)
    throw UserError(fmt::format("a disk of {} bytes cannot be mapped: {}", size, std::strerror(error)));
  bytes_ = static_cast<std::uint8_t*>(mapped);
}

Backing::Backing(std::uint64_t size) : size_(size), file_(memfd_create("weft-device", MFD_CLOEXEC)) {
  void* mapped = MAP_FAILED;
  if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(size)) == 0)
    mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (mapped != MAP_FAILED) {
    bytes_ = static_cast<std::uint8_t*>(mapped);
    return;
  }
  const int error = errno;
  if (file_ >= 0) close(file_);
  throw UserError(fmt::format("a device's memory of {} bytes cannot be had: {}", size, std::strerror(error)));
}

Backing::~Backing() {
  munmap(bytes_, size_);
  if (file_ >= 0) close(file_);
}

void Backing::clear(std::uint64_t from, std::uint64_t bytes) { std::memset(bytes_ + from, 0, bytes); }

}  // namespace weft::node
