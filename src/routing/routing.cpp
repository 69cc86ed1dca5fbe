#include "routing/routing.hpp"

namespace weft::routing {

Routing::~Routing() = default;

std::vector<TableUse> Routing::tables() const { return {}; }

ChannelPlan Routing::plan(unsigned channels) const {
  ChannelPlan plan;
  unsigned count = classes();
  plan.complete = channels >= count;
  for (unsigned c = 0; c < count; ++c) {
    unsigned begin = plan.complete ? channels * c / count : c % channels;
    unsigned end = plan.complete ? channels * (c + 1) / count : begin + 1;
    plan.begin.push_back(static_cast<std::uint8_t>(begin));
    plan.end.push_back(static_cast<std::uint8_t>(end));
  }
  return plan;
}

}  // namespace weft::routing
