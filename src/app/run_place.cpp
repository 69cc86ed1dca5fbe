#include "app/run_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/diagnostics.hpp"
#include "base/text.hpp"
#include "machine/joined.hpp"
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

/// Nodes of a machine of several networks, by their networks' names: "cluster:2,booster:2". A gateway is
/// nobody's but by its number.
std::vector<EndpointId> of_networks(const machine::Joined& joined, unsigned wanted, const std::string& text) {
  std::vector<EndpointId> out;
  auto fail = [&](const std::string& what) { throw UserError(fmt::format("--place {}: {}", text, what)); };
  auto take = [&](std::uint32_t part, std::size_t count, bool all) {
    std::size_t taken = 0;
    for (EndpointId node = 0; node < joined.nodes() && taken < count; ++node) {
      if (!joined.parts()[part].has(node) || joined.is_gateway(node) ||
          std::find(out.begin(), out.end(), node) != out.end())
        continue;
      out.push_back(node);
      ++taken;
    }
    if (!all && taken < count)
      fail(fmt::format("{} has {} left that are no gateways", joined.parts()[part].name,
                       count_of(taken, "node")));
  };
  const bool linear = text.empty() || text == "linear";
  for (std::uint32_t p = 0; linear && p < joined.parts().size(); ++p) take(p, wanted - out.size(), true);
  std::vector<std::string> names;
  for (const machine::JoinedPart& part : joined.parts()) names.push_back(part.name);
  for (const std::string& part : linear ? std::vector<std::string>{} : split(text, ',')) {
    const std::size_t colon = part.find(':');
    const std::string name = part.substr(0, colon);
    auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end())
      fail(fmt::format(
          "expected linear, nodes such as 0,4,8-11, or networks such as {}:4{}; this machine has {}",
          names.front(), did_you_mean(name, names), join(names, ", ")));
    unsigned count = 0;
    const char* end = part.data() + part.size();
    if (colon != std::string::npos) {
      auto [stop, error] = std::from_chars(part.data() + colon + 1, end, count);
      if (error != std::errc() || stop != end || count == 0)
        fail(fmt::format("expected a number of nodes, such as {}:4", name));
    }
    take(static_cast<std::uint32_t>(at - names.begin()),
         colon == std::string::npos ? wanted - out.size() : count, colon == std::string::npos);
  }
  if (out.size() != wanted)
    fail(fmt::format("{} expected, these are {}", count_of(wanted, "node"), out.size()));
  return out;
}

}  // namespace

std::vector<EndpointId> place_ranks(const machine::Machine& machine, unsigned ranks, unsigned per_node,
                                    const std::string& how, std::uint64_t seed) {
  unsigned nodes = (ranks + per_node - 1) / per_node;
  std::vector<EndpointId> used;
  if (!how.empty() && how.find_first_not_of("0123456789,-") == std::string::npos) {
    used = listed(machine, nodes, how);
  } else if (const machine::Joined* joined = machine::joined(machine)) {
    used = of_networks(*joined, nodes, how);
  } else {
    used = workload::Placement(*machine.graph, *machine.faults).place(nodes, how, seed);
  }
  std::vector<EndpointId> out;
  for (unsigned rank = 0; rank < ranks; ++rank) out.push_back(used[rank / per_node]);
  return out;
}

}  // namespace weft::app
