#include "app/run_place.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "workload/placement.hpp"

namespace weft::app {

namespace {

using topology::EndpointId;

std::vector<EndpointId> listed(const machine::Machine& machine, unsigned wanted, const std::string& text) {
  std::vector<EndpointId> out;
  auto fail = [&](const std::string& what) { throw UserError(fmt::format("--place {}: {}", text, what)); };
  auto number = [&](const std::string& part) {
    EndpointId value = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (part.empty() || error != std::errc() || end != part.data() + part.size())
      fail("expected a placement's name, or nodes such as 0,4,8-11");
    if (value >= machine.graph->endpoints())
      fail(fmt::format("{} has nodes 0 to {}", machine.description.identity.name,
                       machine.graph->endpoints() - 1));
    return value;
  };
  for (const std::string& part : split(text, ',')) {
    std::vector<std::string> ends = split(part, '-');
    if (ends.size() > 2) fail("expected a range such as 8-11");
    EndpointId first = number(ends.front()), last = number(ends.back());
    if (first > last) fail(fmt::format("{} is not a range: its end lies before its begin", part));
    for (EndpointId e = first; e <= last && out.size() <= wanted; ++e) out.push_back(e);
  }
  if (out.size() != wanted) fail(fmt::format("{} expected", count_of(wanted, "node")));
  for (EndpointId e : out)
    if (machine.faults->router_dead(machine.graph->endpoint_router(e)))
      fail(fmt::format("node {} is dead", e));
  return out;
}

}  // namespace

std::vector<EndpointId> place_ranks(const machine::Machine& machine, unsigned ranks, unsigned per_node,
                                    const std::string& how, std::uint64_t seed) {
  unsigned nodes = (ranks + per_node - 1) / per_node;
  std::vector<EndpointId> used;
  if (!how.empty() && how.find_first_not_of("0123456789,-") == std::string::npos) {
    used = listed(machine, nodes, how);
  } else {
    used = workload::Placement(*machine.graph, *machine.faults).place(nodes, how, seed);
  }
  std::vector<EndpointId> out;
  for (unsigned rank = 0; rank < ranks; ++rank) out.push_back(used[rank / per_node]);
  return out;
}

}  // namespace weft::app
