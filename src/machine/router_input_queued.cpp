// The input-queued router: a queue for each virtual channel of an input.
#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

struct InputQueuedParameters : RouterParameters {
  bool multicast = false;
};
using P = InputQueuedParameters;

WEFT_REGISTER(
    RouterKind,
    router_kind<P>("input-queued", "a queue for each virtual channel of an input", 1,
                   router_schema<P>()
                       .field(&P::multicast, "multicast",
                              "Routers copy packets for many endpoints where their tree branches; "
                              "these have virtual channels of their own, as many as a message class")
                       .section(),
                   [](const P& p) { return RouterModel{.multicast = p.multicast}; }));

}  // namespace

}  // namespace weft::machine
