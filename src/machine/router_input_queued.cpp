// The input-queued router: a queue for each virtual channel of an input.
#include "machine/router_kind.hpp"

namespace weft::machine {

namespace {

WEFT_REGISTER(RouterKind,
              router_kind<RouterParameters>("input-queued", "a queue for each virtual channel of an input", 1,
                                            router_schema<RouterParameters>().section(),
                                            [](const RouterParameters&) { return RouterModel{}; }));

}  // namespace

}  // namespace weft::machine
