#include "network/flow/flow_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

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
      graph_(*machine.graph),
      weights_(machine.description.router.class_weights),
      queues_(machine.graph->endpoints() * weights_.size()),
      messages_of_class_(machine.description.router.message_classes) {
  const auto& d = machine.description;
  if (d.router_kind->model(d.router_parameters.get()).multicast)
    trees_.emplace(*machine.graph, *machine.faults);
}

GroupNumber FlowNetwork::group(std::span<const EndpointId> members) {
  WEFT_CHECK(trees_, "a packet for many is sent only where routers copy it");
  return groups_.number(members);
}

const FlowNetwork::Spread& FlowNetwork::spread(GroupNumber group, EndpointId source) {
  auto [at, fresh] = spreads_.try_emplace({group, source});
  Spread& out = at->second;
  if (!fresh) return out;
  std::vector<routing::TreeStep> steps;
  trees_->grow(graph_.endpoint_router(source), steps);
  std::vector<std::uint32_t> step_of(graph_.routers(), kNone);
  for (std::uint32_t i = static_cast<std::uint32_t>(steps.size()); i-- > 0;) step_of[steps[i].router] = i;
  std::vector<bool> crossed(steps.size());
  std::vector<Share> path;
  out.route.push_back({links_.injection(source), kWhole});
  for (EndpointId member : groups_.members(group)) {
    if (member == source) continue;
    std::uint32_t step = step_of[graph_.endpoint_router(member)];
    if (step == kNone) {
      out.cut_off.push_back(member);
      continue;
    }
    path = {{links_.injection(source), kWhole}, {links_.ejection(member), kWhole}};
    out.route.push_back(path.back());
    for (; step != 0; step = steps[step].parent) {
      const Share share{graph_.peer(steps[step].in), kWhole};
      path.push_back(share);
      if (!crossed[step]) out.route.push_back(share);
      crossed[step] = true;
    }
    out.delays_ps.emplace_back(member, maker_.delay_ps(path));
  }
  return out;
}

void FlowNetwork::accept(const Packet& packet, Time at) {
  WEFT_CHECK(packet.source < graph_.endpoints() &&
                 (packet.group != kNoGroup || packet.destination < graph_.endpoints()),
             "no such endpoint");
  WEFT_CHECK(traffic_class_of(packet) < weights_.size(), "a class the network has");
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {packet, 0, kNone, 1};
  arrivals_.push(at, 0, 0, slot);
}

void FlowNetwork::arrive(std::uint32_t slot) {
  Queue& queue = queue_of(slots_[slot].packet);
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
    const Packet& packet = slots_[lost].packet;
    if (packet.group == kNoGroup) {
      land(clock_, lost, Notice::Kind::Lost);
    } else {
      for (EndpointId member : spread(packet.group, packet.source).cut_off)
        land(clock_, lost, Notice::Kind::Lost, member);
    }
  }
}

bool FlowNetwork::start_for_many(std::uint32_t slot) {
  Slot& s = slots_[slot];
  const Spread& way = spread(s.packet.group, s.packet.source);
  s.landings = static_cast<std::uint32_t>(way.delays_ps.size() + way.cut_off.size());
  if (way.delays_ps.empty()) return false;
  for (EndpointId member : way.cut_off) land(clock_, slot, Notice::Kind::Lost, member);
  fluid_.start(way.route, links_.wire_bytes(s.packet.bytes), slot, clock_,
               weights_[traffic_class_of(s.packet)]);
  return true;
}

bool FlowNetwork::start(std::uint32_t slot) {
  Slot& s = slots_[slot];
  if (s.packet.group != kNoGroup) return start_for_many(slot);
  if (!maker_.route(s.packet.source, s.packet.destination, fluid_.load(), scratch_, route_)) return false;
  s.delay_ps = maker_.delay_ps(route_);
  fluid_.start(route_, links_.wire_bytes(s.packet.bytes), slot, clock_, weights_[traffic_class_of(s.packet)]);
  return true;
}

/// `where` of one that is not for many is kNone, and one more than that is 0.
void FlowNetwork::land(Time at, std::uint32_t slot, Notice::Kind kind, EndpointId where) {
  landings_.push(at, where + 1, static_cast<std::uint32_t>(kind), slot);
}

/// Its last byte has left.
void FlowNetwork::land_all(std::uint32_t slot) {
  const Slot& s = slots_[slot];
  if (s.packet.group == kNoGroup) return land(later(clock_, Time{s.delay_ps}), slot, Notice::Kind::Delivered);
  for (const auto& [member, delay] : spread(s.packet.group, s.packet.source).delays_ps)
    land(later(clock_, Time{delay}), slot, Notice::Kind::Delivered, member);
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
    land_all(slot);
    Queue& queue = queue_of(s.packet);
    queue.first = s.next;
    start_first(queue);
  }
  while (!landings_.empty() && landings_.top().at <= clock_) {
    const event::Event landing = landings_.pop();
    auto slot = static_cast<std::uint32_t>(landing.data);
    notices.push_back(
        {slots_[slot].packet.tag, clock_, static_cast<Notice::Kind>(landing.kind), landing.component - 1});
    if (--slots_[slot].landings == 0) free_slots_.push_back(slot);
  }
  std::sort(notices.begin() + before, notices.end(), [](const Notice& a, const Notice& b) {
    return std::tie(a.tag, a.kind, a.where) < std::tie(b.tag, b.kind, b.where);
  });
}

std::vector<std::string> FlowNetwork::explain() const {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < queues_.size() && out.size() < kMost; ++i)
    if (queues_[i].first != kNone) {
      const Packet& p = slots_[queues_[i].first].packet;
      out.push_back(fmt::format("e{} is sending {} bytes to e{}", p.source, p.bytes, p.destination));
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
