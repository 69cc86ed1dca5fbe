#include "guest/socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/diagnostics.hpp"

namespace weft::guest {

namespace {

constexpr int kLook = 1000;  // milliseconds

/// Until the socket is ready; false where it is given up.
bool wait_for(int socket, short what, const StillWaiting& still_waiting) {
  for (;;) {
    pollfd entry{socket, what, 0};
    int ready = poll(&entry, 1, kLook);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (!still_waiting()) return false;
  }
}

bool again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

void File::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

bool read_all(int socket, void* to, std::size_t bytes, const StillWaiting& still_waiting) {
  auto* at = static_cast<std::uint8_t*>(to);
  while (bytes) {
    ssize_t got = recv(socket, at, bytes, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !again(errno))) return false;
    if (got < 0) {
      if (!wait_for(socket, POLLIN, still_waiting)) return false;
      continue;
    }
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int socket, const void* from, std::size_t bytes, const StillWaiting& still_waiting) {
  const auto* at = static_cast<const std::uint8_t*>(from);
  while (bytes) {
    ssize_t put = send(socket, at, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && !again(errno)) return false;
    if (put < 0) {
      if (!wait_for(socket, POLLOUT, still_waiting)) return false;
      continue;
    }
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

bool read_with_files(int socket, void* to, std::size_t bytes, std::vector<File>& files, std::size_t most,
                     const StillWaiting& still_waiting) {
  constexpr std::size_t kRoom = 16;
  alignas(cmsghdr) char control[CMSG_SPACE(kRoom * sizeof(int))];
  iovec piece{to, bytes};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  ssize_t got = 0;
  do {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && again(errno) && !wait_for(socket, POLLIN, still_waiting)) return false;
  } while (got < 0 && again(errno));
  if (got <= 0) return false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof number, sizeof number);
      File file(number);
      if (files.size() < most) files.push_back(std::move(file));
    }
  }
  return read_all(socket, static_cast<std::uint8_t*>(to) + got, bytes - static_cast<std::size_t>(got),
                  still_waiting);
}

File listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw UserError(fmt::format("{}: too long for a socket's path; set TMPDIR to a shorter folder", path));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  File file(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!file || bind(file.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(file.number(), 1) != 0)
    throw UserError(fmt::format("{}: a socket cannot be made there: {}", path, std::strerror(errno)));
  return file;
}

}  // namespace weft::guest
