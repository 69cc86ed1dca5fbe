#include "base/input_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/diagnostics.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"

namespace weft {

namespace {

/// Closed when it goes out of scope, whatever happens.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::string read_file(const std::string& path, std::uint64_t most_bytes) {
  constexpr std::uint64_t kMostUnsized = 64ull << 20;
  auto fail = [&](int error) -> UserError {
    return UserError(fmt::format("{}: cannot be read: {}", path, std::strerror(error)));
  };
  auto refuse = [&](const std::string& size, std::uint64_t most) -> UserError {
    return UserError(
        fmt::format("{}: has {} bytes; a file of this kind may have {}", path, size, with_commas(most)));
  };
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts {};
  if (file.number < 0 || fstat(file.number, &facts) != 0) throw fail(errno);
  if (S_ISDIR(facts.st_mode)) throw fail(EISDIR);
  const bool sized = S_ISREG(facts.st_mode);
  const auto size = static_cast<std::uint64_t>(sized ? facts.st_size : 0);
  if (size > most_bytes) throw refuse(with_commas(size), most_bytes);
  require_memory(static_cast<double>(size), path, "a file is read as a whole");
  const std::uint64_t most = sized ? most_bytes : std::min(most_bytes, kMostUnsized);
  std::string text;
  text.reserve(size);
  for (std::string part(1 << 16, '\0');;) {
    ssize_t got = ::read(file.number, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw fail(errno);
    if (got == 0) return text;
    text.append(part, 0, static_cast<std::size_t>(got));
    if (text.size() > most) throw refuse(fmt::format("more than {}", with_commas(most)), most);
  }
}

}  // namespace weft
