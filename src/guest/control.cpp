#include "guest/control.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/diagnostics.hpp"

namespace weft::guest {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestLine = 4096;
constexpr std::string_view kEnding = ".boot";

/// A connection to a job's socket; none where nobody listens there.
File connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  File socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket || connect(socket.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    return {};
  return socket;
}

}  // namespace

std::string control_folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder =
      runtime && *runtime ? std::string(runtime) + "/weft" : fmt::format("/tmp/weft-jobs-{}", getuid());
  mkdir(folder.c_str(), 0700);
  struct stat facts {};
  if (lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != getuid() ||
      (facts.st_mode & 077) != 0)
    throw UserError(
        fmt::format("{}: expected a folder that is yours and that nobody else may enter", folder));
  return folder;
}

Control::Control() : path_(fmt::format("{}/{}{}", control_folder(), getpid(), kEnding)) {
  unlink(path_.c_str());  // of a process that had this number before
  listener_ = listen_at(path_);
  chmod(path_.c_str(), 0600);
  fcntl(listener_.number(), F_SETFL, O_NONBLOCK);
}

Control::~Control() { unlink(path_.c_str()); }

void Control::attend(const std::function<void(const std::string& line, std::size_t client)>& ask) {
  for (;;) {
    File socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) break;
    clients_.push_back({std::move(socket), "", false});
  }
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (!client.socket || client.asked) continue;
    char room[512];
    const ssize_t got = recv(client.socket.number(), room, sizeof room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got > 0) client.line.append(room, static_cast<std::size_t>(got));
    const std::size_t end = client.line.find('\n');
    if (got <= 0 || client.line.size() > kLongestLine) {
      client.socket.close();
    } else if (end != std::string::npos) {
      client.asked = true;
      ask(client.line.substr(0, end), i);
    }
  }
}

void Control::say(std::size_t number, std::string_view what, const std::string& text) {
  Client& client = clients_[number];
  if (!client.socket) return;
  // It is short, and whoever does not take it does without.
  const std::string message = fmt::format("{}\n{}", what, text);
  [[maybe_unused]] ssize_t sent =
      send(client.socket.number(), message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  client.socket.close();
}

std::vector<std::string> running_jobs() {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(control_folder(), failed)) {
    const std::string path = entry.path().string();
    if (!path.ends_with(kEnding)) continue;
    if (connect_to(path)) {
      out.push_back(path);
    } else if (errno == ECONNREFUSED) {
      unlink(path.c_str());  // of a job that was killed
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

ControlAnswer ask_job(const std::string& path, const std::string& line) {
  File socket = connect_to(path);
  if (!socket) throw UserError(fmt::format("{}: no job answers there", path));
  const std::string message = line + "\n";
  std::string text;
  const StillWaiting forever = [] { return true; };
  if (write_all(socket.number(), message.data(), message.size(), forever)) {
    char room[4096];
    for (ssize_t got; (got = recv(socket.number(), room, sizeof room, 0)) != 0;) {
      if (got > 0) text.append(room, static_cast<std::size_t>(got));
      if (got < 0 && errno != EINTR) break;
    }
  }
  const std::size_t end = text.find('\n');
  if (end == std::string::npos) throw UserError("the job has ended without an answer");
  const std::string what = text.substr(0, end);
  return {what == "ok", what != "misunderstood", text.substr(end + 1)};
}

}  // namespace weft::guest
