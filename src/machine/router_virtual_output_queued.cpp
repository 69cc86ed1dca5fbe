// The virtual-output-queued router: a packet that waits for one output blocks none to another.
#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

WEFT_REGISTER(RouterKind,
              router_kind<RouterParameters>("virtual-output-queued",
                                            "a queue for each output, of each virtual channel of an input", 2,
                                            router_schema<RouterParameters>().section(),
                                            [](const RouterParameters&) {
                                              return RouterModel{.queue_per_output = true};
                                            }));

}  // namespace

}  // namespace weft::machine
