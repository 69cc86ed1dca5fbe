#include "host/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"

namespace weft::host {

namespace {

bool same_file(int a, int b) {
  struct stat one {
  }, other{};
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

Output::Output(unsigned ranks, OutputOptions options) : options_(std::move(options)), streams_(2 * ranks) {
  watch_ = epoll_create1(EPOLL_CLOEXEC);
  one_file_ = same_file(STDOUT_FILENO, STDERR_FILENO);
  if (!options_.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options_.folder, failed);
    if (failed)
      throw UserError(fmt::format("{}: the folder cannot be made: {}", options_.folder, failed.message()));
  }
  for (unsigned i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw UserError(fmt::format("no pipe for the output of rank {}: {}", i / 2, std::strerror(errno)));
    stream.reading = ends[0];
    stream.writing = ends[1];
    fcntl(stream.reading, F_SETFL, O_NONBLOCK);
    stream.target = i % 2 || options_.to_error ? STDERR_FILENO : STDOUT_FILENO;
    if (!options_.folder.empty()) {
      stream.target = open(path(i).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (stream.target < 0) fail(i, errno);
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = i;
    epoll_ctl(watch_, EPOLL_CTL_ADD, stream.reading, &event);
  }
}

Output::~Output() {
  // What the command itself has to say comes on standard error.
  unsigned error_file = one_file_ ? 0 : 1;
  if (unfinished_[error_file] != kNobody) write_all(STDERR_FILENO, "\n");
  for (Stream& stream : streams_) {
    for (int file : {stream.reading, stream.writing})
      if (file >= 0) ::close(file);
    if (stream.target > STDERR_FILENO) ::close(stream.target);
  }
  if (watch_ >= 0) ::close(watch_);
}

std::string Output::path(unsigned index) const {
  return fmt::format("{}/rank-{}.{}", options_.folder, index / 2, index % 2 ? "err" : "out");
}

void Output::fail(unsigned index, int error) const {
  int target = streams_[index].target;
  std::string where = target == STDOUT_FILENO   ? "standard output"
                      : target == STDERR_FILENO ? "standard error"
                                                : path(index);
  throw UserError(
      fmt::format("{}: what rank {} prints cannot be written: {}", where, index / 2, std::strerror(error)));
}

void Output::started(unsigned rank) {
  for (unsigned i : {2 * rank, 2 * rank + 1}) {
    ::close(streams_[i].writing);
    streams_[i].writing = -1;
  }
}

void Output::gather() {
  epoll_event events[64];
  for (;;) {
    int count = epoll_wait(watch_, events, 64, 0);
    for (int i = 0; i < count; ++i) {
      unsigned index = events[i].data.u32;
      read_from(index);
      filled_.push_back(index);
    }
    if (count < 64) return;
  }
}

void Output::read_from(unsigned index) {
  constexpr std::size_t kMostGathered = 64 << 20;
  Stream& stream = streams_[index];
  char buffer[16'384];
  for (;;) {
    if (stream.text.size() > kMostGathered)
      return write_lines(index, stream.text.rfind('\n') == std::string::npos);
    ssize_t got = read(stream.reading, buffer, sizeof buffer);
    if (got > 0) {
      stream.text.append(buffer, static_cast<std::size_t>(got));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) epoll_ctl(watch_, EPOLL_CTL_DEL, stream.reading, nullptr);
    return;
  }
}

void Output::pass_on() {
  gather();
  if (filled_.empty()) return;
  std::sort(filled_.begin(), filled_.end());
  filled_.erase(std::unique(filled_.begin(), filled_.end()), filled_.end());
  for (unsigned index : filled_) write_lines(index, false);
  filled_.clear();
}

void Output::finish(unsigned rank) {
  for (unsigned index : {2 * rank, 2 * rank + 1}) {
    read_from(index);
    write_lines(index, true);
  }
}

void Output::close(unsigned rank) {
  for (unsigned index : {2 * rank, 2 * rank + 1}) {
    int& target = streams_[index].target;
    if (target > STDERR_FILENO && ::close(std::exchange(target, -1)) != 0) fail(index, errno);
  }
}

void Output::write_lines(unsigned index, bool all) {
  Stream& stream = streams_[index];
  std::size_t end = all ? stream.text.size() : stream.text.rfind('\n') + 1;  // none: npos + 1 is 0
  if (end == 0) return;
  std::string_view lines(stream.text.data(), end);
  if (!options_.label || !options_.folder.empty()) {
    write(index, lines);
  } else {
    std::string labelled;
    while (!lines.empty()) {
      std::size_t line = std::min(lines.find('\n'), lines.size() - 1) + 1;
      labelled += fmt::format("[{}] {}", index / 2, lines.substr(0, line));
      if (labelled.back() != '\n') labelled += '\n';
      lines.remove_prefix(line);
    }
    write(index, labelled);
  }
  stream.text.erase(0, end);
}

void Output::write(unsigned index, std::string_view text) {
  int target = streams_[index].target;
  auto put = [&](std::string_view piece) {
    if (int error = write_all(target, piece)) fail(index, error);
  };
  if (!options_.folder.empty()) return put(text);
  unsigned& unfinished = unfinished_[target == STDERR_FILENO && !one_file_];
  if (unfinished != kNobody && unfinished != index) put("\n");
  put(text);
  unfinished = text.back() == '\n' ? kNobody : index;
}

}  // namespace weft::host
