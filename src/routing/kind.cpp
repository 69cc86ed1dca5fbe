#include "routing/kind.hpp"

weft::routing::RoutingKind::~RoutingKind() = default;

WEFT_REGISTRY(weft::routing::RoutingKind);
