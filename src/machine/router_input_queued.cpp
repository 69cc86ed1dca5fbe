// The input-queued router: a queue for each virtual channel of an input.
#include "machine/router_kind.hpp"
#include "machine/router_reduction.hpp"

namespace weft::machine {

namespace {

struct InputQueuedParameters : RouterParameters {
  bool multicast = false;
  bool reduction = false;
  unsigned reduction_entries = 128;
  Time reduction_time{20'000};
};
using P = InputQueuedParameters;

constexpr const char* kName = "input-queued";

void check(const P& p, const config::Complain& complain) {
  if (p.reduction && !p.multicast)
    complain("reduction",
             "needs router.multicast = true: reductions have the channels of packets for many, and their "
             "results come back as such");
}

WEFT_REGISTER(
    RouterKind,
    router_kind<P>(kName, "a queue for each virtual channel of an input", 1,
                   router_schema<P>()
                       .field(&P::multicast, "multicast",
                              "Routers copy packets for many endpoints where their tree branches; "
                              "these have virtual channels of their own, as many as a message class")
                       .field(&P::reduction, "reduction",
                              "Routers have operation units: packets of many endpoints for one become one "
                              "where their ways join; needs multicast")
                       .field(&P::reduction_entries, "reduction_entries",
                              "Rounds of reductions that a router holds at once; a communicator that finds "
                              "too few left has its reductions in the interfaces",
                              config::Range<unsigned>{1, 1u << 20})
                       .field(&P::reduction_time, "reduction_time",
                              "From the last packet of a round at a router, whole, to the first flit of the "
                              "one that goes on, beside the router's latency",
                              config::Range<Time>{{0}, {1'000'000'000}})
                       .check(check)
                       .section(),
                   [](const P& p) { return RouterModel{.multicast = p.multicast}; }));

}  // namespace

RouterReduction router_reduction(const Description& description) {
  if (description.router_kind->name != kName) return {};
  const P& p = *static_cast<const P*>(description.router_parameters.get());
  return p.reduction ? RouterReduction{p.reduction_entries, p.reduction_time} : RouterReduction{};
}

}  // namespace weft::machine
