#include "machine/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace weft::machine {

using config::Node;
using config::Table;

namespace {

struct Placement {
  std::vector<std::uint32_t> nodes;
};

constexpr std::size_t kMostDevices = 32;

/// Why a device cannot be called so; empty where it can.
std::string name_problem(const std::string& name) {
  if (name == node::kNicDevice) return "is the name of the network interface, which every node has";
  if (name.empty() || name.size() > node::kLongestDeviceName)
    return fmt::format("a device's name has 1 to {} characters", node::kLongestDeviceName);
  return "";
}

void read_placement(const Node& section, const std::string& path, double endpoints, config::Reader& reader,
                    Device& device) {
  std::vector<std::string> others;
  for (const auto& [key, value] : section.table()->entries)
    if (key != "nodes") others.push_back(key);
  Placement placement;
  device_section().read(&placement, &section, path, reader, others);
  device.nodes = placement.nodes;
  const Node* nodes = section.table()->find("nodes");
  if (!nodes) return;
  if (device.nodes.empty())
    reader.problems.add(nodes->origin, path + ".nodes",
                        "names no node the device could sit on; without the key, every node has one");
  for (std::uint32_t node : device.nodes)
    if (endpoints >= 0 && node >= endpoints) {
      reader.problems.add(nodes->origin, path + ".nodes",
                          fmt::format("there is no node {} to sit on; the machine has {}, from 0", node,
                                      with_commas(static_cast<std::uint64_t>(endpoints))));
      break;
    }
}

void read_device(const std::string& name, const Node& section, double endpoints, config::Reader& reader,
                 std::vector<Device>& out) {
  const std::string path = "node.device." + name;
  if (!section.table()) {
    reader.problems.add(section.origin, path, fmt::format("expected a section, [{}]", path));
    return;
  }
  if (std::string problem = name_problem(name); !problem.empty())
    reader.problems.add(section.origin, path, problem);
  Device device;
  device.name = name;
  auto kinds = node::DeviceKinds::names();
  const Node* kind = section.table()->find("kind");
  if (!kind) {
    reader.problems.add(section.origin, path + ".kind",
                        fmt::format("is missing; expected one of {}", join(kinds, ", ")));
  } else if (device.kind = kind->string() ? node::DeviceKinds::find(*kind->string()) : nullptr;
             !device.kind) {
    reader.problems.add(kind->origin, path + ".kind",
                        fmt::format("expected one of {}, got {}{}", join(kinds, ", "), kind->text(),
                                    kind->string() ? did_you_mean(*kind->string(), kinds) : ""));
  } else {
    reader.settings.push_back({path + ".kind", config::quote(device.kind->name), kind->origin});
    device.parameters = device.kind->section.make();
    device.kind->section.read(device.parameters.get(), &section, path, reader, {"kind", "nodes"});
  }
  read_placement(section, path, endpoints, reader, device);
  out.push_back(std::move(device));
}

}  // namespace

bool Device::sits_on(std::uint32_t node) const {
  return nodes.empty() || std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

const config::Section& device_section() {
  static const config::Section section =
      config::Schema<Placement>()
          .field(&Placement::nodes, "nodes", "Nodes that have the device, by number; left out: every node")
          .section();
  return section;
}

void read_devices(const Table& root, double endpoints, config::Reader& reader, std::vector<Device>& out) {
  const char* form = "expected sections such as [node.device.copy]";
  const Node* node = root.find("node");
  if (!node) return;
  if (!node->table()) return reader.problems.add(node->origin, "node", form);
  const Node* devices = nullptr;
  for (const auto& [key, value] : node->table()->entries) {
    if (key == "device") {
      devices = &value;
    } else {
      reader.problems.add(
          value.origin, "node." + key,
          fmt::format("unknown key{}; {}", did_you_mean(key, std::vector<std::string>{"device"}), form));
    }
  }
  if (!devices) return;
  if (!devices->table()) return reader.problems.add(devices->origin, "node.device", form);
  if (devices->table()->entries.size() > kMostDevices)
    return reader.problems.add(devices->origin, "node.device",
                               fmt::format("has {} devices; a node may have {}",
                                           with_commas(devices->table()->entries.size()), kMostDevices));
  for (const auto& [name, section] : devices->table()->entries)
    read_device(name, section, endpoints, reader, out);
}

}  // namespace weft::machine
