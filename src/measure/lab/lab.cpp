#include "measure/lab/lab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "node/compute_registers.hpp"
#include "workload/replay.hpp"

namespace weft::measure::lab {

namespace {

constexpr std::uint64_t kBase = 0x7000'0000'0000;  // where a process's memory begins, for its interface
constexpr unsigned kLongestQuiet = 1'000'000;

}  // namespace

/// Gives the turn back to the lab until what the process waits for is there.
struct Process::Suspend {
  Process& process;
  Wait what;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) const {
    process.waiter_ = handle;
    process.waits_ = what;
    if (what == Wait::Step) process.lab_.plan(process, process.clock);
  }
  void await_resume() const {}
};

network::EndpointId Process::node() const { return lab_.fabric().node(port_.nic); }

Task Process::post(nic::Descriptor descriptor) {
  while (queued_ >= lab_.fabric().parameters().queue_slots) co_await Suspend{*this, Wait::Slot};
  clock = clock + lab_.machine().description.host.post_cost;
  // A bus and an interface are booked in the order of posts: nobody may book ahead of others' present.
  if (lab_.fabric().now() < clock) co_await in_step();
  descriptor.posted = clock.value;
  ++queued_;
  lab_.fabric_->post(port_, descriptor);
}

Task Process::next() {
  if (arrived_.empty()) co_await Suspend{*this, Wait::Arrival};
  take_front();
}

Task Process::in_step() { co_await Suspend{*this, Wait::Step}; }

Task Process::meet(Gate& gate) {
  gate.waiting.push_back(this);
  if (gate.waiting.size() < gate.expected) {
    co_await Suspend{*this, Wait::Gate};
    co_return;
  }
  Time last{0};
  for (const Process* one : gate.waiting) last = std::max(last, one->clock);
  for (Process* one : gate.waiting) {
    one->clock = last;
    if (one != this) lab_.plan(*one, last);
  }
  gate.waiting.clear();
}

void Process::take_front() {
  item = arrived_.front();
  arrived_.pop_front();
  const machine::HostParameters& h = lab_.machine().description.host;
  clock = std::max(clock, item.time()) + (h.cache_injection ? h.cache_read : h.memory_read) + h.receive_cost;
  lab_.fabric_->consumed(port_, item.is_message ? 1 : 0, item.is_message ? 0 : 1);
}

nic::Descriptor Process::to(const Process& other, nic::Operation operation, std::uint64_t length,
                            std::uint16_t flags) const {
  nic::Descriptor d;
  d.operation = operation;
  d.node = other.node();
  d.port = other.port_.port;
  d.length = length;
  d.flags = flags;
  d.local_key = key_;
  d.remote_key = other.key_;
  return d;
}

mpi::Place Process::place_of(const void* base, std::uint64_t bytes) {
  for (std::size_t i = 0; i < placed_.size(); ++i)
    if (placed_[i].base == base && placed_[i].bytes == bytes) return {placed_[i].simulated, i};
  const auto page = static_cast<std::uint64_t>(lab_.fabric().parameters().page.value);
  const std::uint64_t end = placed_.empty() ? kBase : placed_.back().simulated + placed_.back().bytes;
  placed_.push_back({base, bytes, (end + page - 1) / page * page});
  return {placed_.back().simulated, placed_.size() - 1};
}

Time Process::register_memory(void* base, std::uint64_t bytes, std::uint32_t rights, std::uint64_t simulated,
                              Time from, std::uint64_t& key) {
  nic::Status status = lab_.fabric_->register_memory(port_, reinterpret_cast<std::uint64_t>(base), bytes,
                                                     rights, key, simulated);
  WEFT_CHECK(status == nic::Status::Ok, "an experiment's memory can be registered");
  return lab_.fabric_->registration_time(port_.nic, from, simulated, bytes);
}

Time Process::unregister_memory(std::uint64_t key, Time from) {
  std::uint64_t bytes = 0;
  lab_.fabric_->unregister_memory(port_, key, &bytes);
  return lab_.fabric_->unregistration_time(port_.nic, from, bytes);
}

void Process::use_device(const std::string& name) {
  constexpr std::size_t kDevices = 64;
  node::Node& site = lab_.fabric_->site(port_.nic);
  device_ = site.find(name);
  const node::OwnMemory* own = device_ < site.devices() ? site.device(device_).own_memory() : nullptr;
  if (!own)
    throw UserError(
        {{lab_.machine_.description.origin("node.device." + name), "node.device." + name,
          "an experiment needs an accelerator of this name, with memory, on every node it uses"}});
  std::size_t place = port_.nic * kDevices + device_;
  if (lab_.device_used_.size() <= place) lab_.device_used_.resize(place + 1);
  device_offset_ = lab_.device_used_[place];
  lab_.device_used_[place] += memory_.size();
  WEFT_CHECK(lab_.device_used_[place] <= own->size, "an experiment's data fits into the device");
  if (!own->is_peer) return;
  nic::Status status = lab_.fabric_->register_memory(port_, device_offset_, memory_.size(), nic::kAllRights,
                                                     device_key_, 0, own->space);
  WEFT_CHECK(status == nic::Status::Ok, "an experiment's memory can be registered");
}

Task Process::copy(bool to_device, std::uint64_t bytes) {
  clock = clock + lab_.machine().description.host.system_call;
  if (lab_.fabric().now() < clock) co_await in_step();
  lab_.fabric_->site(port_.nic).copy(
      device_,
      {to_device, device_offset_, number_, reinterpret_cast<std::uint64_t>(memory_.data()), bytes, number_},
      clock);
  co_await Suspend{*this, Wait::Copy};
}

void Process::write_device(std::uint64_t offset, std::uint64_t value) {
  lab_.fabric_->site(port_.nic).write(device_, offset, value, clock);
}

std::uint64_t Process::look_at_device(std::uint64_t offset) {
  return lab_.fabric_->site(port_.nic).device(device_).read_register(offset);
}

void Process::command(std::uint64_t what, std::span<const std::uint64_t> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    write_device(node::kComputeArgument + 8 * i, arguments[i]);
  write_device(node::kComputeCommand, what);
  write_device(node::kComputeDoorbell, 0);
}

Lab::Lab(const machine::Machine& machine, const std::string& engine,
         const std::vector<network::EndpointId>& nodes, std::uint64_t seed)
    : machine_(machine), network_(workload::make_engine(engine, machine, {seed, 1})) {
  nic::Host& host = *this;
  fabric_ = std::make_unique<nic::Fabric>(machine, *network_, queue_, host, nodes, seed);
  by_port_.resize(nodes.size());
}

Process& Lab::add(std::size_t node, std::uint64_t memory, bool memory_queue) {
  auto number = static_cast<unsigned>(processes_.size());
  auto nic = static_cast<nic::NicId>(node);
  nic::PortNo port = 0;
  if (fabric_->open(nic, number, memory_queue, port) != nic::Status::Ok)
    throw UserError({{machine_.description.origin("nic.ports"), "nic.ports",
                      fmt::format("an experiment opens more ports on a node than its interface has, {}",
                                  fabric_->parameters().ports)}});
  processes_.emplace_back(new Process(*this, number, {nic, port}));
  Process& process = *processes_.back();
  process.memory_.resize(memory);
  void* base = process.memory_.data();
  nic::Status status =
      fabric_->register_memory(process.port_, reinterpret_cast<std::uint64_t>(base), memory, nic::kAllRights,
                               process.key_, process.place_of(base, memory).simulated);
  WEFT_CHECK(status == nic::Status::Ok, "an experiment's memory can be registered");
  if (by_port_[nic].size() <= port) by_port_[nic].resize(port + 1);
  by_port_[nic][port] = &process;
  return process;
}

void Lab::start(Process& process, Task program) {
  process.waiter_ = program.handle();
  process.program_ = programs_.size();
  programs_.emplace_back(&process, std::move(program));
  plan(process, process.clock);
}

void Lab::run() {
  unsigned quiet = 0;  // turns in a row with nothing under way
  for (;;) {
    if (plans_.empty()) {
      if (std::all_of(programs_.begin(), programs_.end(), [](auto& p) { return p.second.done(); })) return;
      if (!fabric_->advance(network::kForever) && plans_.empty())
        throw std::runtime_error(fmt::format(
            "an experiment on {} hangs: nothing is under way, and {} wait",
            machine_.description.identity.name,
            std::count_if(programs_.begin(), programs_.end(), [](auto& p) { return !p.second.done(); })));
      continue;
    }
    Plan next = plans_.front();
    if (fabric_->now() < next.at && fabric_->advance(next.at)) continue;  // others may have an earlier turn
    std::pop_heap(plans_.begin(), plans_.end());
    plans_.pop_back();
    resume(*next.process);
    quiet = fabric_->idle() ? quiet + 1 : 0;
    if (quiet > kLongestQuiet)
      throw std::runtime_error(
          fmt::format("an experiment on {} hangs: its programs look for what nobody sent",
                      machine_.description.identity.name));
  }
}

void Lab::resume(Process& process) {
  process.waits_ = Process::Wait::None;
  std::exchange(process.waiter_, nullptr).resume();
  if (const Task& program = programs_[process.program_].second; program.done()) program.rethrow();
}

void Lab::plan(Process& process, Time when) {
  plans_.push_back({when, order_++, &process});
  std::push_heap(plans_.begin(), plans_.end());
}

Process& Lab::at(nic::PortRef port) { return *by_port_[port.nic][port.port]; }

void Lab::arrived(nic::PortRef port, Item item) {
  Process& process = at(port);
  process.arrived_.push_back(item);
  if (process.waits_ != Process::Wait::Arrival) return;
  process.waits_ = Process::Wait::None;
  plan(process, fabric_->now());
}

bool Lab::has_space(node::NodeId node, node::SpaceId space) const {
  return space < processes_.size() && processes_[space]->node() == node;
}

void Lab::message(nic::PortRef port, const nic::Message& message) { arrived(port, {true, message, {}}); }
void Lab::event(nic::PortRef port, const nic::Event& event) {
  if (event.kind == nic::EventKind::Failed)
    throw std::runtime_error(fmt::format("an operation of an experiment on {} failed with status {}",
                                         machine_.description.identity.name, static_cast<int>(event.status)));
  arrived(port, {false, {}, event});
}

void Lab::slot_free(nic::PortRef port, Time when) {
  Process& process = at(port);
  if (process.queued_ > 0) --process.queued_;
  if (process.waits_ != Process::Wait::Slot) return;
  process.waits_ = Process::Wait::None;
  process.clock = std::max(process.clock, when);
  plan(process, when);
}

void Lab::device_copied(std::uint64_t token, bool well) {
  WEFT_CHECK(well, "an experiment copies memory that is there");
  Process& process = *processes_[token];
  process.clock = std::max(process.clock, fabric_->now());
  plan(process, fabric_->now());
}

bool Lab::read(std::uint32_t, std::uint64_t address, void* to, std::uint64_t length) {
  std::memcpy(to, reinterpret_cast<const void*>(address), length);
  return true;
}

bool Lab::write(std::uint32_t, std::uint64_t address, const void* from, std::uint64_t length) {
  std::memcpy(reinterpret_cast<void*>(address), from, length);
  return true;
}

}  // namespace weft::measure::lab
