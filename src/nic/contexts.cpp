#include "nic/contexts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "machine/joined.hpp"
#include "network/joined_network.hpp"

namespace weft::nic {

namespace {

/// `d` describes one network alone.
std::unique_ptr<Context> context_with(const machine::Description& d, const machine::Machine& machine,
                                      network::Network& network, event::EventQueue& queue, Host& host,
                                      std::uint64_t seed, Common& common) {
  return std::make_unique<Context>(Context{.machine = machine,
                                           .nic = d.nic,
                                           .host_parameters = d.host,
                                           .network = network,
                                           .queue = queue,
                                           .host = host,
                                           .seed = seed,
                                           .classes = machine.description.router.message_classes,
                                           .class_weights = machine.description.router.class_weights,
                                           .own = nullptr,
                                           .common = common});
}

/// How much of a message a packet holds, where the network's packets are so large at most.
void set_payload(Context& c, const std::string& whose, std::uint64_t largest, Diagnostics& problems) {
  const auto header = static_cast<std::uint64_t>(c.nic.header.value);
  const auto needed =
      header + static_cast<std::uint64_t>(std::max(c.nic.message_limit.value, c.nic.immediate_limit.value));
  if (needed > largest)
    return problems.add(
        c.machine.description.origin("nic.message_limit"), "nic.message_limit",
        fmt::format("a message with its header has {} bytes, {} packets at most {}", needed, whose, largest));
  c.payload = c.payload_here = std::min(static_cast<std::uint64_t>(c.nic.payload.value), largest - header);
  constexpr std::uint64_t kBesideTheList = 16;
  c.list_room = std::max(std::max(c.payload, needed - header), kBesideTheList + 8) - kBesideTheList;
}

Context& context_number(Context& first, std::uint32_t network) {
  return network == 0 ? first : *first.others[network - 1];
}

/// What may go to anybody is as small as the smallest.
void take_smallest(Context& first) {
  std::uint64_t payload = first.payload, room = first.list_room;
  for (const auto& other : first.others) {
    payload = std::min(payload, other->payload);
    room = std::min(room, other->list_room);
  }
  for (std::uint32_t n = 0; n <= first.others.size(); ++n) {
    context_number(first, n).payload = payload;
    context_number(first, n).list_room = room;
  }
}

}  // namespace

std::unique_ptr<Context> make_contexts(const machine::Machine& machine, network::Network& network,
                                       event::EventQueue& queue, Host& host, std::uint64_t seed,
                                       std::unique_ptr<Common> owned, Diagnostics& problems) {
  Common& common = *owned;
  const machine::Joined* joined = machine::joined(machine);
  auto make = [&](const machine::Description& d) {
    return context_with(d, machine, network, queue, host, seed, common);
  };
  std::unique_ptr<Context> first =
      make(joined ? joined->parts().front().machine.description : machine.description);
  first->own = std::move(owned);
  common.least_send_latency = first->nic.send_latency;
  if (!joined) {
    set_payload(*first, "the network's", network.largest_packet(), problems);
    return first;
  }
  const auto& networks = dynamic_cast<const network::JoinedNetwork&>(network);
  for (std::uint32_t p = 0; p < joined->parts().size(); ++p) {
    const machine::JoinedPart& part = joined->parts()[p];
    if (p > 0) first->others.push_back(make(part.machine.description));
    Context& c = context_number(*first, p);
    set_payload(c, part.name + "'s", networks.largest_packet_of(p), problems);
    common.least_send_latency = std::min(common.least_send_latency, c.nic.send_latency);
  }
  take_smallest(*first);
  return first;
}

Context& context_of(Context& first, network::EndpointId node) {
  return first.others.empty() ? first : context_number(first, machine::joined(first.machine)->home(node));
}

void add_payload(Context& first, network::EndpointId node) {
  if (first.others.empty()) return;
  const machine::Joined& joined = *machine::joined(first.machine);
  std::uint64_t least = context_of(first, node).payload_here;
  for (std::uint32_t p = 0; p < joined.parts().size(); ++p)
    if (joined.parts()[p].has(node)) least = std::min(least, context_number(first, p).payload_here);
  first.common.payloads.push_back(least);
}

}  // namespace weft::nic
