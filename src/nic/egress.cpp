#include "nic/egress.hpp"

#include <algorithm>

#include "network/joined_network.hpp"

namespace weft::nic {

namespace {
bool has_control_network(const network::Network& network) {
  const auto* joined = dynamic_cast<const network::JoinedNetwork*>(&network);
  return joined && joined->has_control();
}
}  // namespace

Egress::Egress(Context& context, NicId interface, Counters& counters)
    : context_(context),
      interface_(interface),
      counters_(counters),
      control_apart_(has_control_network(context.network)),
      in_window_(context.class_weights.size()),
      shares_(context.class_weights, 1) {}

Egress::Flow& Egress::flow(PortNo port, NicId to) {
  if (flows_.size() <= port) flows_.resize(port + 1);
  auto& flows = flows_[port];
  if (flows.size() < context_.nodes.size()) flows.resize(context_.nodes.size());
  return flows[to];
}

/// Has its receiver no room for another packet before its turn? Then it stays here, in the unit's buffer.
bool Egress::must_wait(std::uint32_t index, Time when) {
  const Header& h = context_.packets[index].header;
  Flow& f = flow(h.source_port, h.to);
  if (f.held.empty() && f.under_way < context_.nic.order_window) {
    ++f.under_way;
    return false;
  }
  ++counters_.order_waits;
  f.held.push_back({index, when});
  return true;
}

void Egress::taken(PortNo port, NicId to, std::uint32_t packets, Time when) {
  Flow& f = flow(port, to);
  f.under_way -= std::min(f.under_way, packets);
  while (!f.held.empty() && f.under_way < context_.nic.order_window) {
    const Held next = f.held.front();
    f.held.pop_front();
    ++f.under_way;
    send(next.packet, std::max(next.when, when + context_.nic.send_latency));
  }
}

void Egress::launch(std::uint32_t index, Time when) {
  Packet& packet = context_.packets[index];
  packet.in_window = true;
  ++in_window_[packet.header.traffic_class];
  if (in_window_.size() > 1)
    shares_.charge(0, packet.header.traffic_class, packet_bytes(context_.nic, packet.header.bytes));
  packet.ordered = packet.ordered && context_.nic.order == machine::Order::Sequence;
  if (packet.ordered && context_.nic.order_window && must_wait(index, when)) return;
  send(index, when);
}

void Egress::send(std::uint32_t index, Time when) {
  Packet& packet = context_.packets[index];
  Header& h = packet.header;
  packet.stamps.sent = when;
  if (packet.ordered) {
    if (sequences_.size() <= h.source_port) sequences_.resize(h.source_port + 1);
    auto& sequences = sequences_[h.source_port];
    if (sequences.size() < context_.nodes.size()) sequences.resize(context_.nodes.size());
    h.sequence = sequences[h.to]++;
  }
  ++counters_.packets_sent;
  std::uint64_t bytes = packet_bytes(context_.nic, h.bytes);
  counters_.bytes_sent += bytes;
  if (h.group != network::kNoGroup) {
    // Members on this node have it when it starts; the copy for them does not leave the interface.
    packet.copies = context_.group_nodes(h.group);
    context_.at(when, What::GroupHere, interface_, index);
    return context_.network.send(
        {.source = context_.nodes[interface_], .bytes = bytes, .tag = index, .group = h.group}, when);
  }
  if (h.reduced()) {
    const std::uint8_t apart = control_apart_ ? network::JoinedNetwork::kControl : std::uint8_t{0};
    return context_.network.send({.source = context_.nodes[interface_],
                                  .bytes = bytes,
                                  .message_class = apart,
                                  .tag = index,
                                  .reduction = context_.reductions.number(h.reduction),
                                  .round = h.operand},
                                 when);
  }
  if (h.from == h.to) return context_.at(when, What::Loopback, interface_, index);  // the network is not used
  auto message_class = static_cast<std::uint8_t>(h.traffic_class * context_.classes +
                                                 (is_answer(h.kind) && context_.classes > 1 ? 1 : 0));
  if (control_apart_ && (h.kind == PacketKind::Control || h.kind == PacketKind::ControlRefused ||
                         h.kind == PacketKind::ControlAck))
    message_class = network::JoinedNetwork::kControl;
  context_.network.send({context_.nodes[interface_], context_.nodes[h.to], bytes, message_class, index},
                        when);
}

}  // namespace weft::nic
