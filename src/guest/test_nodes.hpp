// Nodes with a guest each, and a fabric between them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/registry.hpp"
#include "guest/test_guest.hpp"
#include "machine/machine.hpp"
#include "nic/fabric.hpp"

namespace weft::guest::test {

class TestNodes : public nic::Host {
 public:
  /// Of a machine whose nodes have one device, `eth0`.
  TestNodes(std::shared_ptr<const machine::Machine> of, unsigned nodes, const std::string& engine = "ideal")
      : machine(std::move(of)) {
    network = config::Registry<network::EngineKind>::find(engine)->make(*machine, {1, 1, {}});
    std::vector<network::EndpointId> used;
    for (unsigned i = 0; i < nodes; ++i) used.push_back(i);
    fabric = std::make_unique<nic::Fabric>(*machine, *network, queue, *this, used, 1);
    for (unsigned i = 0; i < nodes; ++i) {
      devices.push_back(&dynamic_cast<Ethernet&>(fabric->site(i).device(1)));
      peers.push_back(devices[i]->open(*fabric, i, i, i));
    }
    for (unsigned i = 0; i < nodes; ++i) {
      devices[i]->know(peers, nodes);
      guests.push_back(std::make_unique<TestGuest>(*devices[i]));
    }
  }
  /// Until nothing is under way; false where that does not end.
  bool settle() {
    for (int i = 0; i < 1'000'000 && !fabric->idle(); ++i) fabric->advance(network::kForever);
    return fabric->idle();
  }

  std::shared_ptr<const machine::Machine> machine;
  std::unique_ptr<network::Network> network;
  event::EventQueue queue;
  std::unique_ptr<nic::Fabric> fabric;
  std::vector<Ethernet*> devices;
  std::vector<EthernetPeer> peers;
  std::vector<std::unique_ptr<TestGuest>> guests;

 private:
  bool read(node::SpaceId space, std::uint64_t address, void* to, std::uint64_t length) override {
    return devices[space]->read(address, to, length);
  }
  bool write(node::SpaceId space, std::uint64_t address, const void* from, std::uint64_t length) override {
    return devices[space]->write(address, from, length);
  }
  bool has_space(node::NodeId node, node::SpaceId space) const override { return node == space; }
  void device_interrupt(node::NodeId node, node::DeviceId) override { devices[node]->interrupted(); }
  void message(nic::PortRef, const nic::Message&) override {}
  void event(nic::PortRef port, const nic::Event& event) override { devices[port.nic]->event(event); }
  void slot_free(nic::PortRef port, Time) override { devices[port.nic]->slot_free(); }
};

}  // namespace weft::guest::test
