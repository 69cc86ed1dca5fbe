#include "nic/egress.hpp"

#include "network/two_networks.hpp"

namespace weft::nic {

Egress::Egress(Context& context, NicId interface, Counters& counters)
    : context_(context),
      interface_(interface),
      counters_(counters),
      control_apart_(dynamic_cast<const network::TwoNetworks*>(&context.network) != nullptr) {}

void Egress::launch(std::uint32_t index, Time when) {
  Packet& packet = context_.packets[index];
  Header& h = packet.header;
  packet.stamps.sent = when;
  if (packet.ordered && context_.nic.in_order) {
    if (sequences_.size() <= h.source_port) sequences_.resize(h.source_port + 1);
    auto& sequences = sequences_[h.source_port];
    if (sequences.size() < context_.nodes.size()) sequences.resize(context_.nodes.size());
    h.sequence = sequences[h.to]++;
  } else {
    packet.ordered = false;
  }
  packet.in_window = true;
  ++in_window_;
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
  if (h.from == h.to) return context_.at(when, What::Loopback, interface_, index);  // the network is not used
  auto message_class = static_cast<std::uint8_t>(is_answer(h.kind) && context_.classes > 1 ? 1 : 0);
  if (control_apart_ && (h.kind == PacketKind::Control || h.kind == PacketKind::ControlRefused))
    message_class = network::TwoNetworks::kControl;
  context_.network.send({context_.nodes[interface_], context_.nodes[h.to], bytes, message_class, index},
                        when);
}

}  // namespace weft::nic
