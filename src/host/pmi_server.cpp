#include "host/pmi_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/diagnostics.hpp"
#include "base/text.hpp"

namespace weft::host {

namespace {

// What a rank is told it may say, and what is kept of it.
constexpr std::size_t kKeyBytes = 64, kValueBytes = 1024;
constexpr std::size_t kMostLine = 64 << 10;   // bytes without an end of line
constexpr std::size_t kMostValues = 4 << 20;  // bytes of keys and values; a quarter more for each rank

/// "cmd=put key=a value=b c": the value comes last and may hold anything.
std::map<std::string, std::string> words_of(const std::string& line) {
  std::map<std::string, std::string> out;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t equals = line.find('=', at);
    if (equals == std::string::npos) break;
    std::string key = line.substr(at, equals - at);
    std::size_t end = key == "value" ? std::string::npos : line.find(' ', equals);
    out[key] = line.substr(equals + 1, end == std::string::npos ? end : end - equals - 1);
    at = end == std::string::npos ? line.size() : end + 1;
  }
  return out;
}

}  // namespace

PmiServer::PmiServer(unsigned ranks, std::string mapping)
    : clients_(ranks), answers_(ranks, std::move(mapping)) {
  for (Client& client : clients_) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      throw UserError(fmt::format("no socket for a rank: {}", std::strerror(errno)));
    client.ours = ends[0];
    client.theirs = ends[1];
    fcntl(client.ours, F_SETFL, O_NONBLOCK);
  }
  if (pipe2(stop_, O_CLOEXEC) != 0) throw UserError(fmt::format("no pipe: {}", std::strerror(errno)));
  thread_ = std::thread([this] { serve(); });
}

PmiServer::~PmiServer() {
  close(stop_[1]);  // ends the thread
  thread_.join();
  close(stop_[0]);
  for (Client& client : clients_)
    for (int file : {client.ours, client.theirs})
      if (file >= 0) close(file);
}

void PmiServer::started(unsigned rank) {
  close(clients_[rank].theirs);
  clients_[rank].theirs = -1;
}

void PmiServer::serve() {
  std::vector<pollfd> files;
  for (const Client& client : clients_) files.push_back({client.ours, POLLIN, 0});
  files.push_back({stop_[0], POLLIN, 0});
  while (poll(files.data(), files.size(), -1) >= 0 || errno == EINTR) {
    if (files.back().revents) return;
    for (unsigned rank = 0; rank < clients_.size(); ++rank) {
      if (!files[rank].revents) continue;
      std::lock_guard lock(mutex_);
      receive(rank);
      // It is gone, or nobody listens to it any more.
      if (files[rank].revents & (POLLHUP | POLLERR) || clients_[rank].deaf) files[rank].fd = -1;
    }
  }
}

std::optional<PmiAnswers::Abort> PmiServer::aborted() {
  std::lock_guard lock(mutex_);
  for (unsigned rank = 0; rank < clients_.size(); ++rank) receive(rank);
  return answers_.aborted();
}

void PmiServer::receive(unsigned rank) {
  Client& client = clients_[rank];
  if (client.deaf) return;
  char buffer[4096];
  // A turn for each: one that never stops talking must not keep the others waiting.
  for (std::size_t heard = 0; heard < kMostLine;) {
    ssize_t got = read(client.ours, buffer, sizeof buffer);
    if (got <= 0) break;
    heard += static_cast<std::size_t>(got);
    client.text.append(buffer, static_cast<std::size_t>(got));
  }
  std::size_t begin = 0;
  for (std::size_t end; (end = client.text.find('\n', begin)) != std::string::npos; begin = end + 1)
    for (const auto& answer : answers_.to(rank, client.text.substr(begin, end - begin)))
      say(answer.rank, answer.line);
  client.text.erase(0, begin);
  if (client.text.size() < kMostLine) return;
  client.text = {};
  client.deaf = true;
  shutdown(client.ours, SHUT_RDWR);
  if (broken_.empty())
    broken_ = fmt::format("rank {} said more than {} bytes to its launcher (PMI) without an end of line",
                          rank, with_commas(kMostLine));
}

std::string PmiServer::broken() {
  std::lock_guard lock(mutex_);
  return broken_;
}

PmiAnswers::PmiAnswers(unsigned ranks, std::string mapping) : ranks_(ranks) {
  values_["PMI_process_mapping"] = std::move(mapping);
}

std::vector<PmiAnswers::Answer> PmiAnswers::to(unsigned rank, const std::string& line) {
  auto say = [rank](std::string words) { return std::vector<Answer>{{rank, std::move(words)}}; };
  auto words = words_of(line);
  const std::string& command = words["cmd"];
  if (command == "init") return say("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  if (command == "get_maxes")
    return say(fmt::format("cmd=maxes kvsname_max=256 keylen_max={} vallen_max={}", kKeyBytes, kValueBytes));
  if (command == "get_appnum") return say("cmd=appnum appnum=0");
  if (command == "get_my_kvsname") return say("cmd=my_kvsname kvsname=weft");
  if (command == "get_universe_size") return say(fmt::format("cmd=universe_size size={}", ranks_));
  if (command == "put") {
    const std::string &key = words["key"], &value = words["value"];
    const std::size_t most = kMostValues + kMostValues / 4 * ranks_;
    bool fits =
        key.size() <= kKeyBytes && value.size() <= kValueBytes && bytes_ + key.size() + value.size() <= most;
    if (!fits) return say("cmd=put_result rc=-1 msg=too_long");
    bytes_ += key.size() + value.size();
    values_[key] = value;
    return say("cmd=put_result rc=0 msg=success");
  }
  if (command == "get") {
    auto found = values_.find(words["key"]);
    if (found == values_.end()) return say("cmd=get_result rc=-1 msg=not_found value=unknown");
    return say(fmt::format("cmd=get_result rc=0 msg=success value={}", found->second));
  }
  if (command == "abort") {
    if (!abort_) abort_ = {rank, std::atoi(words["exitcode"].c_str())};
    return say("cmd=");  // it ends by itself, with an answer that says nothing
  }
  if (command == "finalize") return say("cmd=finalize_ack rc=0");
  std::vector<Answer> out;
  if (command != "barrier_in" || ++waiting_ < ranks_) return out;
  waiting_ = 0;
  for (unsigned other = 0; other < ranks_; ++other) out.push_back({other, "cmd=barrier_out rc=0"});
  return out;
}

void PmiServer::say(unsigned rank, const std::string& line) {
  std::string text = line + "\n";
  // A few bytes into an empty socket: they fit, or nobody reads them any more.
  [[maybe_unused]] ssize_t ignored = send(clients_[rank].ours, text.data(), text.size(), MSG_NOSIGNAL);
}

}  // namespace weft::host
