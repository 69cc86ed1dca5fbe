// Root ports and switches of PCI Express, and hosts of chains of HyperTransport, as kinds of devices.
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

/// Of roots of both buses.
template <class R>
config::Schema<R>&& root_keys(config::Schema<R>&& schema) {
  return std::move(schema)
      .template field<DataSize>(&P::window, "window", "Addresses it passes on to below",
                                Range<DataSize>{{4096}, {1023 << 20}})
      .template field<std::uint64_t>(&P::registers, "registers",
                                     "The address at which devices below, the port's host and the node's own "
                                     "processor reach the register "
                                     "file of the interface, 2^40 bytes: a multiple of that; 0: nowhere",
                                     kUnits)
      .template field<std::uint64_t>(
          &P::messages, "messages",
          "The same for the pages into which small messages are stored, 4 KiB for each port", kUnits)
      .template field<std::uint64_t>(&P::rdma, "rdma", "The same for those of puts, gets and atomics", kUnits)
      .template field<bool>(
          &P::device_ports, "device_ports",
          "Each function below has a port of the interface from the start, in their order, to "
          "post by such stores")
      .template field<Time>(
          &P::power_up, "power_up",
          "From the start until power is stable below it; a reset of 100 ms follows, as PCI "
          "Express wants, and nothing there answers before it is over; 0: all is up when the "
          "machine starts",
          Range<Time>{{0}, {3'600'000'000'000'000}})
      .check(check_units);
}

/// Plain HyperTransport, as a processor of the time has it.
struct ChainHost : BridgeParameters {
  ChainHost() {
    clock = 800;
    latency = {50'000};
  }
};

void check_chain(const ChainHost& p, const config::Complain& complain) {
  std::string clocks, widths;
  for (const auto& known : pcie::hyper_transport::kClocks)
    clocks += fmt::format("{}{}", clocks.empty() ? "" : ", ", known.megahertz);
  for (unsigned known : pcie::hyper_transport::kWidths)
    widths += fmt::format("{}{}", widths.empty() ? "" : ", ", known);
  if (!pcie::hyper_transport::clock_of(p.clock)) complain("clock", "expected one of " + clocks);
  if (std::find(pcie::hyper_transport::kWidths.begin(), pcie::hyper_transport::kWidths.end(), p.width) ==
      pcie::hyper_transport::kWidths.end())
    complain("width", "expected one of " + widths);
}

struct KindName {
  const char* name;
  BridgeKind kind;
};
constexpr KindName kKinds[] = {{"pcie-root-port", BridgeKind::RootPort},
                               {"pcie-switch", BridgeKind::Switch},
                               {"hypertransport-host", BridgeKind::ChainHost},
                               {"hypertransport-bridge", BridgeKind::ChainBridge}};

template <class R, BridgeKind kKind>
std::unique_ptr<Device> make(const R& p, const Slot& slot) {
  return std::make_unique<Bridge>(slot, p, kKind);
}

WEFT_REGISTER(DeviceKind,
              device_kind<P>("pcie-root-port", "a root port of PCI Express, which the node's interface is",
                             root_keys(link_keys()).section(), make<P, BridgeKind::RootPort>));
WEFT_REGISTER(DeviceKind,
              device_kind<P>("pcie-switch", "a switch of PCI Express, below a root port or another switch",
                             link_keys()
                                 .field(&P::under, "under",
                                        "The root port or switch it is below; left out: the only root port")
                                 .field(&P::ports, "ports", "Ports downwards", Range<unsigned>{1, 32})
                                 .section(),
                             make<P, BridgeKind::Switch>));
WEFT_REGISTER(DeviceKind,
              device_kind<ChainHost>(
                  "hypertransport-host",
                  "the host of a chain of HyperTransport, which the node's interface is: devices below it "
                  "follow each other",
                  root_keys(config::Schema<ChainHost>()
                                .field<unsigned>(&P::clock, "clock", "Of its links, in MHz: from 200 to 2600",
                                                 Range<unsigned>{200, 2600})
                                .field<unsigned>(&P::width, "width", "Bits of a link each way",
                                                 Range<unsigned>{2, 32})
                                .field<Time>(&P::latency, "latency",
                                             "What a link and the chip before it take for a packet",
                                             Range<Time>{{0}, {1'000'000'000}})
                                .check(check_chain))
                      .section(),
                  make<ChainHost, BridgeKind::ChainHost>));
WEFT_REGISTER(DeviceKind,
              device_kind<P>("hypertransport-bridge",
                             "a unit of a chain of HyperTransport that is a root port of PCI Express",
                             link_keys()
                                 .field(&P::under, "under",
                                        "The host whose chain it is in; left out: the only host")
                                 .section(),
                             make<P, BridgeKind::ChainBridge>));

}  // namespace

const BridgeKind* bridge_kind(const std::string& device_kind) {
  for (const KindName& known : kKinds)
    if (device_kind == known.name) return &known.kind;
  return nullptr;
}

}  // namespace weft::node
