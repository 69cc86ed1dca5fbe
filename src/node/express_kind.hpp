// Devices that are functions of PCI Express as well, and can be used from another node; and what they hang
// below: root ports and switches, which are described like devices.
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

/// What a description says of a place in a node's tree, beside its link: the bridge it is below. Empty: the
/// node's only root port.
class ExpressPlace {
 public:
  virtual ~ExpressPlace() = default;
  virtual const std::string& under() const = 0;
};

struct BridgeParameters {
  std::string under;
  unsigned generation = 3, width = 16, ports = 4;
  DataSize max_payload{256};
  Time latency{150'000};
  DataSize window{512 << 20};
  Time power_up{0};
  // Where units of the interface are, for what is below and for the port's host; 0: nowhere.
  std::uint64_t registers = 0, messages = 0, rdma = 0;
  bool device_ports = false;
};

/// A root port or a switch.
class Bridge : public Device, public ExpressPlace {
 public:
  Bridge(const Slot& slot, const BridgeParameters& parameters, bool root)
      : Device(slot), parameters_(parameters), root_(root) {}

  const BridgeParameters& parameters() const { return parameters_; }
  bool is_root() const { return root_; }
  const std::string& under() const override { return parameters_.under; }
  std::uint64_t read_register(std::uint64_t) override { return kNoRegister; }
  void write_register(std::uint64_t, std::uint64_t) override {}

 private:
  void act(std::uint32_t, std::uint64_t) override {}

  BridgeParameters parameters_;
  bool root_;
};

}  // namespace weft::node
