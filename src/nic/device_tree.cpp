#include "nic/device_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "base/text.hpp"
#include "node/express_kind.hpp"

namespace weft::nic {

namespace {

constexpr const char* kImplied = "root";

class Builder {
 public:
  Builder(node::Node& site, std::uint32_t payload, const machine::Description& description,
          Diagnostics& problems)
      : site_(site), description_(description), problems_(problems) {
    payload_ = std::bit_floor(std::clamp(payload, 128u, 4096u));
    for (node::DeviceId d = 0; d < site.devices(); ++d) {
      node::Device& device = site.device(d);
      if (auto* bridge = dynamic_cast<node::Bridge*>(&device)) {
        (bridge->is_root() ? roots_ : switches_).push_back(bridge);
        names_.push_back(device.name());
      } else if (dynamic_cast<pcie::Function*>(&device)) {
        functions_.push_back(&device);
      }
    }
  }

  DeviceTree build() {
    DeviceTree out;
    if (functions_.empty() && roots_.empty() && switches_.empty()) return out;
    if (roots_.size() > 1)
      complain(roots_[1]->name(), "kind", "a node's interface is one root port, and there is one already");
    out.tree = std::make_unique<pcie::Tree>();
    tree_ = out.tree.get();
    add_root(out);
    add_switches();
    for (node::Device* device : functions_) add_function(*device);
    for (const pcie::Tree::Place& place : tree_->places())
      out.devices.push_back(place.function ? site_.find(place.name) : kNobody);
    for (const std::string& name : names_)
      if (!used_[name])
        complain(name, "kind", "no device is below it: a root port or switch must lead to one");
    return out;
  }

 private:
  void complain(const std::string& device, const std::string& key, std::string message) {
    const std::string path = fmt::format("node.device.{}.{}", device, key);
    problems_.add(description_.origin(path), path, fmt::format("node {}: {}", site_.id(), message));
  }

  pcie::LinkParameters link_of(const node::BridgeParameters& p) const {
    return {p.generation, p.width, std::min(payload_, static_cast<std::uint32_t>(p.max_payload.value)),
            p.latency, p.clock};
  }

  void add_root(DeviceTree& out) {
    const node::BridgeParameters p = roots_.empty() ? node::BridgeParameters{} : roots_[0]->parameters();
    root_ = roots_.empty() ? kImplied : roots_[0]->name();
    places_[root_] = tree_->add_root_port(root_, link_of(p));
    if (!roots_.empty()) out.root = root_;
    out.window = static_cast<std::uint64_t>(p.window.value);
    out.registers = p.registers;
    out.messages = p.messages;
    out.rdma = p.rdma;
    out.device_ports = p.device_ports;
    out.power_up = p.power_up;
    // Nobody has said how several devices share the port.
    if (roots_.empty() && switches_.empty() && functions_.size() > 1)
      places_[root_] =
          tree_->add_switch("switch", places_[root_], static_cast<unsigned>(functions_.size()), link_of(p));
  }

  /// The port below which a place is; kNone where there is none, which is told.
  std::size_t port_of(const std::string& name, const std::string& under) {
    const std::string above = under.empty() ? root_ : under;
    auto found = places_.find(above);
    if (found == places_.end()) {
      complain(name, "under",
               fmt::format("there is no root port or switch '{}' on the node{}", above,
                           did_you_mean(above, names_)));
      return pcie::Tree::kNone;
    }
    used_[above] = true;
    const std::size_t port = tree_->free_port(found->second);
    if (port == pcie::Tree::kNone) complain(name, "under", fmt::format("all ports of '{}' are taken", above));
    return port;
  }

  /// Those first whose bridge is there; what is left then is below each other, or below nothing.
  void add_switches() {
    std::vector<node::Bridge*> left = switches_;
    for (bool more = true; more;) {
      more = false;
      for (node::Bridge*& one : left) {
        if (!one || !places_.contains(one->under().empty() ? root_ : one->under())) continue;
        const std::size_t port = port_of(one->name(), one->under());
        if (port != pcie::Tree::kNone) add_bridge(*one, port);
        one = nullptr;
        more = true;
      }
    }
    for (node::Bridge* one : left) {
      if (!one) continue;
      const bool named = std::find(names_.begin(), names_.end(), one->under()) != names_.end();
      used_[one->name()] = true;  // one complaint is enough
      complain(one->name(), "under",
               named
                   ? fmt::format("'{}' is below '{}', which is below no root port", one->name(), one->under())
                   : fmt::format("there is no root port or switch '{}' on the node{}", one->under(),
                                 did_you_mean(one->under(), names_)));
    }
  }

  void add_bridge(const node::Bridge& bridge, std::size_t port) {
    const pcie::LinkParameters link = link_of(bridge.parameters());
    const bool unit = bridge.kind() == node::BridgeKind::ChainBridge;
    if (unit != tree_->is_chain(port))
      complain(bridge.name(), "under",
               unit ? "it is a unit of a chain of HyperTransport, and is below a port of PCI Express"
                    : "it is below a host of HyperTransport: a hypertransport-bridge must be between");
    else
      places_[bridge.name()] = unit ? tree_->add_bridge(bridge.name(), port, link)
                                    : tree_->add_switch(bridge.name(), port, bridge.parameters().ports, link);
  }

  void add_function(node::Device& device) {
    auto& function = dynamic_cast<pcie::Function&>(device);
    const auto* place = dynamic_cast<const node::ExpressPlace*>(&device);
    const std::size_t port = port_of(device.name(), place ? place->under() : "");
    if (port != pcie::Tree::kNone)
      tree_->add_function(device.name(), port, function, place ? place->link() : pcie::LinkParameters{});
  }

  node::Node& site_;
  const machine::Description& description_;
  Diagnostics& problems_;
  std::uint32_t payload_;
  std::vector<node::Bridge*> roots_, switches_;
  std::vector<node::Device*> functions_;
  std::vector<std::string> names_;  // of bridges
  pcie::Tree* tree_ = nullptr;
  std::string root_;
  std::map<std::string, std::size_t> places_;  // of bridges that are there
  std::map<std::string, bool> used_;
};

}  // namespace

DeviceTree device_tree(node::Node& site, std::uint32_t payload, const machine::Description& description,
                       Diagnostics& problems) {
  return Builder(site, payload, description, problems).build();
}

}  // namespace weft::nic
