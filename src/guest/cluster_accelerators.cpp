// What a cluster does for its accelerators: lines to and from the nodes' agents, and the control socket.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "guest/cluster.hpp"

namespace weft::guest {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLook = 1000;                             // milliseconds between looks at processes
constexpr std::chrono::milliseconds kControlPause{10};  // between looks at the control socket

}  // namespace

/// The line interrupts the node, which asks for the time and requests its turn. One whose turn has come
/// already would not request another: it hears of it after that.
bool Cluster::tell_agent(std::size_t number, const std::string& line) {
  GuestNode& node = *nodes_[number];
  const Time told = node.calendar.told(now());
  if (node.ended || node.calendar.request() <= told) return false;
  const StillWaiting waiting = [&] { return still_waiting(node); };
  const std::string text = line + "\n";
  node.running_since = Clock::now();
  bool alive =
      node.calendar.answer(waiting) && write_all(node.process.line(), text.data(), text.size(), waiting);
  while (alive && node.calendar.request() > told) {
    pollfd file{node.calendar.socket(), POLLIN, 0};
    alive = poll(&file, 1, kLook) > 0 ? node.calendar.handle(now(), waiting) : waiting();
  }
  if (!alive && !node.ended) connection_lost(node);
  queue_->stop();  // its turn has come
  return true;
}

void Cluster::hear_agents() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    GuestNode& node = *nodes_[i];
    if (node.ended) continue;
    char room[512];
    for (ssize_t got; (got = recv(node.process.line(), room, sizeof room, MSG_DONTWAIT)) > 0;)
      node.agent_text.append(room, static_cast<std::size_t>(got));
    constexpr std::size_t kMost = 65'536;  // of a node that says no end of a line
    if (node.agent_text.size() > kMost) node.agent_text.clear();
    for (std::size_t end; (end = node.agent_text.find('\n')) != std::string::npos;) {
      const std::string line = node.agent_text.substr(0, end);
      node.agent_text.erase(0, end + 1);
      accelerators_->agent_said(i, line);
    }
  }
}

void Cluster::attend_control() {
  if (Clock::now() < next_control_) return;
  next_control_ = Clock::now() + kControlPause;
  control_->attend([&](const std::string& line, std::size_t client) {
    Diagnostics problems;
    const GrantRequest request =
        parse_grant_request(line, "request", {accelerators_->pool(), nodes_.size()}, problems);
    if (!problems.empty()) return control_->answer(client, false, problems.all().front().message);
    accelerators_->request(request, [this, client](bool well, const std::string& text) {
      if (control_) control_->answer(client, well, text);
    });
  });
}

}  // namespace weft::guest
