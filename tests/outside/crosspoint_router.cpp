// A router with a buffer at every crosspoint of its switch: one inner port for each input and output.
#include <fmt/format.h>

#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

struct CrosspointParameters : RouterParameters {
  unsigned crosspoint_flits = 16;
};

InnerPorts crosspoints(const CrosspointParameters& p, unsigned ports) {
  InnerPorts out;
  for (unsigned input = 0; input < ports; ++input)
    for (unsigned output = 0; output < ports; ++output) {
      out.first.push_back(static_cast<std::uint16_t>(input * ports + output));
      out.next.insert(out.next.end(), ports, InnerPorts::kOut);
      out.buffer_flits.push_back(static_cast<std::uint16_t>(p.crosspoint_flits));
      out.names.push_back(fmt::format("crosspoint of input {} and output {}", input, output));
    }
  return out;
}

/// What shows only on a machine; each complaint is reported at the key it names, all of them at once.
void check(const CrosspointParameters& p, const RouterUse& use, const config::Complain& complain) {
  if (use.latency_cycles < 2) complain("latency", "a crosspoint takes a cycle, and the way out another");
  if (use.has_escape)
    complain("kind", "a crosspoint is chosen for good, and escape channels are turned to later");
  const unsigned needed = use.channels * (use.cut_through ? use.largest_packet_flits : 1);
  if (p.crosspoint_flits < needed)
    complain("crosspoint_flits", fmt::format("{} channels need at least {} flits, and there are {}",
                                             use.channels, needed, p.crosspoint_flits));
}

RouterModel crosspoint_model(const CrosspointParameters& p) {
  RouterModel out;
  out.inner_stages = 1;
  out.inner = [p](unsigned ports) { return crosspoints(p, ports); };
  out.smallest_inner_flits = p.crosspoint_flits;
  out.check = [p](const RouterUse& use, const config::Complain& complain) { check(p, use, complain); };
  return out;
}

using P = CrosspointParameters;

WEFT_REGISTER(RouterKind,
              router_kind<P>("crosspoint-queued", "a buffer at every crosspoint of the switch", 50,
                             router_schema<P>()
                                 .field(&P::crosspoint_flits, "crosspoint_flits",
                                        "Buffer of a crosspoint, for all channels",
                                        config::Range<unsigned>{1, 4096})
                                 .section(),
                             crosspoint_model));

}  // namespace

}  // namespace weft::machine
