#include "topology/kind.hpp"

weft::topology::TopologyKind::~TopologyKind() = default;

WEFT_REGISTRY(weft::topology::TopologyKind);
