// Devices that are functions of PCI Express or HyperTransport as well, and can be used from another node; and
// what they hang below: root ports, switches and hosts of chains, which are described like devices.
#pragma once

#include <string>

#include "config/registry.hpp"
#include "node/device.hpp"
#include "pcie/tree.hpp"

namespace weft::node {

struct ExpressKind {
  std::string name;  // of the kind of device
};

using ExpressKinds = config::Registry<ExpressKind>;

/// What a description says of a place in a node's tree: the bridge it is below, and its own end of a link of
/// PCI Express. Empty: the node's only root port.
class ExpressPlace {
 public:
  virtual ~ExpressPlace() = default;
  virtual const std::string& under() const = 0;
  virtual pcie::LinkParameters link() const = 0;
};

struct BridgeParameters {
  std::string under;
  unsigned generation = 3, width = 16, ports = 4;
  DataSize max_payload{256};
  Time latency{150'000};
  unsigned clock = 0;  // of HyperTransport, MHz
  DataSize window{512 << 20};
  Time power_up{0};
  // Where units of the interface are, for what is below and for the port's host; 0: nowhere.
  std::uint64_t registers = 0, messages = 0, rdma = 0;
  bool device_ports = false;
};

enum class BridgeKind : std::uint8_t { RootPort, Switch, ChainHost, ChainBridge };

/// Of a kind of device that is one of these; nullptr where it is none.
const BridgeKind* bridge_kind(const std::string& device_kind);

class Bridge : public Device, public ExpressPlace {
 public:
  Bridge(const Slot& slot, const BridgeParameters& parameters, BridgeKind kind)
      : Device(slot), parameters_(parameters), kind_(kind) {}

  const BridgeParameters& parameters() const { return parameters_; }
  BridgeKind kind() const { return kind_; }
  bool is_root() const { return kind_ == BridgeKind::RootPort || kind_ == BridgeKind::ChainHost; }
  const std::string& under() const override { return parameters_.under; }
  pcie::LinkParameters link() const override {
    return {parameters_.generation, parameters_.width,
            static_cast<std::uint32_t>(parameters_.max_payload.value), parameters_.latency,
            parameters_.clock};
  }
  std::uint64_t read_register(std::uint64_t) override { return kNoRegister; }
  void write_register(std::uint64_t, std::uint64_t) override {}

 private:
  void act(std::uint32_t, std::uint64_t) override {}

  BridgeParameters parameters_;
  BridgeKind kind_;
};

}  // namespace weft::node
