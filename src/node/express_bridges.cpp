// Root ports and switches of PCI Express, as kinds of devices.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/device.hpp"
#include "node/express_kind.hpp"
#include "node/kind.hpp"

namespace weft::node {

namespace {

using P = BridgeParameters;
constexpr std::uint64_t kUnitWindow = std::uint64_t{1} << 40;
using config::Range;

config::Schema<P> link_keys() {
  return config::Schema<P>()
      .field(&P::generation, "generation", "Of its link: of a root port downwards, of a switch all of them",
             Range<unsigned>{1, 5})
      .field(&P::width, "width", "Lanes of that link", Range<unsigned>{1, 16})
      .field(&P::max_payload, "max_payload", "Most data of a packet", Range<DataSize>{{128}, {4096}})
      .field(&P::latency, "latency", "What link and bridge take for a packet",
             Range<Time>{{0}, {1'000'000'000}})
      .check([](const P& p, const config::Complain& complain) {
        if (std::find(pcie::kWidths.begin(), pcie::kWidths.end(), p.width) == pcie::kWidths.end())
          complain("width", "expected 1, 2, 4, 8, 12 or 16");
        if (p.max_payload.value & (p.max_payload.value - 1))
          complain("max_payload", "expected a power of two");
      });
}

constexpr Range<std::uint64_t> kUnits{0, std::uint64_t{0x7fffff} << 40};

void check_units(const P& p, const config::Complain& complain) {
  const std::pair<const char*, std::uint64_t> units[] = {
      {"registers", p.registers}, {"messages", p.messages}, {"rdma", p.rdma}};
  for (const auto& [key, first] : units) {
    if (first % kUnitWindow) complain(key, "expected a multiple of 2^40, such as 0x10000000000");
    for (const auto& [other, there] : units) {
      if (other == key) break;
      if (first != 0 && first == there) complain(key, fmt::format("'{}' is at this address", other));
    }
  }
}

std::unique_ptr<Device> make_root(const P& p, const Slot& slot) {
  return std::make_unique<Bridge>(slot, p, true);
}
std::unique_ptr<Device> make_switch(const P& p, const Slot& slot) {
  return std::make_unique<Bridge>(slot, p, false);
}

WEFT_REGISTER(
    DeviceKind,
    device_kind<P>("pcie-root-port", "a root port of PCI Express, which the node's interface is",
                   link_keys()
                       .field(&P::window, "window", "Addresses it passes on to below",
                              Range<DataSize>{{4096}, {1023 << 20}})
                       .field(&P::registers, "registers",
                              "The address at which devices below, the port's host and the node's own "
                              "processor reach the register file of the interface, 2^40 bytes: a multiple "
                              "of that; 0: nowhere",
                              kUnits)
                       .field(&P::messages, "messages",
                              "The same for the pages into which small messages are stored, 4 KiB for each "
                              "port",
                              kUnits)
                       .field(&P::rdma, "rdma", "The same for those of puts, gets and atomics", kUnits)
                       .field(&P::device_ports, "device_ports",
                              "Each function below has a port of the interface from the start, in their "
                              "order, to post by such stores")
                       .field(&P::power_up, "power_up",
                              "From the start until power is stable below it; a reset of 100 ms "
                              "follows, as PCI Express wants, and nothing there answers before it is "
                              "over; 0: all is up when the machine starts",
                              Range<Time>{{0}, {3'600'000'000'000'000}})
                       .check(check_units)
                       .section(),
                   make_root));
WEFT_REGISTER(DeviceKind,
              device_kind<P>("pcie-switch", "a switch of PCI Express, below a root port or another switch",
                             link_keys()
                                 .field(&P::under, "under",
                                        "The root port or switch it is below; left out: the "
                                        "only root port")
                                 .field(&P::ports, "ports", "Ports downwards", Range<unsigned>{1, 32})
                                 .section(),
                             make_switch));

}  // namespace

}  // namespace weft::node
