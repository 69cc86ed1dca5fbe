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

void FlowNetwork::send(const Packet& packet, Time at) {
  WEFT_CHECK(at >= now_, "a packet is sent in the past");
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
  arrivals_.push_back({at.value, sequence_++, slot});
  std::push_heap(arrivals_.begin(), arrivals_.end());
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
    landings_.push_back({now_.value, sequence_++, lost, Notice::Kind::Lost});
    std::push_heap(landings_.begin(), landings_.end());
  }
}

bool FlowNetwork::start(std::uint32_t slot) {
  Slot& s = slots_[slot];
  if (!maker_.route(s.packet.source, s.packet.destination, fluid_.load(), scratch_, route_)) return false;
  s.delay_ps = maker_.delay_ps(route_);
  fluid_.start(route_, links_.wire_bytes(s.packet.bytes), slot, now_);
  return true;
}

void FlowNetwork::advance(Time until, std::vector<Notice>& notices) {
  WEFT_CHECK(until >= now_, "time does not run backwards");
  std::size_t told = notices.size();
  auto top = [](const std::vector<Event>& heap) {
    return heap.empty() ? kForever.value : heap.front().at_ps;
  };
  auto pop = [](std::vector<Event>& heap) {
    std::pop_heap(heap.begin(), heap.end());
    Event event = heap.back();
    heap.pop_back();
    return event;
  };
  while (notices.size() == told) {
    while (top(arrivals_) <= now_.value) arrive(pop(arrivals_).slot);
    fluid_.settle(now_);
    std::int64_t next = std::min({top(arrivals_), top(landings_), fluid_.next_end().value});
    if (next > until.value || next == kForever.value) {
      now_ = until;
      return;
    }
    now_ = {next};
    ended_.clear();
    fluid_.end_due(now_, ended_);
    for (std::uint64_t name : ended_) {
      auto slot = static_cast<std::uint32_t>(name);
      const Slot& s = slots_[slot];
      notices.push_back({s.packet.tag, now_, Notice::Kind::Departed});
      landings_.push_back({later(now_, Time{s.delay_ps}).value, sequence_++, slot});
      std::push_heap(landings_.begin(), landings_.end());
      Queue& queue = queues_[s.packet.source];
      queue.first = s.next;
      start_first(queue);
    }
    while (top(landings_) <= now_.value) {
      Event event = pop(landings_);
      notices.push_back({slots_[event.slot].packet.tag, now_, event.kind});
      free_slots_.push_back(event.slot);
    }
  }
  std::sort(
      notices.begin() + static_cast<std::ptrdiff_t>(told), notices.end(),
      [](const Notice& a, const Notice& b) { return a.tag != b.tag ? a.tag < b.tag : a.kind < b.kind; });
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
