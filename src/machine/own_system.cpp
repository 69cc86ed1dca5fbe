#include "machine/own_system.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "node/compute_parameters.hpp"

namespace weft::machine {

namespace {

/// Of all nodes it sits on, as far as they are known: the first that has a processor of its own.
const ProcessorParameters* processor_beside(const Description& d, const Device& device, double endpoints,
                                            std::uint32_t& where) {
  std::vector<std::uint32_t> nodes = device.nodes;
  if (nodes.empty())
    for (std::uint32_t node = 0; node < endpoints; ++node) nodes.push_back(node);
  for (std::uint32_t node : nodes)
    if (const ProcessorParameters& p = d.processor_of(node); p.sockets > 0) {
      where = node;
      return &p;
    }
  return nullptr;
}

}  // namespace

const Device* own_system_of(const Description& description, std::uint32_t node) {
  for (const Device& device : description.devices)
    if (node::with_own_system(device) && device.sits_on(node)) return &device;
  return nullptr;
}

node::BusParameters bus_of(const Description& description, const HostParameters& host, std::uint32_t node) {
  node::BusParameters out = host.bus_parameters();
  const Device* device = own_system_of(description, node);
  if (!device) return out;
  const node::PeerParameters link = node::with_own_system(*device)->peer();
  if (link.rate.value > 0) out.rate = std::min(out.rate, link.rate);
  out.read_request = std::min(out.read_request, link.read_request);
  out.tags = link.reads;
  out.read_latency = link.read_latency;
  out.write_latency = link.write_latency;
  return out;
}

void check_own_systems(const Description& d, double endpoints, Diagnostics& problems) {
  const Device* first = nullptr;
  for (const Device& device : d.devices) {
    if (!node::with_own_system(device)) continue;
    const std::string key = fmt::format("node.device.{}.os", device.name);
    std::uint32_t where = 0;
    if (const ProcessorParameters* beside = processor_beside(d, device, endpoints, where))
      problems.add(d.origin(key), key,
                   fmt::format("node {} has a processor beside it, processor.sockets = {}; an accelerator "
                               "with a system of its own is its node's processor: expected 0",
                               where, beside->sockets));
    auto shares = [&](std::uint32_t node) { return first->sits_on(node); };
    const bool both = first && (device.nodes.empty() || first->nodes.empty() ||
                                std::any_of(device.nodes.begin(), device.nodes.end(), shares));
    if (both)
      problems.add(
          d.origin(key), key,
          fmt::format("{} is on the same node and runs a system, too; expected one of them", first->name));
    if (!first) first = &device;
  }
}

}  // namespace weft::machine
