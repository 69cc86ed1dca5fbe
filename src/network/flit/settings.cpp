#include "network/flit/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.hpp"
#include "network/flit/buffers.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/state.hpp"

namespace weft::network::flit {

namespace {

using machine::Machine;

[[noreturn]] void refuse(const Machine& m, const std::string& key, std::string message) {
  throw UserError({{m.description.origin(key), key, std::move(message)}});
}

/// What routers of every kind cannot be.
void check_router(const Machine& m, unsigned largest_packet_flits, const config::Complain& complain) {
  const auto& router = m.description.router;
  unsigned classes = m.routing->classes();
  if (router.channels < classes)
    complain("channels",
             fmt::format("routing {} needs at least {} channels, the router has {}; `weft check` shows what "
                         "would happen",
                         m.description.routing->name, classes, router.channels));
  const machine::RouterModel model = m.description.router_kind->model(m.description.router_parameters.get());
  const bool multicast = model.multicast;
  if (model.reduction.groups && !multicast)
    complain("reduction_groups", "needs router.multicast = true: what routers combine goes back as copies");
  const unsigned all_classes = router.all_classes() + multicast;
  if (router.channels * all_classes > 32)
    complain(router.traffic_classes() > 1 ? "class_weights" : "message_classes",
             fmt::format("a port has at most 32 channels over all {}classes{}",
                         router.traffic_classes() > 1 ? "" : "message ",
                         multicast ? ", and packets for many have one of their own (router.multicast)" : ""));
  if (multicast && all_classes > 8)
    complain("multicast", "packets for many have a message class of their own, and there are 8 at most");
  if (multicast && router.traffic_classes() > 1)
    complain("class_weights", "packets for many (router.multicast) belong to no class of traffic");
  if (multicast && router.switching != Switching::CutThrough)
    complain("multicast",
             "needs router.switching = \"cut-through\": a copy that is let into the buffer behind its branch "
             "must fit there as a whole");
  if (largest_packet_flits > Entry::kMaxFlits)
    complain("flit",
             fmt::format("a packet of {} flits is longer than {}", largest_packet_flits, Entry::kMaxFlits));
  unsigned room = router.buffer_flits.given.value_or(largest_packet_flits);
  // Where all packets are of one class, shared room serves as well: those in it leave whatever happens here.
  if (router.channels * all_classes == 1) room += router.shared_flits;
  if (router.switching == Switching::CutThrough && largest_packet_flits > room)
    complain(
        "buffer_flits",
        fmt::format("cut-through needs room for a whole packet: {} flits, and a channel has {} of its own",
                    largest_packet_flits, room));
  for (unsigned yield : router.local_yield)
    if (yield > Port::kMostYield) {
      complain("local_yield", fmt::format("ports yield by at most {}, not {}", Port::kMostYield, yield));
      break;
    }
  if (router.local_headers && router.shared_flits)
    complain(
        "local_headers",
        "headers have a queue of their own beside buffers that channels do not share; router.shared_flits "
        "is not 0");
}

/// Tells all that is wrong with the routers at once.
void check(const Machine& m, const machine::RouterModel& model, unsigned largest_packet_flits) {
  const auto& router = m.description.router;
  Diagnostics problems;
  const config::Complain complain = [&](std::string_view key, std::string message) {
    std::string path = fmt::format("router.{}", key);
    problems.add(m.description.origin(path), path, std::move(message));
  };
  check_router(m, largest_packet_flits, complain);
  if (model.check)
    model.check(
        {*m.graph, router.channels * router.all_classes(), largest_packet_flits, timing_of(m).router_cycles(),
         router.switching == Switching::CutThrough, m.routing->has_escape(), m.description.routing->name},
        complain);
  problems.throw_if_any();
  if (m.graph->endpoints() >= Entry::kMaxEndpoints)
    refuse(m, "topology", fmt::format("the flit engine runs at most {} endpoints", Entry::kMaxEndpoints));
}

void add_cable(const Machine& m, const Timing& t, topology::CableId c, unsigned largest_packet_flits,
               Settings& s) {
  const topology::CableType& type = m.graph->cable_type(c);
  const CableTiming timing = cable_timing(m, t, c);
  if (timing.cycles > 20'000)
    refuse(m, "cable." + type.name + ".length",
           fmt::format("its flight takes {} cycles; the flit engine keeps 20,000", timing.cycles));
  if (timing.interval > 65'535)
    refuse(m, "cable." + type.name + ".lane_rate", "it is more than 255 times slower than a router's port");
  s.cable_cycles.push_back(static_cast<std::uint16_t>(timing.cycles));
  s.cable_interval.push_back(static_cast<std::uint16_t>(timing.interval));
  s.cable_remainder.push_back(timing.remainder);
  s.cable_buffer.push_back(static_cast<std::uint16_t>(buffer_flits(m, t, c, largest_packet_flits)));
}

}  // namespace

Settings settings_for(const Machine& m, unsigned largest_packet_flits) {
  const auto& router = m.description.router;
  Settings s;
  s.router = m.description.router_kind->model(m.description.router_parameters.get());
  check(m, s.router, largest_packet_flits);
  const Timing timing = timing_of(m);
  static_cast<Timing&>(s) = timing;
  s.reduction_cycles = s.cycle.whole_cycles(s.router.reduction.latency);
  s.reduction_remainder = s.cycle.remainder(s.router.reduction.latency, s.reduction_cycles);
  s.channels = router.channels;
  s.message_classes = router.all_classes();
  s.class_weights = router.class_weights;
  s.buffer_flits = local_buffer_flits(m, s, largest_packet_flits);
  s.shared_flits = router.shared_flits;
  s.switching = router.switching;
  s.allocator = router.allocator;
  s.iterations = router.iterations;
  if (router.switching == Switching::CutThrough) s.inner_own_flits = largest_packet_flits;
  s.local_yield = router.local_yield;
  s.local_headers = router.local_headers;
  if (s.router.inner_stages > 0) {
    // Each inner port takes a cycle, and what is left is the last stage.
    s.traverse_cycles = s.router_cycles() - s.router.inner_stages;
    s.route_cycles = s.allocate_cycles = 0;
  }
  for (topology::CableId c = 0; c < m.graph->cables(); ++c) add_cable(m, timing, c, largest_packet_flits, s);
  return s;
}

}  // namespace weft::network::flit
