#include "network/joined_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "topology/renumber.hpp"

namespace weft::network {

JoinedNetwork::JoinedNetwork(const machine::Machine& machine, std::vector<std::unique_ptr<Network>> networks,
                             std::unique_ptr<Network> control,
                             std::unique_ptr<const machine::Machine> control_machine)
    : machine_(machine), joined_(machine::joined(machine)), control_machine_(std::move(control_machine)) {
  for (std::size_t p = 0; p < networks.size(); ++p) {
    Part& part = parts_.emplace_back();
    part.network = std::move(networks[p]);
    if (!joined_) continue;
    part.of = &joined_->parts()[p];
    const machine::Description& d = part.of->machine.description;
    part.label = part.of->name + ": ";
    part.send_latency = d.nic.send_latency;
    part.header = d.nic.header.value;
    part.message_classes = d.router.message_classes;
  }
  if (control) {
    control_ = static_cast<std::uint32_t>(parts_.size());
    parts_.emplace_back().network = std::move(control);
    parts_.back().label = "network for collectives: ";
  }
  if (!joined_) return;
  parameters_ = machine::networks_of(machine.description)->gateway;
  for (EndpointId node : joined_->gateways()) gateways_.push_back({.node = node});
  flows_.resize(std::size_t{joined_->nodes()} * gateways_.size());
  forwarders_.resize(gateways_.size() * joined_->parts().size());
}

JoinedNetwork::~JoinedNetwork() = default;

/// Credits on their way back are nobody's but a gateway's.
bool JoinedNetwork::idle() const {
  if (joined_ && !takes_messages_ && untold_ == 0) return true;
  return std::ranges::all_of(parts_, [](const Part& part) { return part.network->idle(); });
}

std::uint64_t JoinedNetwork::largest_packet() const {
  std::uint64_t out = ~std::uint64_t{0};
  for (const Part& part : parts_) out = std::min(out, part.network->largest_packet());
  return out;
}

Network::PortState JoinedNetwork::port_state(topology::PortId port) const {
  if (!joined_) return parts_.front().network->port_state(port);
  const Part& part = parts_[joined_->part_of_router(machine_.graph->port_router(port))];
  return part.network->port_state(port - part.of->first_port);
}

const routing::Routing* JoinedNetwork::routes_in_force() const {
  return joined_ ? nullptr : parts_.front().network->routes_in_force();
}

std::vector<Network::Incident> JoinedNetwork::incidents() const {
  std::vector<Incident> out;
  for (const Part& part : parts_)
    for (const Incident& incident : part.network->incidents())
      out.push_back(
          {incident.at, part.label + (part.of ? topology::renumbered(incident.what, part.of->first_router)
                                              : incident.what)});
  std::stable_sort(out.begin(), out.end(), [](const Incident& a, const Incident& b) { return a.at < b.at; });
  return out;
}

std::vector<std::string> JoinedNetwork::explain() const {
  std::vector<std::string> out;
  for (const Part& part : parts_)
    for (const std::string& line : part.network->explain())
      out.push_back(part.of ? fmt::format("{} (endpoints by its own numbers): {}", part.of->name,
                                          topology::renumbered(line, part.of->first_router))
                            : part.label + line);
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    std::uint64_t waiting = 0;
    for (std::uint32_t i = flows_[f].first; i != kNothing; i = crossings_[i].next) ++waiting;
    if (waiting)
      out.push_back(fmt::format("{} of node {} wait for room in the gateway on node {}",
                                count_of(waiting, "packet"), f / gateways_.size(),
                                gateways_[f % gateways_.size()].node));
  }
  return out;
}

/// For so long networks may run before they hear of each other.
Time JoinedNetwork::step() const {
  Time out = reaction_time();
  if (!joined_ || gateways_.empty()) return out;
  out = std::min(out, parameters_.latency);
  for (const Part& part : parts_)
    if (part.of) out = std::min(out, part.send_latency);
  return out;
}

void JoinedNetwork::reaction_time_changed() {
  for (Part& part : parts_) part.network->set_reaction_time(step());
}

std::uint64_t JoinedNetwork::wire_bytes(const Packet& packet, std::uint32_t part) const {
  const std::int64_t own = parts_[joined_->home(packet.source)].header;
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(packet.bytes) - own + parts_[part].header));
}

/// Classes of traffic are the same everywhere; where a network has fewer classes of messages, they share.
std::uint8_t JoinedNetwork::class_on(std::uint8_t message_class, std::uint32_t part) const {
  const unsigned all = machine_.description.router.message_classes, own = parts_[part].message_classes;
  return static_cast<std::uint8_t>(message_class / all * own + std::min(message_class % all, own - 1));
}

void JoinedNetwork::hand_over(const Packet& packet, Time at, bool message) {
  ran_to_ = std::min(ran_to_, at);
  ++untold_;
  takes_messages_ |= message;
  Packet own = packet;
  if (own.message_class == kControl && has_control()) {
    own.message_class = 0;
    return send_directly(own, control_, at, message);
  }
  if (!joined_) return send_directly(own, 0, at, message);
  WEFT_CHECK((own.tag & kOwn) == 0 && own.group == kNoGroup && own.reduction == kNoReduction,
             "packets of several networks are for one node, and their tags have a bit to spare");
  const machine::Way way = joined_->way(own.source, own.destination, own.bytes, [&](std::uint32_t gateway) {
    return flow(own.source, gateway).avoid;
  });
  if (way.gateway == topology::kNone) return send_directly(own, way.first, at, message);
  if (flow(own.source, way.gateway).avoid)  // none is better: all are tried again
    for (std::uint32_t g = 0; g < gateways_.size(); ++g) flow(own.source, g).avoid = false;
  begin_crossing(own, way, at);
}

void JoinedNetwork::send_directly(Packet packet, std::uint32_t number, Time at, bool message) {
  Part& part = parts_[number];
  if (part.of) {
    packet.bytes = wire_bytes(packet, number);
    packet.message_class = class_on(packet.message_class, number);
    packet.source = part.of->endpoint_of[packet.source];
    packet.destination = part.of->endpoint_of[packet.destination];
  }
  if (message)
    part.network->send_message(packet, at);
  else
    part.network->send(packet, at);
}

void JoinedNetwork::begin_crossing(const Packet& packet, const machine::Way& way, Time at) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(crossings_.size()));
    crossings_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  crossings_[index] = {.packet = packet, .way = way, .at = at};
  Flow& f = flow(packet.source, way.gateway);
  if (f.first == kNothing && f.taken < parameters_.window) return send_to_gateway(index, at);
  ++gateways_[way.gateway].waited;
  (f.first == kNothing ? f.first : crossings_[f.last].next) = index;
  f.last = index;
}

void JoinedNetwork::send_to_gateway(std::uint32_t index, Time at) {
  const Crossing& c = crossings_[index];
  const EndpointId gateway = gateways_[c.way.gateway].node;
  // A gateway's own packets are in its buffer as they are made.
  WEFT_CHECK(c.packet.source != gateway, "a gateway is on the networks it joins");
  ++flow(c.packet.source, c.way.gateway).taken;
  Packet leg = c.packet;
  leg.destination = gateway;
  leg.tag = kOwn | index;
  send_directly(leg, c.way.first, at, false);
}

/// All of it is in the gateway's buffer, where its source has taken a place for it.
void JoinedNetwork::at_gateway(std::uint32_t index, Time at) {
  Crossing& c = crossings_[index];
  c.through = true;
  GatewayState& state = gateways_[c.way.gateway];
  ++state.packets;
  state.bytes += c.packet.bytes;
  state.held += c.packet.bytes;
  state.most_held = std::max(state.most_held, state.held);
  Forwarder& forwarder = forwarders_[c.way.gateway * joined_->parts().size() + c.way.second];
  const Time work = parameters_.occupancy + transfer_time(c.packet.bytes, parameters_.rate.value);
  forwarder.free_at = std::max(at, forwarder.free_at) + work;
  state.busy = state.busy + work;
  Packet leg = c.packet;
  leg.bytes = wire_bytes(leg, c.way.second);
  leg.message_class = class_on(leg.message_class, c.way.second);
  const machine::JoinedPart& to = *parts_[c.way.second].of;
  leg.source = to.endpoint_of[state.node];
  leg.destination = to.endpoint_of[leg.destination];
  leg.tag = kOwn | index;
  parts_[c.way.second].network->send(leg, forwarder.free_at + parameters_.latency);
}

void JoinedNetwork::left_gateway(std::uint32_t index, Time at) {
  Crossing& c = crossings_[index];
  c.left = true;
  gateways_[c.way.gateway].held -= c.packet.bytes;
  Flow& f = flow(c.packet.source, c.way.gateway);
  if (++f.free < (parameters_.window + 1) / 2) return;
  return_credits(c.packet.source, c.way.gateway, std::exchange(f.free, 0), at, c.way.first);
}

/// As a packet of their own, which takes no place anywhere: it ends at a node.
void JoinedNetwork::return_credits(EndpointId source, std::uint32_t gateway, std::uint32_t count, Time at,
                                   std::uint32_t number) {
  Part& part = parts_[number];
  const Tag tag = kOwn | kCredits | Tag{count} << 44 | Tag{gateway} << 32 | source;
  const Packet credits{part.of->endpoint_of[gateways_[gateway].node], part.of->endpoint_of[source],
                       static_cast<std::uint64_t>(parameters_.credit.value), 0, tag};
  part.network->send(credits, at + parameters_.latency);
}

}  // namespace weft::network
