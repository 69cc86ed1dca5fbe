#include "app/boot_accelerators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/statement_reader.hpp"
#include "base/text.hpp"
#include "machine/own_system.hpp"
#include "node/express_kind.hpp"

namespace weft::app {

namespace {

constexpr const char* kOption = "--accelerators";
constexpr unsigned kMost = 4096;
constexpr std::size_t kMostPooled = 256;  // each has an interface in the simulation

bool runs_kernel(std::uint32_t node, const std::vector<network::EndpointId>& place) {
  return std::find(place.begin(), place.end(), node) != place.end();
}

bool is_described(const node::DeviceKind& kind, const machine::Machine& machine) {
  const auto& devices = machine.description.devices;
  return std::any_of(devices.begin(), devices.end(),
                     [&](const auto& device) { return device.kind == &kind; });
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

std::vector<guest::PooledDevice> pool_of(const machine::Machine& machine,
                                         const std::vector<network::EndpointId>& place) {
  std::vector<guest::PooledDevice> out;
  std::map<std::string, unsigned> numbers;
  for (bool kernel : {false, true})
    for (std::uint32_t node = 0; node < machine.graph->endpoints(); ++node) {
      if (runs_kernel(node, place) != kernel) continue;
      for (const machine::Device& device : machine.description.devices) {
        const bool express = node::ExpressKinds::find(device.kind->name) && device.sits_on(node);
        if (!express || out.size() == kMostPooled) continue;
        // A port has one host at a time: of several devices below it, the first names it.
        if (!out.empty() && out.back().node == node) continue;
        const std::string& kind = device.kind->name;
        out.push_back({fmt::format("{}.{}", kind, numbers[kind]++), node});
      }
    }
  return out;
}

std::vector<guest::Assignment> assign_accelerators(const std::vector<AcceleratorRequest>& requests,
                                                   const machine::Machine& machine,
                                                   const std::vector<guest::PooledDevice>& pool,
                                                   std::size_t hosts, Diagnostics& problems) {
  std::vector<guest::Assignment> out;
  std::vector<std::size_t> held(hosts);
  for (const AcceleratorRequest& request : requests) {
    unsigned granted = 0;
    for (std::size_t i = 0; i < pool.size() && granted < request.count; ++i) {
      if (!pool[i].name.starts_with(request.kind->name + ".")) continue;
      out.push_back({i, out.size() % hosts});
      ++held[out.back().host];
      ++granted;
    }
    if (granted < request.count)
      problems.add({}, kOption,
                   fmt::format("{} of kind {} are asked for; {} has {} on nodes of their own", request.count,
                               request.kind->name, machine.description.identity.name, granted));
  }
  if (!held.empty() && *std::max_element(held.begin(), held.end()) > guest::Pci::kSlots)
    problems.add({}, kOption,
                 fmt::format("{} for {}, which have {} slots each on their buses", out.size(),
                             count_of(hosts, "Linux node"), guest::Pci::kSlots));
  return out;
}

std::vector<std::string> accelerators_of(const machine::Machine& machine,
                                         const std::vector<network::EndpointId>& place) {
  std::vector<std::string> out;
  std::map<std::string, unsigned> numbers;
  for (network::EndpointId node : place) {
    const machine::Device* one = machine::own_system_of(machine.description, node);
    out.push_back(one ? fmt::format("{}{}", one->name, numbers[one->name]++) : std::string());
  }
  return out;
}

std::string share_of_accelerators(const std::vector<std::string>& accelerator_of) {
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(accelerator_of, [](const std::string& name) { return !name.empty(); }));
  if (count == 0) return "";
  return count == accelerator_of.size() ? " of accelerators" : fmt::format(", {} of accelerators,", count);
}

std::vector<guest::GrantRequest> read_grants(const std::string& given, const guest::GrantNames& names) {
  if (given.empty()) return {};
  const auto [text, source] = script_of(given, "--accelerator-script", "at 2s assign nvme.0 to node0");
  Diagnostics problems;
  std::vector<guest::GrantRequest> out = guest::parse_grant_script(text, source, names, problems);
  if (problems.empty() && out.empty()) problems.add({source}, "", "says nothing: it has no statement");
  problems.throw_if_any();
  return out;
}

}  // namespace weft::app
