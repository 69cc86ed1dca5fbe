// A kind of device: its parameters and how to make one. Each kind registers itself from its own file; see
// CONTRIBUTING.md for the whole of one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/registry.hpp"

namespace weft::node {

class Device;
struct Slot;

struct DeviceKind {
  ~DeviceKind();
  std::string name, about;
  config::Section section;
  std::function<std::unique_ptr<Device>(const void* parameters, const Slot& slot)> make;
};

using DeviceKinds = config::Registry<DeviceKind>;

/// A device as a description has it: [node.device.NAME].
struct DeviceDescription {
  std::string name;
  const DeviceKind* kind = nullptr;
  std::shared_ptr<void> parameters;
};

/// A name must fit into the registers it is looked up by.
inline constexpr std::size_t kLongestDeviceName = 31;
/// Every node has one of these: its network interface.
inline constexpr const char* kNicDevice = "nic";

/// Gives a kind's functions the type of its parameters.
template <class P>
DeviceKind device_kind(std::string name, std::string about, config::Section section,
                       std::unique_ptr<Device> (*make)(const P&, const Slot&)) {
  return {std::move(name), std::move(about), std::move(section),
          [make](const void* p, const Slot& slot) { return make(*static_cast<const P*>(p), slot); }};
}

}  // namespace weft::node

WEFT_DECLARE_REGISTRY(weft::node::DeviceKind);
