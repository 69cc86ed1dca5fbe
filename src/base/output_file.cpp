#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"

namespace weft {

int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // a pipe that somebody has made so that it does not wait
      pollfd room{file, POLLOUT, 0};
      poll(&room, 1, -1);
      continue;
    }
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) ::close(file_);
}

void OutputFile::fail(int error) const {
  throw UserError(fmt::format("{}: cannot be written: {}", path_, std::strerror(error)));
}

void OutputFile::write(std::string_view text) {
  constexpr std::size_t kBuffer = 1 << 16;
  buffer_ += text;
  if (buffer_.size() >= kBuffer) flush();
}

void OutputFile::flush() {
  std::string text = std::exchange(buffer_, {});
  if (int error = write_all(file_, text)) fail(error);
  text.clear();
  buffer_ = std::move(text);  // its memory serves again
}

void OutputFile::close() {
  flush();
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

}  // namespace weft
