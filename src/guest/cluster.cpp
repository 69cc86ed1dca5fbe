#include "guest/cluster.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/diagnostics.hpp"
#include "host/storage_tiers.hpp"

namespace weft::guest {

namespace {

using Clock = std::chrono::steady_clock;
constexpr Time kStep{1'000'000'000'000};
constexpr Time kMostAhead{100'000'000};  // a node that is alone; its end is known as well as that

/// A node's Ethernet, and its number on the bus there.
Ethernet& ethernet_of(nic::Fabric& fabric, nic::NicId nic, const std::string& machine,
                      node::DeviceId& device) {
  node::Node& site = fabric.site(nic);
  for (device = 0; device < site.devices(); ++device)
    if (auto* ethernet = dynamic_cast<Ethernet*>(&site.device(device))) return *ethernet;
  throw UserError(fmt::format("node {} of {} has no device of kind \"ethernet\"", fabric.node(nic), machine));
}

NodeResult result_of(const GuestNode& node) {
  NodeResult one;
  one.name = node.name;
  one.code = node.ending.signal ? 128 + node.ending.signal : node.ending.code;
  one.failure = node.failure;
  if (!node.ended) one.failure = "it was still running";
  if (const std::string& panic = node.console.panic(); !one.failure.empty() && !panic.empty())
    one.failure = "its kernel panicked: " + panic;
  if (!one.failure.empty())
    one.last_lines.assign(node.console.last_lines().begin(), node.console.last_lines().end());
  one.network_up = node.network_up;
  one.end = node.end;
  one.ethernet = node.ethernet->counters();
  if (node.files) one.files = node.files->counters();
  one.peak_memory = node.process.peak_memory();
  return one;
}

}  // namespace

StormTimes storm_times(const BootResult& result) {
  if (result.skeletons.empty()) return {};
  std::vector<Time> real;
  for (std::size_t i = 1; i < result.nodes.size(); ++i) real.push_back(result.nodes[i].booted);
  return storm_times(real, result.skeletons);
}

const std::vector<std::string>& Cluster::waiting_command() {
  static const std::vector<std::string> command{"/bin/sh", "-c", "while :; do sleep 1000000; done"};
  return command;
}

Cluster::Cluster(const machine::Machine& machine, BootOptions options)
    : machine_(machine), options_(std::move(options)) {}

Cluster::~Cluster() = default;

void Cluster::join(nic::Fabric& fabric, event::EventQueue& queue, node::SpaceId first_space) {
  fabric_ = &fabric;
  queue_ = &queue;
  first_space_ = first_space;
  nics_ = fabric.nics();
  make_nodes();
  if (options_.pool.empty()) return;
  accelerators_ = std::make_unique<AcceleratorService>(
      fabric, queue, options_, machine_.description.host, nodes_,
      ClusterCalls{[this](network::EndpointId node) { return nic_of(node); },
                   [this](GuestNode& node, VhostUser& vhost, unsigned of) { interrupt(node, vhost, of); },
                   [this](GuestNode& node) { return still_waiting(node); },
                   [this](GuestNode& node) { connection_lost(node); }});
}

nic::NicId Cluster::nic_of(network::EndpointId node) const {
  nic::NicId first = 0, count = nics_;  // these are in the order of their nodes
  while (count > 0) {
    const nic::NicId half = count / 2;
    if (fabric_->node(first + half) < node) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first;
}

std::vector<network::EndpointId> Cluster::nodes() const {
  std::vector<network::EndpointId> out = ethernet_nodes();
  for (const PooledDevice& one : options_.pool)
    if (std::find(out.begin(), out.end(), one.node) == out.end()) out.push_back(one.node);
  return out;
}

/// Those with an Ethernet: Linux nodes, and then what stands for further ones.
std::vector<network::EndpointId> Cluster::ethernet_nodes() const {
  std::vector<network::EndpointId> out = options_.place;
  out.insert(out.end(), options_.skeletons.begin(), options_.skeletons.end());
  return out;
}

void Cluster::make_nodes() {
  ethernets_.resize(nics_);
  devices_.resize(nics_);
  watches_.resize(options_.place.size());
  const std::vector<network::EndpointId> all = ethernet_nodes();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const nic::NicId nic = nic_of(all[i]);
    node::DeviceId device = 0;
    Ethernet& ethernet = ethernet_of(*fabric_, nic, machine_.description.identity.name, device);
    ethernets_[nic] = &ethernet;
    devices_[nic] = device;
    peers_.push_back(ethernet.open(*fabric_, nic, static_cast<std::uint32_t>(i), first_space_ + nic));
    ethernet.run_at(machine_.description.processor_of(all[i]).pace());
    ethernet.set_interrupt_latency(machine_.description.host.interrupt);
    if (i >= options_.place.size()) continue;
    nodes_.push_back(std::make_unique<GuestNode>(node_name(i), options_.date));
    nodes_.back()->nic = nic;
    nodes_.back()->ethernet = &ethernet;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    GuestNode& node = *nodes_[i];
    node.ethernet->interrupt_guest = [this, &node](unsigned queue) {
      interrupt(node, node.ethernet->vhost(), queue);
    };
    node.ethernet->guest_time = [&node] { return node.calendar.updated(); };
    node.calendar.set_reaction(machine_.description.host.interrupt);
    node.ethernet->on_frame = [this, i](bool sent, Time at, std::span<const std::uint8_t> frame) {
      watch_frame(i, sent, at, frame);
    };
  }
  for (Ethernet* ethernet : ethernets_)
    if (ethernet) ethernet->know(peers_, static_cast<std::uint32_t>(nodes_.size()));
  if (!options_.skeletons.empty()) make_skeletons();
}

void Cluster::make_skeletons() {
  std::vector<Ethernet*> clients;
  for (network::EndpointId node : options_.skeletons) clients.push_back(ethernets_[nic_of(node)]);
  storm_ = std::make_unique<Storm>(*queue_, options_.recording, clients.size());
  storm_->play_over(*nodes_[0]->ethernet, clients, static_cast<std::uint32_t>(nodes_.size()));
}

void Cluster::watch_frame(std::size_t node, bool sent, Time at, std::span<const std::uint8_t> frame) {
  if (on_frame) on_frame(node, sent, at, frame);
  if (options_.netboot && !sent) watches_[node].received(at, frame);
  if (!options_.record) return;
  if (node == 0)
    recorder_.server_frame(sent, at, frame);
  else
    recorder_.client_frame(sent, at, frame);
}

// --- Files.

std::vector<network::EndpointId> Cluster::file_users() const {
  return options_.files.mount.empty() ? std::vector<network::EndpointId>() : options_.place;
}

void Cluster::use_files(host::StorageCalls& files, std::uint32_t first) {
  share_files(files, first, nodes_, *queue_, machine_.description.host, options_.date,
              [this](GuestNode& node) { interrupt(node, node.files->vhost(), 0); });
}

// --- Starting.

void Cluster::start() {
  next_progress_ = Clock::now() + kProgressInterval;
  starter_ = std::make_unique<Starter>(options_, nodes_.size(), terminal);
  for (std::size_t i = 0; i < nodes_.size(); ++i) starter_->start(*nodes_[i], i);
  sockets_ = std::make_unique<FileWatch>();
  watch_files();
  if (storm_) storm_->begin();
  settle();
}

BootResult Cluster::run(network::Network& network) {
  std::vector<network::EndpointId> sorted = nodes();
  std::sort(sorted.begin(), sorted.end());
  const bool files = !file_users().empty();
  if (files) own_host_ = std::make_unique<host::StorageHost>(host());
  own_fabric_ = std::make_unique<nic::Fabric>(machine_, network, own_queue_, files ? *own_host_ : host(),
                                              sorted, options_.seed);
  join(*own_fabric_, own_queue_, 0);
  if (files) {
    own_files_ =
        std::make_unique<host::StorageCalls>(machine_, *own_fabric_, own_queue_, host::StorageRanks{},
                                             options_.files, file_users(), options_.date);
    own_host_->add(*own_files_);
    use_files(*own_files_, 0);
  }
  try {
    alone_ = true;
    start();
    go_on_alone();
  } catch (const UserError&) {
    throw;
  } catch (const std::runtime_error& error) {  // the network cannot go on, or virtual time has ended
    failure_ = error.what();
  }
  end();
  return result();
}

void Cluster::end() {
  for (auto& node : nodes_)
    if (!node->ended) {
      node->ran = true;
      node->console.gather(node->process.console());
      node->process.end();
      node->end = now();
    }
  pass_on_consoles();
  if (own_files_) own_files_->write_all_back();
  if (accelerators_) accelerators_->end();
  starter_.reset();
}

void Cluster::go_on_alone() {
  alone_ = true;
  while (failure_.empty() && alive() && !(options_.record && recorder_.done())) {
    if (terminal) attend_terminal();
    if (advance()) run_nodes();
    settle();
  }
}

void Cluster::take_turn() {
  run_nodes();
  settle();
}

/// Until all nodes wait; then what they have asked for is carried out.
void Cluster::settle() {
  serve_until_stopped();
  if (!failure_.empty()) return;
  carry_out_kicks();
  pass_on_consoles();
  if (accelerators_) accelerators_->attend();
  end_those_who_wait();
  ++rounds_;
}

std::size_t Cluster::alive() const {
  return static_cast<std::size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const auto& node) { return !node->ended; }));
}

// --- While all wait.

void Cluster::carry_out_kicks() {
  for (auto& node : nodes_) {
    node->ethernet->take_kicks();  // also of one that has turned itself off since
    if (node->ended) continue;
    if (node->pci) node->pci->take_kicks();
    if (node->files) node->files->take_kicks();
    if (node->network_up.value == 0 && node->ethernet->vhost().queue(Ethernet::kReceiveQueue).ready())
      node->network_up = now();
    check_rings(*node);
  }
}

void Cluster::check_rings(GuestNode& node) {
  for (unsigned queue : {Ethernet::kReceiveQueue, Ethernet::kSendQueue})
    if (const std::string& why = node.ethernet->vhost().queue(queue).broken(); !why.empty())
      return fail(node, fmt::format("its {} ring makes no sense: {}",
                                    queue == Ethernet::kSendQueue ? "sending" : "receiving", why));
  if (node.files)
    if (const std::string& why = node.files->vhost().queue(0).broken(); !why.empty())
      return fail(node, fmt::format("the ring of its file system makes no sense: {}", why));
  for (std::size_t i = 0; i < node.pci_doors.size(); ++i)
    for (unsigned queue : {PciSlot::kCommandQueue, PciSlot::kInterruptQueue})
      if (const std::string& why = node.pci->slots()[i]->vhost().queue(queue).broken(); !why.empty())
        return fail(node, fmt::format("ring {} of its PCI slot {} makes no sense: {}", queue, i, why));
}

void Cluster::pass_on_consoles() {
  for (auto& node : nodes_) {
    if (!std::exchange(node->ran, false)) continue;
    if (node->process.started() && Console::has_more(node->process.console()))
      node->console.gather(node->process.console());
    if (terminal && node.get() == nodes_[*options_.shell].get()) {
      node->console.pass_on_raw([&](std::string_view text) { terminal->write(text); });
    } else {
      node->console.pass_on(on_line, node->ended);
    }
  }
}

bool Cluster::storm_is_over() {
  if (!storm_ || storm_->done()) return true;
  if (!fabric_->idle()) return false;
  failure_ =
      fmt::format("the network has lost frames of the storm: {} of {} nodes without a kernel have booted",
                  storm_->ended(), options_.skeletons.size());
  return true;
}

/// Nodes that are there for others only are done when those are off.
void Cluster::end_those_who_wait() {
  const bool shell_is_off = options_.shell && nodes_[*options_.shell]->ended;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    GuestNode& node = *nodes_[i];
    const bool waits = options_.shell != i && shell_is_off && options_.command == waiting_command();
    const bool serves = options_.netboot && i == 0 && alive() == 1 && storm_is_over();
    if (node.ended || (!waits && !serves)) continue;
    node.process.end();
    ended(node, {0, 0});
  }
}

/// Until virtual time may move on: passes on what is typed.
void Cluster::attend_terminal() {
  GuestNode& node = *nodes_[*options_.shell];
  while (failure_.empty() && !node.ended) {
    node.calendar.drop_read();
    const Time next = std::min(earliest_request(), quiet_until());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(pace_.wait(Clock::now(), now(), next));
    // What is typed before the shell has said anything waits for it.
    const bool ready_to_hear = !node.console.last_lines().empty();
    pollfd files[] = {{node.calendar.socket(), POLLIN, 0},
                      {ready_to_hear ? terminal->input() : -1, POLLIN, 0}};
    const int ready = poll(files, 2, static_cast<int>(std::min<std::int64_t>(left.count(), kLook)));
    if (accelerators_) accelerators_->attend_control();
    if (ready > 0 && files[1].revents) type(node);
    if (ready > 0 && files[0].revents && !node.calendar.handle(now(), [&] { return still_waiting(node); }))
      connection_lost(node);
    if (interrupted()) failure_ = "interrupted";
    if (ready == 0 && left.count() <= kLook) return;
    if (ready == 0) look_after(node);
  }
}

void Cluster::type(GuestNode& node) {
  constexpr const char* kEndOfInput = "\4";  // what a user types to say so
  const std::string text = terminal->read().value_or(kEndOfInput);
  if (!text.empty() && node.calendar.answer([&] { return still_waiting(node); }))
    write_all(node.process.input(), text.data(), text.size(), [&] { return still_waiting(node); });
}

Time Cluster::earliest_request() const {
  Time earliest = Calendar::kNoRequest;
  for (const auto& node : nodes_)
    if (!node->ended) earliest = std::min(earliest, node->calendar.request());
  return earliest;
}

/// Moves the fabric on; true where a node's time has come.
bool Cluster::advance() {
  const Time cut = options_.files.power_cut, until = std::min(earliest_request(), cut);
  if (until == Calendar::kNoRequest) {
    if (alive() == 0) return false;
    if (fabric_->idle()) {
      failure_ = "all nodes wait, and nothing is left that could wake one";
      return false;
    }
    fabric_->advance(network::kForever);
  } else {
    // In steps: links that are watched cost something even while nobody sends, and a user may want to end it.
    while (!fabric_->advance(std::min(until, later(now(), kStep))) && now() < until && !interrupted()) {
    }
  }
  if (now() >= cut) failure_ = "the power was cut";
  if (interrupted()) failure_ = "interrupted";
  for (auto& node : nodes_)
    if (!node->ended) check_rings(*node);
  return failure_.empty() && earliest_request() <= now();
}

/// Nothing happens in the fabric before this time, unless a node does something.
Time Cluster::quiet_until() const {
  Time quiet = alone_ ? Calendar::kNoRequest : now();
  for (const auto& node : nodes_) quiet = std::min(quiet, fabric_->quiet_until(node->nic));
  return quiet;
}

/// Where nothing outside the node happens before `quiet`: how far it may go without asking.
Time Cluster::free_until(const GuestNode& node, Time quiet) const {
  if (!options_.look_ahead) return now();
  Time until = std::min(node.ethernet->undisturbed_until(quiet), later(now(), kMostAhead));
  if (node.files) until = std::min(until, node.files->undisturbed_until(quiet));
  return node.pci ? std::min(until, node.pci->undisturbed_until(quiet)) : until;
}

/// Those whose time has come, and those whose time comes before anything can reach them.
void Cluster::run_nodes() {
  const Time fabric = quiet_until(), now = this->now();
  // The first two requests: what happens outside of a node is what the others do, and the fabric.
  const GuestNode* first = nullptr;
  Time first_at = Calendar::kNoRequest, second_at = Calendar::kNoRequest;
  for (const auto& node : nodes_) {
    if (node->ended) continue;
    const Time at = node->calendar.request();
    if (at < first_at) {
      second_at = std::exchange(first_at, at);
      first = node.get();
    } else {
      second_at = std::min(second_at, at);
    }
  }
  for (auto& node : nodes_) {
    if (node->ended || node->calendar.request() == Calendar::kNoRequest) continue;
    const Time others = std::max(now, node.get() == first ? second_at : first_at);
    const Time until = free_until(*node, std::min(fabric, others)), from = node->calendar.request();
    if (from > now && from >= until) continue;
    node->running_since = Clock::now();
    node->ran = true;
    if (!node->calendar.run(std::max(now, from), until, [&] { return still_waiting(*node); }) && !node->ended)
      connection_lost(*node);
  }
}

/// Before it answers, the kernel asks for the time and for its turn.
void Cluster::interrupt(GuestNode& node, VhostUser& vhost, unsigned queue) {
  if (node.ended) return;
  const StillWaiting waiting = [&] { return still_waiting(node); };
  node.running_since = Clock::now();
  bool alive = node.calendar.answer(waiting) && vhost.send_interrupt(queue, waiting);
  while (alive) {
    pollfd files[] = {{vhost.interrupt_socket(), POLLIN, 0}, {node.calendar.socket(), POLLIN, 0}};
    const int ready = poll(files, 2, kLook);
    if (ready <= 0) {
      alive = waiting();
    } else if (files[1].revents) {
      alive = node.calendar.handle(now(), waiting);
    } else {
      alive = vhost.read_interrupt_answer(waiting);
      break;
    }
  }
  if (!alive && !node.ended) connection_lost(node);
  queue_->stop();  // its turn may have come
}

// --- nic::Host

bool Cluster::read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) {
  return ethernets_[space - first_space_]->read(address, to, length);
}

bool Cluster::write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) {
  return ethernets_[space - first_space_]->write(address, from, length);
}

bool Cluster::has_space(node::NodeId node, node::SpaceId space) const {
  return space - first_space_ < nics_ && fabric_->node(space - first_space_) == node;
}

void Cluster::device_interrupt(node::NodeId at, node::DeviceId device) {
  const nic::NicId nic = nic_of(at);
  if (devices_[nic] == device) ethernets_[nic]->interrupted();
}

void Cluster::event(nic::PortRef port, const nic::Event& event) { ethernets_[port.nic]->event(event); }

void Cluster::slot_free(nic::PortRef port, Time) { ethernets_[port.nic]->slot_free(); }

BootResult Cluster::result() const {
  BootResult out;
  out.failure = failure_;
  out.end = now();
  out.rounds = rounds_;
  if (storm_) out.skeletons = storm_->ends();
  out.recorded = options_.recording.client.size() + options_.recording.server.size();
  if (options_.record && recorder_.done()) out.recording = recorder_.finish();
  if (accelerators_) out.grants = accelerators_->records();
  if (own_files_) out.storage = host::storage_figures(*own_files_);
  for (const auto& node : nodes_) {
    NodeResult one = result_of(*node);
    one.node = fabric_->node(node->nic);
    one.accelerator = options_.accelerator(out.nodes.size());
    one.booted = watches_[out.nodes.size()].at();
    if (accelerators_) one.accelerators = accelerators_->granted_to(out.nodes.size());
    out.messages += node->calendar.messages();
    out.nodes.push_back(std::move(one));
  }
  return out;
}

}  // namespace weft::guest
