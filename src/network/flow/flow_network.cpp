#include "network/flow/flow_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/virtual_time.hpp"
#include "config/registry.hpp"

namespace weft::network::flow {

using topology::kNone;

namespace {

std::vector<double> capacities(const Links& links) {
  std::vector<double> out(links.count());
  for (LinkId l = 0; l < links.count(); ++l) out[l] = links.capacity(l);
  return out;
}

}  // namespace

FlowNetwork::FlowNetwork(const machine::Machine& machine)
    : links_(machine),
      maker_(machine, links_),
      fluid_(capacities(links_)),
      queues_(machine.graph->endpoints()) {}

void FlowNetwork::accept(const Packet& packet, Time at) {
  WEFT_CHECK(packet.source < queues_.size() && packet.destination < queues_.size(), "no such endpoint");
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {packet, 0, kNone};
  arrivals_.push(at, 0, 0, slot);
}

void FlowNetwork::arrive(std::uint32_t slot) {
  Queue& queue = queues_[slots_[slot].packet.source];
  bool busy = queue.first != kNone;
  if (busy)
    slots_[queue.last].next = slot;
  else
    queue.first = slot;
  queue.last = slot;
  if (!busy) start_first(queue);
}

void FlowNetwork::start_first(Queue& queue) {
  while (queue.first != kNone && !start(queue.first)) {
    std::uint32_t lost = queue.first;
    queue.first = slots_[lost].next;
    land(clock_, lost, Notice::Kind::Lost);
  }
}

bool FlowNetwork::start(std::uint32_t slot) {
  Slot& s = slots_[slot];
  if (!maker_.route(s.packet.source, s.packet.destination, fluid_.load(), scratch_, route_)) return false;
  s.delay_ps = maker_.delay_ps(route_);
  fluid_.start(route_, links_.wire_bytes(s.packet.bytes), slot, clock_);
  return true;
}

void FlowNetwork::land(Time at, std::uint32_t slot, Notice::Kind kind) {
  landings_.push(at, 0, static_cast<std::uint32_t>(kind), slot);
}

void FlowNetwork::run(Time until, std::vector<Notice>& notices) {
  const std::size_t told = notices.size();
  auto first_of = [](const event::EventHeap& heap) { return heap.empty() ? kForever : heap.top().at; };
  for (;;) {
    while (first_of(arrivals_) <= clock_) arrive(static_cast<std::uint32_t>(arrivals_.pop().data));
    fluid_.settle(clock_);
    const Time next = std::min({first_of(arrivals_), first_of(landings_), fluid_.next_end()});
    const bool told_some = notices.size() > told;
    if (next == kForever || next > until || (told_some && !in_batch(notices[told].at, next))) {
      if (!told_some) clock_ = until;
      return;
    }
    clock_ = next;
    step(notices);
    // What is sent at this very time has its share before rates are settled.
    if (notices.size() > told && reaction_time().value == 0) return;
  }
}

/// All that ends and arrives now.
void FlowNetwork::step(std::vector<Notice>& notices) {
  const auto before = static_cast<std::ptrdiff_t>(notices.size());
  ended_.clear();
  fluid_.end_due(clock_, ended_);
  for (std::uint64_t name : ended_) {
    auto slot = static_cast<std::uint32_t>(name);
    const Slot& s = slots_[slot];
    notices.push_back({s.packet.tag, clock_, Notice::Kind::Departed});
    land(later(clock_, Time{s.delay_ps}), slot, Notice::Kind::Delivered);
    Queue& queue = queues_[s.packet.source];
    queue.first = s.next;
    start_first(queue);
  }
  while (!landings_.empty() && landings_.top().at <= clock_) {
    const event::Event landing = landings_.pop();
    auto slot = static_cast<std::uint32_t>(landing.data);
    notices.push_back({slots_[slot].packet.tag, clock_, static_cast<Notice::Kind>(landing.kind)});
    free_slots_.push_back(slot);
  }
  std::sort(notices.begin() + before, notices.end(), [](const Notice& a, const Notice& b) {
    return a.tag != b.tag ? a.tag < b.tag : a.kind < b.kind;
  });
}

std::vector<std::string> FlowNetwork::explain() const {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> out;
  for (EndpointId e = 0; e < queues_.size() && out.size() < kMost; ++e)
    if (queues_[e].first != kNone) {
      const Packet& p = slots_[queues_[e].first].packet;
      out.push_back(fmt::format("e{} is sending {} bytes to e{}", e, p.bytes, p.destination));
    }
  return out;
}

namespace {

std::unique_ptr<Network> make(const machine::Machine& machine, const EngineOptions&) {
  return std::make_unique<FlowNetwork>(machine);
}

WEFT_REGISTER(EngineKind, {"flow", "messages as fluids over their ways, at max-min fair rates", make});

}  // namespace

}  // namespace weft::network::flow
