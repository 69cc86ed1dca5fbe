// The interface as a device of its node: registers that say what it is and what it has done. Work is posted
// in the windows of its ports (submission.hpp), which are memory and no registers.
#pragma once

#include "nic/host.hpp"
#include "node/device.hpp"

namespace weft::nic {

class NicDevice final : public node::Device {
 public:
  enum Register : std::uint64_t {
    kEndpoint = 0,
    kPorts = 8,
    kPacketsSent = 16,
    kPacketsReceived = 24,
    kFailed = 32
  };

  NicDevice(const node::Slot& slot, unsigned ports, const Counters& counters)
      : Device(slot), ports_(ports), counters_(counters) {}

  std::uint64_t read_register(std::uint64_t offset) override {
    switch (offset) {
      case kEndpoint:
        return node();
      case kPorts:
        return ports_;
      case kPacketsSent:
        return counters_.packets_sent;
      case kPacketsReceived:
        return counters_.packets_received;
      case kFailed:
        return counters_.failed;
      default:
        return node::kNoRegister;
    }
  }
  void write_register(std::uint64_t, std::uint64_t) override {}  // all of them are read only

 private:
  void act(std::uint32_t, std::uint64_t) override {}  // its events are the fabric's

  unsigned ports_;
  const Counters& counters_;
};

}  // namespace weft::nic
