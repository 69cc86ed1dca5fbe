#include "app/boot_accelerators.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "node/express_kind.hpp"

namespace weft::app {

namespace {

constexpr const char* kOption = "--accelerators";
constexpr unsigned kMost = 4096;

bool runs_kernel(std::uint32_t node, const std::vector<network::EndpointId>& place) {
  return std::find(place.begin(), place.end(), node) != place.end();
}

bool is_described(const node::DeviceKind& kind, const machine::Machine& machine) {
  const auto& devices = machine.description.devices;
  return std::any_of(devices.begin(), devices.end(),
                     [&](const auto& device) { return device.kind == &kind; });
}

/// Nodes that have a device of the kind: those without a kernel first, then by number.
std::vector<std::uint32_t> nodes_with(const node::DeviceKind& kind, const machine::Machine& machine,
                                      const std::vector<network::EndpointId>& place) {
  std::vector<std::uint32_t> out;
  for (bool kernel : {false, true})
    for (std::uint32_t node = 0; node < machine.graph->endpoints(); ++node)
      for (const machine::Device& device : machine.description.devices)
        if (device.kind == &kind && device.sits_on(node) && runs_kernel(node, place) == kernel)
          out.push_back(node);
  return out;
}

}  // namespace

std::vector<AcceleratorRequest> parse_accelerators(const std::string& text, Diagnostics& problems) {
  std::vector<AcceleratorRequest> out;
  if (text.empty()) return out;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string number = equals == std::string::npos ? "" : part.substr(equals + 1);
    const node::DeviceKind* kind = node::DeviceKinds::find(name);
    if (!kind || !node::ExpressKinds::find(name)) {
      const std::vector<std::string> kinds = node::ExpressKinds::names();
      problems.add({}, kOption,
                   fmt::format("'{}' is no kind of device on PCI Express{}; there are {}", name,
                               did_you_mean(name, kinds), join(kinds, ", ")));
      continue;
    }
    const bool whole =
        !number.empty() && number.size() < 5 && number.find_first_not_of("0123456789") == std::string::npos;
    const unsigned long count = whole ? std::stoul(number) : 0;
    if (count == 0 || count > kMost) {
      problems.add({}, kOption, fmt::format("'{}': expected {}=N, with N from 1 to {}", part, name, kMost));
      continue;
    }
    out.push_back({kind, static_cast<unsigned>(count)});
  }
  return out;
}

std::vector<std::string> settings_of_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                  const machine::Machine& machine,
                                                  const std::vector<network::EndpointId>& place) {
  std::vector<std::string> out;
  std::int64_t next = static_cast<std::int64_t>(machine.graph->endpoints()) - 1;
  for (const AcceleratorRequest& request : requests) {
    if (is_described(*request.kind, machine)) continue;
    std::vector<std::string> nodes;
    for (; next >= 0 && nodes.size() < request.count; --next)
      if (!runs_kernel(static_cast<std::uint32_t>(next), place)) nodes.push_back(std::to_string(next));
    if (nodes.empty()) continue;
    out.push_back(fmt::format("node.device.{0}.kind={0}", request.kind->name));
    out.push_back(fmt::format("node.device.{}.nodes=[{}]", request.kind->name, join(nodes, ", ")));
  }
  return out;
}

std::vector<guest::Assignment> assign_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                   const machine::Machine& machine,
                                                   const std::vector<network::EndpointId>& place,
                                                   Diagnostics& problems) {
  std::vector<guest::Assignment> out;
  for (const AcceleratorRequest& request : requests) {
    const std::vector<std::uint32_t> nodes = nodes_with(*request.kind, machine, place);
    unsigned granted = 0;
    for (std::uint32_t node : nodes) {
      const bool taken =
          std::any_of(out.begin(), out.end(), [&](const auto& one) { return one.device == node; });
      if (taken || granted == request.count) continue;
      out.push_back({node, out.size() % place.size()});
      ++granted;
    }
    if (granted < request.count)
      problems.add({}, kOption,
                   fmt::format("{} of kind {} are asked for; {} has {} on nodes of their own", request.count,
                               request.kind->name, machine.description.identity.name, granted));
  }
  return out;
}

}  // namespace weft::app
