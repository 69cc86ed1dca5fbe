// The network of a machine, whatever it is made of.
#include <fmt/format.h>

#include "base/diagnostics.hpp"
#include "machine/collective_network.hpp"
#include "network/joined_network.hpp"
#include "topology/renumber.hpp"

namespace weft::network {

namespace {

/// What a script does to one of several networks, by that network's own numbers.
std::vector<link::FaultEvent> faults_of(const machine::Joined& joined, std::uint32_t number,
                                        const topology::Graph& graph,
                                        const std::vector<link::FaultEvent>& all) {
  const machine::JoinedPart& part = joined.parts()[number];
  std::vector<link::FaultEvent> out;
  for (link::FaultEvent event : all) {
    const bool port = event.port != topology::kNone;
    if (joined.part_of_router(port ? graph.port_router(event.port) : event.router) != number) continue;
    if (port) event.port -= part.first_port;
    if (event.router != topology::kNone) event.router -= part.first_router;
    event.text = topology::renumbered(event.text, -static_cast<std::int64_t>(part.first_router));
    out.push_back(std::move(event));
  }
  return out;
}

std::vector<std::unique_ptr<Network>> make_parts(const EngineKind& engine, const machine::Machine& machine,
                                                 const EngineOptions& options) {
  std::vector<std::unique_ptr<Network>> out;
  const machine::Joined* joined = machine::joined(machine);
  if (!joined) {
    out.push_back(engine.make(machine, options));
    return out;
  }
  for (std::uint32_t p = 0; p < joined->parts().size(); ++p) {
    // Bits go wrong on each by themselves.
    constexpr std::uint64_t kApart = 0x9e37'79b9'7f4a'7c15;
    out.push_back(engine.make(joined->parts()[p].machine,
                              {options.seed + p * kApart, options.threads,
                               faults_of(*joined, p, *machine.graph, options.faults), options.ranks}));
  }
  return out;
}

/// Networks run in turn for less than any interface takes to send.
void check_times(const machine::Machine& machine) {
  const machine::Joined* joined = machine::joined(machine);
  Diagnostics problems;
  const char* why = "must be more than 0 where there are several networks: they could not run in turn";
  if (joined)
    for (const machine::JoinedPart& part : joined->parts())
      if (part.machine.description.nic.send_latency.value == 0)
        problems.add(machine.description.origin("network." + part.name + ".nic.send_latency"),
                     "network." + part.name + ".nic.send_latency", why);
  problems.throw_if_any();
}

}  // namespace

std::unique_ptr<Network> make_network(const EngineKind& engine, const machine::Machine& machine,
                                      const EngineOptions& options, const std::string& collective_faults) {
  const machine::Description& d = machine.description;
  check_times(machine);
  auto networks = make_parts(engine, machine, options);
  auto described = machine::collective_network(d);
  if (!described) {
    if (!collective_faults.empty())
      throw UserError("the machine has no network for collectives ([collective_network]) that could break");
    if (!machine::joined(machine)) return std::move(networks.front());
    return std::make_unique<JoinedNetwork>(machine, std::move(networks));
  }
  auto own = std::make_unique<machine::Machine>(machine::build(std::move(*described)));
  Diagnostics problems;
  const std::string key = std::string(machine::kCollectiveNetwork) + ".topology";
  if (own->graph->endpoints() < machine.graph->endpoints())
    problems.add(d.origin(key + ".kind"), key,
                 fmt::format("has {} endpoints; every one of the machine's {} nodes needs one",
                             own->graph->endpoints(), machine.graph->endpoints()));
  if (d.nic.send_latency.value == 0)
    problems.add(
        d.origin("nic.send_latency"), "nic.send_latency",
        "must be more than 0 where there is a network for collectives: the two could not run in turn");
  problems.throw_if_any();
  std::vector<link::FaultEvent> breaks;
  if (!collective_faults.empty()) breaks = link::read_faults(collective_faults, *own->graph);
  auto control = engine.make(*own, {options.seed, options.threads, std::move(breaks), options.ranks});
  return std::make_unique<JoinedNetwork>(machine, std::move(networks), std::move(control), std::move(own));
}

}  // namespace weft::network
