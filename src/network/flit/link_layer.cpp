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
      ranks_(settings.ranks),
      part_(part_of(graph_, settings.ranks)),
      cables_(link_layer_cables(machine, events_)),
      cut_(graph_.cables()),
      killed_(graph_.routers()),
      dead_(cables_.size()),
      ill_(machine.graph->routers()),
      reconfigurer_(*machine.description.routing, machine.description.routing_parameters.get(), graph_,
                    *machine.faults, proof_options(machine), reconfigure_settings(machine, settings)),
      piece_(graph_.routers(), 0) {
  for (CableId c : cables_) add_cable(settings, c);
}

void LinkLayer::add_cable(const Settings& settings, CableId cable) {
  const auto [a, b] = graph_.cable_ends(cable);
  const link::LinkSettings link = link_settings(machine_, settings, cable);
  const auto here = [&](PortId p) { return part_.has_router(graph_.port_router(p)); };
  const link::LinkEnd fresh(link);
  for (PortId p : {a, b}) {
    const auto end = static_cast<EndNumber>(ports_.size());
    end_at_[p] = end;
    ports_.push_back(p);
    known_.push_back({fresh.state(), fresh.state(), fresh.lanes(), link.lanes});
    slot_.push_back(here(p) ? static_cast<std::uint32_t>(ends_.size()) : kEnd);
    wire_slot_.push_back(here(a) || here(b) ? static_cast<std::uint32_t>(wires_.size()) : kEnd);
    if (here(a) || here(b)) wires_.emplace_back(wire_settings(machine_, settings, cable, p));
    if (!here(p)) continue;
    ends_.emplace_back(link);
    if (here(a) && here(b)) continue;
    ends_.back().numbers.resize(link.channels, kNoPacket);
    borders_.push_back(end);
  }
}

// --- in a cycle
// ----------------------------------------------------------------------------------------------

void LinkLayer::receive(EndNumber number, Cycle now, link::Arrival& arrival) {
  End& end = at(number);
  const LinkState state = end.link.state();
  const unsigned lanes = end.link.lanes().count();
  end.link.receive(now, wire_to(number), arrival);
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
  return end != kNone ? at(end).link.ready(now) : !killed_[graph_.port_router(port)];
}

void LinkLayer::offer(EndNumber number, unsigned channel, Entry entry, unsigned index) {
  End& end = at(number);
  if (!end.numbers.empty()) end.offer = {entry, channel, index};
  fill_bytes(end.bytes, entry.bits(), index);
  link::Flit flit{entry.bits(), static_cast<std::uint8_t>(channel), index == 0, index + 1 == entry.flits()};
  end.link.offer(flit, end.bytes.data());
}

Cycle LinkLayer::transmit(EndNumber number, Cycle now, std::uint32_t occupied) {
  End& end = at(number);
  end.link.report(ill_[graph_.port_router(ports_[number])],
                  static_cast<std::uint16_t>(std::min(occupied, 0xffffu)));
  link::Wire& wire = wires_[wire_slot_[number]];
  return end.link.transmit(now, wire) ? now + wire.flight() : kNever;
}

// --- to other ranks
// ----------------------------------------------------------------------------------------------

PacketRecord LinkLayer::take_expected(EndNumber number, unsigned channel, PacketId packet) {
  End& end = at(number);
  const auto first = std::find_if(end.expected.begin(), end.expected.end(),
                                  [&](const End::Expected& one) { return one.channel == channel; });
  WEFT_CHECK(first != end.expected.end(), "a head's record comes before the head");
  const PacketRecord record = first->record;
  end.expected.erase(first);
  end.numbers[channel] = packet;
  return record;
}

PacketRecord* LinkLayer::last_expected(EndNumber number, unsigned channel) {
  auto& expected = at(number).expected;
  for (auto one = expected.rbegin(); one != expected.rend(); ++one)
    if (one->channel == channel) return &one->record;
  return nullptr;
}

std::vector<PacketRecord> LinkLayer::drop_expected() {
  std::vector<PacketRecord> out;
  for (EndNumber end : borders_) {
    for (const End::Expected& one : at(end).expected) out.push_back(one.record);
    at(end).expected.clear();
    at(end).offer.reset();
  }
  return out;
}

std::vector<EndNews> LinkLayer::take_news() {
  std::vector<EndNews> out;
  if (!news_.exchange(false, std::memory_order_relaxed)) return out;
  for (EndNumber end = 0; end < ports_.size(); ++end) {
    if (!is_here(end)) continue;
    const link::LinkEnd& now = at(end).link;
    const Known& known = known_[end];
    if (now.state() != known.state || now.lanes().up != known.lanes.up ||
        now.lanes().rate != known.lanes.rate)
      out.push_back({end, now.state(), now.lanes()});
  }
  for (const EndNews& news : out) hear(news);
  return out;
}

void LinkLayer::hear(const EndNews& news) {
  WEFT_CHECK(news.end < known_.size(), "ranks agree on links");
  known_[news.end].state = news.state;
  known_[news.end].lanes = news.lanes;
  heard_ = true;
}

// --- between cycles
// ------------------------------------------------------------------------------------------

void LinkLayer::update_cut(CableId cable) {
  auto [a, b] = graph_.cable_ends(cable);
  if (end_at_[a] == kNone) return;  // dead from the start
  bool down = cut_[cable] || killed_[graph_.port_router(a)] || killed_[graph_.port_router(b)];
  for (PortId p : {a, b}) {
    if (wire_slot_[end_at_[p]] == kEnd) return;
    link::Wire& wire = wires_[wire_slot_[end_at_[p]]];
    if (down && !wire.is_cut()) wire.cut();
    if (!down && wire.is_cut()) wire.restore();
  }
}

void LinkLayer::apply(const FaultEvent& event, Recovery& network, Cycle now) {
  note(now, event.text);
  const std::uint32_t slot = event.port != kNone ? wire_slot_[end_at_[event.port]] : kEnd;
  link::Wire* wire = slot != kEnd ? &wires_[slot] : nullptr;  // or another rank's
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
      if (!wire) return;
      if (event.lane_fault == FaultEvent::Lane::Stuck) wire->limit_lane(event.lane, link::Wire::kBroken);
      if (event.lane_fault == FaultEvent::Lane::Limited) wire->limit_lane(event.lane, event.rate);
      if (event.lane_fault == FaultEvent::Lane::Heal) wire->heal_lane(event.lane);
      return;
    case FaultEvent::Kind::Flip:
      if (wire) wire->flip(event.packet, event.bit);
      return;
    case FaultEvent::Kind::Stall:
      if (wire) wire->stall(now + cycle_.cycles(event.duration));
      return;
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
  take_news();  // ranks have told each other before
  if (!std::exchange(heard_, false)) return;
  for (std::size_t k = 0; k < cables_.size(); ++k) {
    bool any_dead = false, both_up = true;
    for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
      Known& end = known_[i];
      LinkState state = end.state;
      any_dead |= state == LinkState::Dead;
      both_up &= state == LinkState::Up;
      if (state == end.told && (state != LinkState::Up || end.lanes.count() == end.told_lanes)) continue;
      std::string name = graph_.port_name(ports_[i]);
      if (state == LinkState::Dead && end.told != LinkState::Dead)
        note(now, name + " declares its link dead");
      if (state == LinkState::Training && end.told == LinkState::Up) note(now, name + " tests its lanes");
      if (state == LinkState::Up && end.told != LinkState::Up)
        note(now, fmt::format("{} is up with {} of {} lanes at {}", name, end.lanes.count(),
                              graph_.cable_type(cables_[k]).lanes,
                              to_text(link::lane_rates(graph_.cable_type(cables_[k]))[end.lanes.rate])));
      // A dead link that knocks in vain goes to training and back: that is no news.
      if (!(end.told == LinkState::Dead && state == LinkState::Training)) end.told = state;
      end.told_lanes = end.lanes.count();
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

bool LinkLayer::between_cycles(Recovery& network, Cycle now, const Standing& standing) {
  while (next_event_ < events_.size() && cycle_.cycles(events_[next_event_].at) <= now)
    apply(events_[next_event_++], network, now);
  watch_links(now);
  bool empty = standing.in_network == 0 &&
               (reconfigurer_.phase() != link::Reconfigurer::Phase::Draining || !standing.sending);
  switch (reconfigurer_.step(now, empty, standing.moved)) {
    case link::Reconfigurer::Action::None:
      return false;
    case link::Reconfigurer::Action::StopSending:
      network.hold(true);
      note(now, "endpoints stop sending, the network drains");
      return false;
    case link::Reconfigurer::Action::TakeBack: {
      std::uint64_t packets = network.take_back(now);
      taken_back_ += packets;
      for (End& end : ends_) end.link.reset(now);
      for (link::Wire& wire : wires_) wire.reset();
      note(now, fmt::format("{} cannot leave and {} back to {} sources", count_of(packets, "packet"),
                            packets == 1 ? "goes" : "go", packets == 1 ? "its" : "their"));
      return true;
    }
    case link::Reconfigurer::Action::Switch:
      switch_routes(network, now);
      return true;
  }
  return false;
}

void LinkLayer::switch_routes(Recovery& network, Cycle now) {
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
  note(now, fmt::format("new routes in every table: {}; {} (found out in {}, computed in {}, "
                        "proved in {}, written in {})",
                        reconfigurer_.routing_name(), who, words(parts.report), words(parts.compute),
                        words(parts.prove), words(parts.write)));
}

Cycle LinkLayer::next_step(Cycle now) const {
  if (reconfigurer_.phase() == link::Reconfigurer::Phase::Draining) return now + 1;
  Cycle event = next_event_ < events_.size() ? cycle_.cycles(events_[next_event_].at) : kNever;
  return std::max(now + 1, std::min(event, reconfigurer_.next_step()));
}

bool LinkLayer::busy() const {
  return next_event_ < events_.size() || reconfigurer_.phase() != link::Reconfigurer::Phase::Steady;
}

bool LinkLayer::links_busy() const {
  return std::any_of(ends_.begin(), ends_.end(), [](const End& end) {
    LinkState state = end.link.state();
    return state == LinkState::Training || (state == LinkState::Up && !end.link.idle());
  });
}

// --- figures
// -------------------------------------------------------------------------------------------------

std::uint64_t LinkLayer::corrupted() const {
  std::uint64_t sum = 0;
  for (const EndRecord& end : end_records()) sum += end.corrupted;
  return sum;
}

/// Of all ends there are, in their order.
std::vector<LinkLayer::EndRecord> LinkLayer::end_records() const {
  std::vector<EndRecord> out(ports_.size());
  Ranks::Bytes mine;
  for (EndNumber i = 0; i < ports_.size(); ++i) {
    if (!is_here(i)) continue;
    const End& end = at(i);
    const bool up = end.link.state() == LinkState::Up;
    out[i] = {i,
              end.link.counters(),
              wires_[wire_slot_[i]].bits_damaged(),
              end.corrupted,
              end.link.lanes().count(),
              end.fullest,
              end.ill,
              up ? end.link.rate_share() : 0.0};
    if (ranks_) put(mine, out[i]);
  }
  if (!ranks_) return out;
  each_rank(*ranks_, mine, [&](const Ranks::Bytes& theirs) {
    for (RankReader reader(theirs); reader.more();) {
      const auto record = reader.take<EndRecord>();
      WEFT_CHECK(record.end < out.size(), "ranks agree on links");
      out[record.end] = record;
    }
  });
  return out;
}

std::vector<CableRecord> LinkLayer::records() const {
  std::vector<CableRecord> out;
  const std::vector<EndRecord> ends = end_records();
  for (std::size_t k = 0; k < cables_.size(); ++k) {
    CableRecord record{.cable = cables_[k], .lanes_up = 64};
    for (std::size_t i = 2 * k; i < 2 * k + 2; ++i) {
      record.counters += ends[i].counters;
      record.bits_damaged += ends[i].bits_damaged;
      record.lanes_up = std::min(record.lanes_up, ends[i].lanes_up);
      record.fullest = std::max(record.fullest, ends[i].fullest);
      record.ill = std::max(record.ill, ends[i].ill);
      record.rate_share = std::min(record.rate_share, ends[i].rate_share);
    }
    out.push_back(record);
  }
  return out;
}

Network::PortState LinkLayer::port_state(topology::PortId port) const {
  Network::PortState out;
  if (end_at_[port] == kNone || !is_here(end_at_[port])) return out;
  const link::LinkEnd& end = at(end_at_[port]).link;
  out.up = end.state() == LinkState::Up;
  out.lanes = end.lanes().count();
  out.lane_mask = static_cast<std::uint32_t>(end.lanes().up);
  out.rate_share = out.up ? end.rate_share() : 0;
  out.damaged = end.counters().refused;
  out.sent_again = end.counters().sent_again;
  out.trainings = end.counters().trainings;
  return out;
}

}  // namespace weft::network::flit
