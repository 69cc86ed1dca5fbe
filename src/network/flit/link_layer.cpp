#include "network/flit/link_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "manage/running_manager.hpp"
#include "routing/distances.hpp"
#include "routing/survey.hpp"

namespace weft::network::flit {

using link::FaultEvent;
using link::LinkState;
using topology::CableId;
using topology::kNone;
using topology::PortId;
using topology::RouterId;

namespace {

/// The bytes of a packet's flit. The engine keeps no payload, so they are made from who the packet is; what
/// matters is that both ends know them.
void fill_bytes(std::vector<std::uint8_t>& bytes, std::uint64_t entry, unsigned index) {
  std::uint64_t mixed = entry * 0x9e3779b97f4a7c15u + index;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9u + 0x94d049bb133111ebu;
    std::memcpy(&bytes[i], &mixed, std::min<std::size_t>(8, bytes.size() - i));
  }
}

unsigned clamp_cycles(std::uint64_t cycles, std::uint64_t least) {
  return static_cast<unsigned>(std::clamp<std::uint64_t>(cycles, least, 1u << 30));
}

link::LinkSettings link_settings(const machine::Machine& m, const Settings& s, CableId cable) {
  const topology::CableType& type = m.graph->cable_type(cable);
  link::LinkSettings out;
  out.flit_bytes = static_cast<unsigned>(m.description.router.flit.value);
  out.channels = s.all_channels();
  out.flight = s.traverse_cycles + s.cable_cycles[cable];
  // Two round trips, so that a link in order never waits for its replay buffer.
  out.window = type.retry_window ? type.retry_window : 4 * out.flight + 16;
  out.timeout =
      clamp_cycles(type.retry_timeout.value ? s.cycle.cycles(type.retry_timeout) : 4 * out.flight + 16,
                   2 * out.flight + 2);
  out.max_retries = type.max_retries;
  out.beat = clamp_cycles(s.cycle.cycles(type.heartbeat), 1);
  out.missed_beats = type.missed_beats;
  out.beat = std::max(out.beat, (2 * out.flight + 2) / out.missed_beats + 1);
  out.training = clamp_cycles(s.cycle.cycles(type.training_time), 1);
  out.lanes = type.lanes;
  out.fewest_lanes = type.fewest_lanes();
  out.lane_rates.clear();
  for (DataRate rate : link::lane_rates(type))
    out.lane_rates.push_back(static_cast<std::uint64_t>(rate.value / 1'000'000));
  out.interval = s.cable_interval[cable];
  out.retry = type.retry;
  out.train_first = type.trains_first();
  return out;
}

link::WireSettings wire_settings(const machine::Machine& m, const Settings& s, CableId cable, PortId port) {
  const topology::CableType& type = m.graph->cable_type(cable);
  link::WireSettings out;
  out.flit_bytes = static_cast<unsigned>(m.description.router.flit.value);
  out.flight = s.traverse_cycles + s.cable_cycles[cable];
  out.lanes = type.lanes;
  out.rates = static_cast<unsigned>(link::lane_rates(type).size());
  out.bit_error_rate = type.bit_error_rate;
  out.error_burst = type.error_burst;
  out.lane_order = type.lane_order;
  out.lane_fail_rate = type.lane_fail_rate;
  out.scrambled = type.scrambler;
  out.seed = s.seed;
  out.who = (std::uint64_t{1} << 40) + port;
  return out;
}

std::vector<CableId> link_layer_cables(const machine::Machine& m, const std::vector<FaultEvent>& events) {
  std::vector<CableId> out = link::cables_of(events, *m.graph);
  auto may_fail = [](const topology::CableType& type) {
    return type.bit_error_rate > 0 || type.trains_first();
  };
  for (CableId c = 0; c < m.graph->cables(); ++c)
    if (may_fail(m.graph->cable_type(c)) && m.faults->usable(*m.graph, m.graph->cable_ends(c).a))
      out.push_back(c);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

link::ReconfigureSettings reconfigure_settings(const machine::Machine& m, const Settings& s) {
  const machine::ReroutingParameters& p = m.description.rerouting;
  link::ReconfigureSettings out{s.cycle.cycles(p.report), s.cycle.cycles(p.compute),
                                s.cycle.cycles(p.write_per_router),
                                std::max<Cycle>(1, s.cycle.cycles(p.quiet)), s.cycle.cycles(p.longest_drain)};
  out.prove = s.cycle.cycles(p.prove);
  if (p.by == machine::ReroutingParameters::By::Manager) {
    auto manager = std::make_shared<manage::RunningManager>(m, p.manager);
    out.report += s.cycle.cycles(manager->detect());
    out.write = [manager, cycle = s.cycle](const topology::Faults& faults) {
      return cycle.cycles(manager->write(faults));
    };
  }
  return out;
}

routing::VerifyOptions proof_options(const machine::Machine& m) {
  routing::VerifyOptions how;
  how.channels = m.description.router.channels;
  how.threads = 1;  // an engine's threads are its own; others of a sweep may run beside it
  return how;
}

}  // namespace

bool LinkLayer::needed(const machine::Machine& machine, const std::vector<FaultEvent>& events) {
  return !link_layer_cables(machine, events).empty();
}

LinkLayer::LinkLayer(const machine::Machine& machine, const Settings& settings,
                     std::vector<FaultEvent> events)
    : machine_(machine),
      graph_(*machine.graph),
      cycle_(settings.cycle),
      events_(std::move(events)),
      end_at_(graph_.ports(), kNone),
      cables_(link_layer_cables(machine, events_)),
      cut_(graph_.cables()),
      killed_(graph_.routers()),
      dead_(cables_.size()),
      ill_(machine.graph->routers()),
      reconfigurer_(*machine.description.routing, machine.description.routing_parameters.get(), graph_,
                    *machine.faults, proof_options(machine), reconfigure_settings(machine, settings)),
      piece_(graph_.routers(), 0) {
  for (CableId c : cables_) {
    link::LinkSettings link = link_settings(machine, settings, c);
    for (PortId p : {graph_.cable_ends(c).a, graph_.cable_ends(c).b}) {
      end_at_[p] = static_cast<EndNumber>(ports_.size());
      ports_.push_back(p);
      ends_.emplace_back(link);
      ends_.back().told = ends_.back().link.state();
      ends_.back().told_lanes = link.lanes;
      wires_.emplace_back(wire_settings(machine, settings, c, p));
    }
  }
}

// --- in a cycle
// ----------------------------------------------------------------------------------------------

void LinkLayer::receive(EndNumber number, Cycle now, link::Arrival& arrival) {
  End& end = ends_[number];
  const LinkState state = end.link.state();
  const unsigned lanes = end.link.lanes().count();
  end.link.receive(now, wires_[other_end(number)], arrival);
  if (end.link.state() != state || end.link.lanes().count() != lanes)
    news_.store(true, std::memory_order_relaxed);
  end.fullest = std::max(end.fullest, end.link.peer_occupied());
  end.ill = std::max(end.ill, end.link.peer_health());
  if (!arrival.has_flit) return;
  unsigned channel = arrival.flit.channel;
  if (arrival.flit.head) {
    end.packets[channel] = arrival.flit.entry;
    end.flits[channel] = 0;
  }
  fill_bytes(end.bytes, end.packets[channel], end.flits[channel]++);
  bool same = std::equal(end.bytes.begin(), end.bytes.end(), arrival.bytes);
  // Where only headers and footers are repaired, payload may be damaged, and its packet says so.
  bool may_differ =
      graph_.cable_type(graph_.port_cable(ports_[number])).retry == topology::Retry::HeaderFooter;
  if (!same && !may_differ) ++end.corrupted;
}

bool LinkLayer::ready(PortId port, Cycle now) const {
  // A port without a cable leads to an endpoint, and is asked only where its router is dead.
  EndNumber end = end_at_[port];
  return end != kNone ? ends_[end].link.ready(now) : !killed_[graph_.port_router(port)];
}

void LinkLayer::offer(EndNumber number, unsigned channel, Entry entry, unsigned index) {
  End& end = ends_[number];
  fill_bytes(end.bytes, entry.bits(), index);
  link::Flit flit{entry.bits(), static_cast<std::uint8_t>(channel), index == 0, index + 1 == entry.flits()};
  end.link.offer(flit, end.bytes.data());
}

Cycle LinkLayer::transmit(EndNumber number, Cycle now, std::uint32_t occupied) {
  End& end = ends_[number];
  end.link.report(ill_[graph_.port_router(ports_[number])],
                  static_cast<std::uint16_t>(std::min(occupied, 0xffffu)));
  link::Wire& wire = wires_[number];
  return end.link.transmit(now, wire) ? now + wire.flight() : kNever;
}

// --- between cycles
// ------------------------------------------------------------------------------------------

void LinkLayer::update_cut(CableId cable) {
  auto [a, b] = graph_.cable_ends(cable);
  if (end_at_[a] == kNone) return;  // dead from the start
  bool down = cut_[cable] || killed_[graph_.port_router(a)] || killed_[graph_.port_router(b)];
  for (PortId p : {a, b}) {
    link::Wire& wire = wires_[end_at_[p]];
    if (down && !wire.is_cut()) wire.cut();
    if (!down && wire.is_cut()) wire.restore();
  }
}

void LinkLayer::apply(const FaultEvent& event, Recovery& network, Cycle now) {
  note(now, event.text);
  link::Wire* wire = event.port != kNone ? &wires_[end_at_[event.port]] : nullptr;
  switch (event.kind) {
    case FaultEvent::Kind::Cut:
    case FaultEvent::Kind::Restore:
      cut_[graph_.port_cable(event.port)] = event.kind == FaultEvent::Kind::Cut;
      update_cut(graph_.port_cable(event.port));
      return;
    case FaultEvent::Kind::KillRouter:
    case FaultEvent::Kind::RestoreRouter:
      killed_[event.router] = event.kind == FaultEvent::Kind::KillRouter;
      network.freeze(event.router, killed_[event.router]);
      for (PortId p = graph_.port_begin(event.router); p < graph_.port_begin(event.router + 1); ++p)
        if (graph_.peer(p) != kNone) update_cut(graph_.port_cable(p));
      if (nobody_can_tell(event.router)) reconfigurer_.ask_for_routes(now);
      return;
    case FaultEvent::Kind::Lane:
      if (event.lane_fault == FaultEvent::Lane::Stuck) wire->limit_lane(event.lane, link::Wire::kBroken);
      if (event.lane_fault == FaultEvent::Lane::Limited) wire->limit_lane(event.lane, event.rate);
      if (event.lane_fault == FaultEvent::Lane::Heal) wire->heal_lane(event.lane);
      return;
    case FaultEvent::Kind::Flip:
      return wire->flip(event.packet, event.bit);
    case FaultEvent::Kind::Stall:
      return wire->stall(now + cycle_.cycles(event.duration));
  }
}

/// A router without a live cable has no neighbour that could miss it; the service network does.
bool LinkLayer::nobody_can_tell(RouterId router) const {
  for (std::size_t k = 0; k < cables_.size(); ++k) {
    auto [a, b] = graph_.cable_ends(cables_[k]);
    bool here = graph_.port_router(a) == router || graph_.port_router(b) == router;
    if (here && !dead_[k]) return false;
  }
  return true;
}

/// What the links have found out about themselves in the last cycle.
void LinkLayer::watch_links(Cycle now) {
  if (!news_.exchange(false, std::memory_order_relaxed)) return;
  for (std::size_t k = 0; k < cables_.size(); ++k) {
    bool any_dead = false, both_up = true;
    for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
      End& end = ends_[i];
      LinkState state = end.link.state();
      any_dead |= state == LinkState::Dead;
      both_up &= state == LinkState::Up;
      if (state == end.told && (state != LinkState::Up || end.link.lanes().count() == end.told_lanes))
        continue;
      std::string name = graph_.port_name(ports_[i]);
      if (state == LinkState::Dead && end.told != LinkState::Dead)
        note(now, name + " declares its link dead");
      if (state == LinkState::Training && end.told == LinkState::Up) note(now, name + " tests its lanes");
      if (state == LinkState::Up && end.told != LinkState::Up)
        note(now,
             fmt::format("{} is up with {} of {} lanes at {}", name, end.link.lanes().count(),
                         graph_.cable_type(cables_[k]).lanes,
                         to_text(link::lane_rates(graph_.cable_type(cables_[k]))[end.link.lanes().rate])));
      // A dead link that knocks in vain goes to training and back: that is no news.
      if (!(end.told == LinkState::Dead && state == LinkState::Training)) end.told = state;
      end.told_lanes = end.link.lanes().count();
    }
    if (any_dead && !dead_[k]) {
      dead_[k] = true;
      count_ill(cables_[k], +1);
      reconfigurer_.report(cables_[k], true, now);
    } else if (both_up && dead_[k]) {
      dead_[k] = false;
      count_ill(cables_[k], -1);
      reconfigurer_.report(cables_[k], false, now);
    }
  }
}

/// The nodes at both ends of a cable have a dead link more, or less.
void LinkLayer::count_ill(CableId cable, int change) {
  auto [a, b] = graph_.cable_ends(cable);
  for (PortId p : {a, b}) {
    std::uint8_t& ill = ill_[graph_.port_router(p)];
    ill = static_cast<std::uint8_t>(std::clamp(ill + change, 0, 255));
  }
}

void LinkLayer::find_pieces() {
  const topology::Faults& faults = reconfigurer_.faults();
  std::fill(piece_.begin(), piece_.end(), kNone);
  std::vector<std::uint16_t> hops;
  std::vector<RouterId> queue;
  std::uint32_t pieces = 0;
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    if (piece_[r] != kNone || faults.router_dead(r)) continue;
    routing::distances_to(graph_, faults, r, hops, queue);
    // A router that answers on none of its cables, because it is dead, does not serve its own endpoints
    // either.
    if (queue.size() == 1 && killed_[r]) continue;
    for (RouterId member : queue) piece_[member] = pieces;
    ++pieces;
  }
}

bool LinkLayer::cut_off(EndpointId source, EndpointId destination) const {
  std::uint32_t from = piece_[graph_.endpoint_router(source)];
  return from == kNone || from != piece_[graph_.endpoint_router(destination)];
}

void LinkLayer::between_cycles(Recovery& network, Cycle now, bool moved, std::uint64_t in_network) {
  while (next_event_ < events_.size() && cycle_.cycles(events_[next_event_].at) <= now)
    apply(events_[next_event_++], network, now);
  watch_links(now);
  bool empty = in_network == 0 &&
               (reconfigurer_.phase() != link::Reconfigurer::Phase::Draining || network.nobody_is_sending());
  switch (reconfigurer_.step(now, empty, moved)) {
    case link::Reconfigurer::Action::None:
      return;
    case link::Reconfigurer::Action::StopSending:
      network.hold(true);
      return note(now, "endpoints stop sending, the network drains");
    case link::Reconfigurer::Action::TakeBack: {
      std::uint64_t packets = network.take_back(now);
      taken_back_ += packets;
      for (End& end : ends_) end.link.reset(now);
      for (link::Wire& wire : wires_) wire.reset();
      return note(now, fmt::format("{} cannot leave and {} back to {} sources", count_of(packets, "packet"),
                                   packets == 1 ? "goes" : "go", packets == 1 ? "its" : "their"));
    }
    case link::Reconfigurer::Action::Switch: {
      ++switches_;
      find_pieces();
      network.use(reconfigurer_.routing(), now);
      std::uint64_t lost =
          network.give_up(now, [this](EndpointId from, EndpointId to) { return cut_off(from, to); });
      network.hold(false);
      std::vector<std::string> names;
      auto cut = routing::cut_off_endpoints(graph_, reconfigurer_.faults());
      for (std::size_t i = 0; i < std::min<std::size_t>(8, cut.size()); ++i)
        names.push_back(fmt::format("e{}", cut[i]));
      std::string who = cut.empty()
                            ? "nobody cut off"
                            : fmt::format("cut off: {}{}", join(names, ", "),
                                          cut.size() > 8 ? fmt::format(" and {} more", cut.size() - 8) : "");
      if (lost) who += fmt::format("; {} undeliverable", count_of(lost, "packet"));
      const link::Reconfigurer::Parts parts = reconfigurer_.parts();
      auto words = [this](Cycle cycles) { return to_text(cycle_.time(cycles)); };
      return note(now, fmt::format("new routes in every table: {}; {} (found out in {}, computed in {}, "
                                   "proved in {}, written in {})",
                                   reconfigurer_.routing_name(), who, words(parts.report),
                                   words(parts.compute), words(parts.prove), words(parts.write)));
    }
  }
}

Cycle LinkLayer::next_step(Cycle now) const {
  if (reconfigurer_.phase() == link::Reconfigurer::Phase::Draining) return now + 1;
  Cycle event = next_event_ < events_.size() ? cycle_.cycles(events_[next_event_].at) : kNever;
  return std::max(now + 1, std::min(event, reconfigurer_.next_step()));
}

bool LinkLayer::busy() const {
  if (next_event_ < events_.size() || reconfigurer_.phase() != link::Reconfigurer::Phase::Steady) return true;
  return std::any_of(ends_.begin(), ends_.end(), [](const End& end) {
    LinkState state = end.link.state();
    return state == LinkState::Training || (state == LinkState::Up && !end.link.idle());
  });
}

// --- figures
// -------------------------------------------------------------------------------------------------

std::uint64_t LinkLayer::corrupted() const {
  std::uint64_t sum = 0;
  for (const End& end : ends_) sum += end.corrupted;
  return sum;
}

std::vector<CableRecord> LinkLayer::records() const {
  std::vector<CableRecord> out;
  for (std::size_t k = 0; k < cables_.size(); ++k) {
    CableRecord record{.cable = cables_[k], .lanes_up = 64};
    for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
      record.counters += ends_[i].link.counters();
      record.bits_damaged += wires_[i].bits_damaged();
      record.lanes_up = std::min(record.lanes_up, ends_[i].link.lanes().count());
      bool up = ends_[i].link.state() == LinkState::Up;
      record.fullest = std::max<unsigned>(record.fullest, ends_[i].fullest);
      record.ill = std::max<unsigned>(record.ill, ends_[i].ill);
      record.rate_share = std::min(record.rate_share, up ? ends_[i].link.rate_share() : 0.0);
    }
    out.push_back(record);
  }
  return out;
}

Network::PortState LinkLayer::port_state(topology::PortId port) const {
  Network::PortState out;
  if (end_at_[port] == kNone) return out;
  const link::LinkEnd& end = ends_[end_at_[port]].link;
  out.up = end.state() == LinkState::Up;
  out.lanes = end.lanes().count();
  out.lane_mask = end.lanes().up;
  out.rate_share = out.up ? end.rate_share() : 0;
  out.damaged = end.counters().refused;
  out.sent_again = end.counters().sent_again;
  out.trainings = end.counters().trainings;
  return out;
}

}  // namespace weft::network::flit
