#include "guest/accelerator_service.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace weft::guest {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLook = 1000;                             // milliseconds between looks at processes
constexpr std::chrono::milliseconds kControlPause{10};  // between looks at the control socket

}  // namespace

AcceleratorService::AcceleratorService(nic::Fabric& fabric, event::EventQueue& queue,
                                       const BootOptions& options, const machine::HostParameters& host,
                                       Nodes& nodes, ClusterCalls calls)
    : fabric_(fabric), queue_(queue), options_(options), nodes_(nodes), calls_(std::move(calls)) {
  std::vector<nic::NicId> nics;
  for (const PooledDevice& one : options_.pool) nics.push_back(calls_.nic_of(one.node));
  for (auto& node : nodes_) make_bus(*node, host);
  accelerators_ = std::make_unique<Accelerators>(fabric_, queue_, options_.pool, nics, nodes_,
                                                 static_cast<std::uint64_t>(options_.memory.value));
  accelerators_->tell_agent = [this](std::size_t node, const std::string& line) {
    return tell_agent(node, line);
  };
  accelerators_->inject = [this](const GrantRequest& request, nic::Backdoor::Answer answer) {
    inject(request, std::move(answer));
  };
  if (!options_.tlp_dump.empty()) {
    backdoor_ = std::make_unique<nic::Backdoor>(fabric_, queue_);
    backdoor_->dump(options_.tlp_dump, options_.tlp_filter);
  }
  for (const Assignment& one : options_.accelerators) accelerators_->assign_at_start(one.device, one.host);
  accelerators_->schedule(options_.grants);
  if (options_.control) control_ = std::make_unique<Control>();
}

void AcceleratorService::make_bus(GuestNode& node, const machine::HostParameters& host) {
  node.pci = std::make_unique<Pci>(fabric_, node.nic, queue_, host);
  node.calendar.set_reaction(Pci::reaction(host));
  for (auto& slot : node.pci->slots()) {
    slot->guest_time = [&node] { return node.calendar.updated(); };
    slot->wake_guest = [this, &node] { node.calendar.wake(now()); };
    slot->interrupt_guest = [this, &node, &one = *slot](unsigned queue) {
      calls_.interrupt(node, one.vhost(), queue);
    };
  }
}

void AcceleratorService::attend() {
  hear_agents();
  attend_control();
}

void AcceleratorService::node_ended(const GuestNode& node) {
  const auto at = std::find_if(nodes_.begin(), nodes_.end(), [&](auto& one) { return one.get() == &node; });
  accelerators_->node_ended(static_cast<std::size_t>(at - nodes_.begin()));
}

void AcceleratorService::end() {
  accelerators_->end();
  if (backdoor_) backdoor_->close();
  control_.reset();
}

void AcceleratorService::inject(const GrantRequest& request, nic::Backdoor::Answer answer) {
  if (!backdoor_) backdoor_ = std::make_unique<nic::Backdoor>(fabric_, queue_);
  backdoor_->inject(calls_.nic_of(request.from), request.from_port ? nic::Side::Port : nic::Side::Host,
                    calls_.nic_of(request.to), request.packet, std::move(answer));
}

/// The line interrupts the node, which asks for the time and requests its turn. One whose turn has come
/// already would not request another: it hears of it after that.
bool AcceleratorService::tell_agent(std::size_t number, const std::string& line) {
  GuestNode& node = *nodes_[number];
  const Time told = node.calendar.told(now());
  if (node.ended || node.calendar.request() <= told) return false;
  const StillWaiting waiting = [&] { return calls_.still_waiting(node); };
  const std::string text = line + "\n";
  node.running_since = Clock::now();
  bool alive =
      node.calendar.answer(waiting) && write_all(node.process.line(), text.data(), text.size(), waiting);
  while (alive && node.calendar.request() > told) {
    pollfd file{node.calendar.socket(), POLLIN, 0};
    alive = poll(&file, 1, kLook) > 0 ? node.calendar.handle(now(), waiting) : waiting();
  }
  if (!alive && !node.ended) calls_.connection_lost(node);
  queue_.stop();  // its turn has come
  return true;
}

void AcceleratorService::hear_agents() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    GuestNode& node = *nodes_[i];
    if (node.ended || (node.calendar.stands_still() && !accelerators_->waits_for(i))) continue;
    char room[512];
    for (ssize_t got; (got = recv(node.process.line(), room, sizeof room, MSG_DONTWAIT)) > 0;)
      node.agent_text.append(room, static_cast<std::size_t>(got));
    constexpr std::size_t kMost = 65'536;  // of a node that says no end of a line
    if (node.agent_text.size() > kMost) node.agent_text.clear();
    for (std::size_t end; (end = node.agent_text.find('\n')) != std::string::npos;) {
      const std::string line = node.agent_text.substr(0, end);
      node.agent_text.erase(0, end + 1);
      constexpr std::string_view kAsk = "ask ";
      if (line.starts_with(kAsk))
        node_asks(i, std::string_view(line).substr(kAsk.size()));
      else
        accelerators_->agent_said(i, line);
    }
  }
}

void AcceleratorService::node_asks(std::size_t node, std::string_view text) {
  const auto question = parse_node_question(text, node, {accelerators_->pool(), options_.place});
  if (!question) return;
  auto answer = [this, node, number = question->number](bool well, const std::string& what) {
    accelerators_->answer(node, number, well, what);
  };
  const GrantRequest& request = question->request;
  if (!question->refused.empty()) return answer(false, question->refused);
  if (request.kind == GrantRequest::Kind::Release && !accelerators_->holds(node, request.device))
    return answer(false, fmt::format("{} does not have {}", node_name(node),
                                     accelerators_->pool()[request.device].name));
  accelerators_->request(request, answer);
}

void AcceleratorService::attend_control() {
  if (!control_ || Clock::now() < next_control_) return;
  next_control_ = Clock::now() + kControlPause;
  control_->attend([&](const std::string& line, std::size_t client) {
    Diagnostics problems;
    const GrantRequest request =
        parse_grant_request(line, "request", {accelerators_->pool(), options_.place}, problems);
    if (!problems.empty()) return control_->misunderstood(client, problems.all().front().message);
    accelerators_->request(request, [this, client](bool well, const std::string& text) {
      if (control_) control_->answer(client, well, text);
    });
  });
}

}  // namespace weft::guest
