#include "topology/tree_shape.hpp"

#include <fmt/format.h>

namespace weft::topology {

std::string TreeShape::router_label(RouterId r) const {
  const Node& n = nodes[r];
  return fmt::format("(level {}, endpoints {} to {})", n.level, n.below_begin, n.below_end - 1);
}

}  // namespace weft::topology
