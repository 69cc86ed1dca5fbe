#include "guest/accelerators.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "guest/boot_options.hpp"

namespace weft::guest {

namespace {

/// A node whose turn has come hears of what is asked of it after that turn.
constexpr Time kTryAgain{1'000'000};

}  // namespace

Accelerators::Accelerators(nic::Fabric& fabric, event::EventQueue& queue, std::vector<PooledDevice> pool,
                           const std::vector<nic::NicId>& nics,
                           std::vector<std::unique_ptr<GuestNode>>& nodes, std::uint64_t memory)
    : fabric_(fabric),
      queue_(queue),
      component_(queue.join(*this)),
      grants_(fabric),
      pool_(std::move(pool)),
      devices_(pool_.size()),
      nodes_(nodes),
      agents_(nodes.size()),
      granted_(nodes.size()),
      memory_(memory) {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].nic = nics[i];
    nic::RootPort& port = *fabric.root_port(nics[i]);
    for (const pcie::Found& found : port.found())
      if (!found.bridge) {
        const pcie::Function& function = *port.tree().places()[port.tree().find(found.id)].function;
        devices_[i].functions.push_back({nics[i], found.id, function.about()});
      }
  }
}

void Accelerators::assign_at_start(std::size_t device, std::size_t host) {
  Device& one = devices_[device];
  if (const Time ready = grants_.ready(one.nic); ready > Time{0}) {
    GrantRequest later;
    later.kind = GrantRequest::Kind::Assign;
    later.at = ready;
    later.device = device;
    later.host = host;
    later.text = fmt::format("assign {} to {}", pool_[device].name, node_name(host));
    return schedule({later});
  }
  const std::string why = grants_.assign(one.nic, nodes_[host]->nic, memory_of_host());
  if (!why.empty()) throw UserError(fmt::format("--accelerators: {}: {}", pool_[device].name, why));
  if (!nodes_[host]->pci->plug(one.functions))
    throw UserError(fmt::format("--accelerators: {} has {} slots on its bus, which are too few for {}",
                                node_name(host), Pci::kSlots, pool_[device].name));
  granted(device, host, State::Held);
}

void Accelerators::granted(std::size_t which, std::size_t host, State state) {
  devices_[which].state = state;
  devices_[which].host = host;
  for (const RemoteFunction& function : devices_[which].functions)
    granted_[host].push_back(fmt::format("{}, on node {}", function.about, pool_[which].node));
}

void Accelerators::schedule(const std::vector<GrantRequest>& script) {
  for (const GrantRequest& one : script) {
    jobs_.push_back({one, [](bool, const std::string&) {}, 0, true});
    queue_.at(one.at, component_, kScript, jobs_.size() - 1);
  }
}

void Accelerators::request(const GrantRequest& request, Answer answer) {
  jobs_.push_back({request, std::move(answer), 0, true});
  begin(jobs_.size() - 1);
}

void Accelerators::handle(const event::Event& event) {
  if (event.kind == kScript) return begin(event.data);
  go_on(event.data);
}

void Accelerators::begin(std::size_t number) {
  Job& job = jobs_[number];
  if (job.request.kind == GrantRequest::Kind::List) return finish(number, true, list());
  if (!job.record) {
    records_.push_back({queue_.now(), queue_.now(), job.request.text, "not done when the job ended"});
    job.record = records_.size();
  }
  if (job.request.kind == GrantRequest::Kind::Inject)
    return inject(job.request, [this, number](const std::string& text) { finish(number, true, text); });
  if (job.request.kind == GrantRequest::Kind::Assign) return assign(number);
  release(number);
}

void Accelerators::finish(std::size_t number, bool well, const std::string& text) {
  Job& job = jobs_[number];
  if (!job.open) return;
  job.open = false;
  if (job.record) {
    records_[job.record - 1].done = queue_.now();
    records_[job.record - 1].outcome = text;
  }
  job.answer(well, text);
}

void Accelerators::assign(std::size_t number) {
  GrantRequest& wanted = jobs_[number].request;
  auto is_free = [&](std::size_t i) { return devices_[i].state == State::Free; };
  if (wanted.device == GrantRequest::kAny) {
    std::size_t best = GrantRequest::kAny;  // the first that is ready soonest
    for (std::size_t i = 0; i < pool_.size(); ++i)
      if (pool_[i].name.starts_with(wanted.device_kind + ".") && is_free(i) &&
          (best == GrantRequest::kAny || grants_.ready(devices_[i].nic) < grants_.ready(devices_[best].nic)))
        best = i;
    if (best == GrantRequest::kAny)
      return finish(number, false, fmt::format("no {} is free", wanted.device_kind));
    wanted.device = best;
  }
  Device& device = devices_[wanted.device];
  const std::string& name = pool_[wanted.device].name;
  if (agents_[wanted.host].ended)
    return finish(number, false, fmt::format("{} has ended", node_name(wanted.host)));
  if (!is_free(wanted.device))
    return finish(number, false, fmt::format("{} has {}", node_name(device.host), name));
  if (const Time ready = grants_.ready(device.nic); queue_.now() < ready)
    return queue_.at(ready, component_, kScript, number);  // it is being reset
  if (!nodes_[wanted.host]->pci->plug(device.functions))
    return finish(number, false, fmt::format("all slots of {} are taken", node_name(wanted.host)));
  const std::string why = grants_.assign(device.nic, nodes_[wanted.host]->nic, memory_of_host());
  if (!why.empty()) {
    nodes_[wanted.host]->pci->unplug(device.nic);
    return finish(number, false, why);
  }
  granted(wanted.device, wanted.host, State::Appearing);
  add_task(wanted.host, {"rescan", wanted.device, false, number, false});
}

std::string Accelerators::remove_line(std::size_t device) const {
  std::string line = "remove";
  for (std::uint32_t slot : nodes_[devices_[device].host]->pci->slots_of(devices_[device].nic))
    line += fmt::format(" {}", slot);
  return line;
}

void Accelerators::release(std::size_t number) {
  const std::size_t which = jobs_[number].request.device;
  Device& device = devices_[which];
  const std::string& name = pool_[which].name;
  if (device.state == State::Free) return finish(number, false, fmt::format("nobody has {}", name));
  const std::string line = remove_line(which);
  if (jobs_[number].request.kind == GrantRequest::Kind::Reclaim) {
    const std::size_t host = device.host;
    take_back(which);
    add_task(host, {line, which, false, std::nullopt, false});  // it may forget the device in its own time
    return finish(number, true, fmt::format("{} is taken from {}", name, node_name(host)));
  }
  if (device.state != State::Held)
    return finish(number, false, fmt::format("{} is about to change hands", name));
  device.state = State::Leaving;
  add_task(device.host, {line, which, true, number, false});
}

void Accelerators::take_back(std::size_t which) {
  Device& device = devices_[which];
  nodes_[device.host]->pci->unplug(device.nic);
  grants_.release(device.nic);
  device.state = State::Free;
  // What its host was still to do with it will not be done.
  for (Task& task : agents_[device.host].tasks)
    if (!task.is_answer && task.device == which && task.job) {
      finish(*task.job, false, fmt::format("{} was taken back", pool_[which].name));
      task.job.reset();
      task.plugged = false;
    }
}

// --- Agents.

void Accelerators::add_task(std::size_t node, Task task) {
  agents_[node].tasks.push_back(std::move(task));
  go_on(node);
}

void Accelerators::go_on(std::size_t node) {
  Agent& agent = agents_[node];
  if (!agent.ready || agent.told || agent.ended || agent.tasks.empty()) return;
  if (!tell_agent(node, agent.tasks.front().line))
    return queue_.at(queue_.now() + kTryAgain, component_, kGoOn, node);
  if (!agent.tasks.front().is_answer) {
    agent.told = true;
    return;
  }
  agent.tasks.pop_front();
  go_on(node);
}

void Accelerators::answer(std::size_t node, unsigned question, bool well, const std::string& text) {
  constexpr std::size_t kMost = 60'000;  // the agent has room for
  if (agents_[node].ended) return;
  std::string line = fmt::format("answer {} {}{}", question, well ? '+' : '-', text).substr(0, kMost);
  if (!line.ends_with('\n')) line += '\n';
  std::replace(line.begin(), line.end(), '\n', '\t');  // it is one line
  add_task(node, {line, 0, false, std::nullopt, true});
}

void Accelerators::agent_said(std::size_t node, const std::string& line) {
  Agent& agent = agents_[node];
  if (line == "ready") {
    agent.ready = true;
    return go_on(node);
  }
  if (!agent.told || agent.tasks.empty()) return;
  const Task task = agent.tasks.front();
  agent.tasks.pop_front();
  agent.told = false;
  const bool well = line == "done";
  Device& device = devices_[task.device];
  if (task.job && task.plugged) {
    // Where its kernel would not let go of it, it is still the node's.
    if (well) {
      take_back(task.device);
    } else {
      device.state = State::Held;
    }
    finish(*task.job, well,
           well ? fmt::format("{} is free", pool_[task.device].name)
                : fmt::format("{}: {}", node_name(node), line));
  } else if (task.job) {
    device.state = State::Held;
    finish(*task.job, well,
           well ? fmt::format("{} has {}", node_name(node), pool_[task.device].name)
                : fmt::format("{}: {}", node_name(node), line));
  }
  go_on(node);
}

void Accelerators::node_ended(std::size_t node) {
  Agent& agent = agents_[node];
  agent.ended = true;
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].state != State::Free && devices_[i].host == node) devices_[i].state = State::Free;
  grants_.host_ended(nodes_[node]->nic);
  for (const Task& task : agent.tasks)
    if (task.job) finish(*task.job, false, fmt::format("{} has ended", node_name(node)));
  agent.tasks.clear();
}

void Accelerators::end() {
  for (std::size_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].open) finish(i, false, "the job has ended");
}

// --- What is told of them.

std::string Accelerators::list() const {
  std::string out;
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    const Device& device = devices_[i];
    std::string who = device.state == State::Free ? "free" : node_name(device.host);
    if (device.state == State::Free && queue_.now() < grants_.ready(device.nic)) who = "reset";
    std::vector<std::string> about;
    for (const RemoteFunction& function : device.functions) about.push_back(function.about);
    out += fmt::format("{:<12} node {:<6} {:<8} {}\n", pool_[i].name, pool_[i].node, who, join(about, "; "));
  }
  return out;
}

}  // namespace weft::guest
