// The input-queued router: a queue for each virtual channel of an input.
#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

struct InputQueuedParameters : RouterParameters {
  bool multicast = false;
  unsigned reduction_groups = 0;
  unsigned reduction_operands = 1024;
  Time reduction_latency{20'000};
};
using P = InputQueuedParameters;

WEFT_REGISTER(
    RouterKind,
    router_kind<P>(
        "input-queued", "a queue for each virtual channel of an input", 1,
        router_schema<P>()
            .field(&P::multicast, "multicast",
                   "Routers copy packets for many endpoints where their tree branches; "
                   "these have virtual channels of their own, as many as a message class")
            .field(&P::reduction_groups, "reduction_groups",
                   "Groups whose contributions a router combines on their way up a tree (barrier, "
                   "all-reduce), with router.multicast; 0: it combines none",
                   config::Range<unsigned>{0, 1u << 20})
            .field(&P::reduction_operands, "reduction_operands",
                   "Contributions, a packet each, that a router has room for over all groups: a group takes "
                   "one for each way it comes by and round that may be under way (nic.trigger_rounds)",
                   config::Range<unsigned>{0, 1u << 24})
            .field(&P::reduction_latency, "reduction_latency",
                   "Time from a group's last contribution at a router to what all of them make together",
                   config::Range<Time>{{0}, {1'000'000'000}})
            .section(),
        [](const P& p) {
          return RouterModel{.multicast = p.multicast,
                             .reduction = {p.reduction_groups, p.reduction_operands, p.reduction_latency}};
        }));

}  // namespace

}  // namespace weft::machine
