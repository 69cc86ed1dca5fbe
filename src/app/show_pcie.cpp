#include "app/show_pcie.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/registry.hpp"
#include "network/network.hpp"
#include "nic/fabric.hpp"
#include "nic/on_chip.hpp"
#include "nic/root_port.hpp"
#include "node/express_kind.hpp"

namespace weft::app {

namespace {

/// Nobody runs on these nodes.
class NoHost : public nic::Host {
 public:
  bool read(node::SpaceId, std::uint64_t, void*, std::uint64_t) override { return false; }
  bool write(node::SpaceId, std::uint64_t, const void*, std::uint64_t) override { return false; }
  bool has_space(node::NodeId, node::SpaceId) const override { return false; }
  void message(nic::PortRef, const nic::Message&) override {}
  void event(nic::PortRef, const nic::Event&) override {}
  void slot_free(nic::PortRef, Time) override {}
};

/// A device of a tree, or what leads to one.
bool is_express(const node::DeviceKind& kind) {
  return node::ExpressKinds::find(kind.name) || node::bridge_kind(kind.name);
}

bool has_devices(const machine::Machine& machine) {
  const auto& devices = machine.description.devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const auto& device) { return node::ExpressKinds::find(device.kind->name); });
}

std::vector<network::EndpointId> nodes_with_devices(const machine::Machine& machine) {
  std::vector<network::EndpointId> out;
  for (network::EndpointId node = 0; node < machine.graph->endpoints(); ++node)
    for (const machine::Device& device : machine.description.devices)
      if (is_express(*device.kind) && device.sits_on(node)) {
        out.push_back(node);
        break;
      }
  return out;
}

/// What the on-chip network of an interface has before anybody has its port.
std::string intervals_text(nic::Fabric& fabric, nic::NicId nic) {
  std::string out;
  for (const nic::Interval& interval : fabric.on_chip(nic).intervals())
    out += fmt::format("   {:#x} to {:#x} lead to {}\n", interval.first, interval.first + interval.size - 1,
                       nic::name_of(interval.unit));
  if (out.empty()) return "";
  out = fmt::format(" on-chip network of node {}:\n{}   all else to the network\n", fabric.node(nic), out);
  for (nic::PortNo port = 0; port < fabric.parameters().ports; ++port)
    if (const node::DeviceId device = fabric.device_of({nic, port}); device != nic::kNobody)
      out += fmt::format("   port {} is of '{}'\n", port, fabric.site(nic).device(device).name());
  return out;
}

}  // namespace

std::string pcie_text(const machine::Machine& machine, bool dump) {
  const std::vector<network::EndpointId> nodes = nodes_with_devices(machine);
  if (!has_devices(machine)) return "";
  auto network = config::Registry<network::EngineKind>::find("ideal")->make(machine, {1, 1, {}});
  event::EventQueue queue;
  NoHost host;
  nic::Fabric fabric(machine, *network, queue, host, nodes, 1);
  std::string out;
  for (nic::NicId nic = 0; nic < fabric.nics(); ++nic) {
    nic::RootPort& port = *fabric.root_port(nic);
    pcie::Tree& tree = port.tree();
    auto name = [&](pcie::FunctionId id) {
      const pcie::Tree::Place& place = tree.places()[tree.find(id)];
      return place.function ? place.function->about() : "PCI bridge: " + place.name;
    };
    const unsigned domain = fabric.node(nic);
    out += dump ? pcie::hex_text(domain, port.found(), pcie::access_to(tree), name)
                : pcie::tree_text(domain, port.found(), name);
    if (dump) continue;
    const pcie::LinkParameters& link = tree.places().front().link;
    if (link.is_hyper_transport())
      out += fmt::format(" HyperTransport of node {}: {} bits at {} MHz, {} each way\n", domain, link.width,
                         link.clock, to_text(pcie::rate_of(link)));
    out += intervals_text(fabric, nic);
  }
  return out;
}

void check_pcie(const machine::Machine& machine) {
  const std::vector<network::EndpointId> nodes = nodes_with_devices(machine);
  if (nodes.empty()) return;
  auto network = config::Registry<network::EngineKind>::find("ideal")->make(machine, {1, 1, {}});
  event::EventQueue queue;
  NoHost host;
  nic::Fabric fabric(machine, *network, queue, host, nodes, 1);
}

}  // namespace weft::app
