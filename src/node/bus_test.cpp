#include "node/bus.hpp"

#include <gtest/gtest.h>

#include "machine/nic_parameters.hpp"

namespace weft::node {
namespace {

machine::HostParameters pcie() {
  machine::HostParameters h;
  h.bus = machine::Bus::PcieGen3x16;
  h.bus_payload = {128};
  h.read_request = {256};
  h.tags = 1024;
  return h;
}

/// Bytes on a line of PCIe Gen3 x16.
double ns(double bytes) { return bytes * 8 / 126.030769230; }

TEST(Bus, AWriteDoesNotWaitForWhatMemoryStillOwes) {
  Bus bus(pcie().bus_parameters());
  Time data = bus.from_memory({0}, 4096);
  Time doorbell = bus.to_device({0}, 8);
  EXPECT_GT(data, Time{200'000});
  // It waits for the line, which carries the data in its turn, and not for the memory's latency.
  EXPECT_NEAR(static_cast<double>(doorbell.value) * 1e-3, ns(4096 + 32 * 26) + ns(8 + 26) + 150, 3);
}

TEST(Bus, ReadsAndWritesTogetherGetWhatIsLeft) {
  // Both ways at once: the line up carries written data, requests for data to send and acknowledgements.
  Bus bus(pcie().bus_parameters());
  Time last{0};
  constexpr int kPackets = 4000;
  for (int i = 0; i < kPackets; ++i) {
    Time now{i * 1000};
    bus.from_memory(now, 256);
    last = bus.to_memory(now, 256);
  }
  double each = static_cast<double>((last - Time{150'000}).value) * 1e-3 / kPackets;
  EXPECT_NEAR(each, ns(2 * (128 + 26) + 26 + 2 * 8), 0.2);
}

TEST(Bus, AnIdleLineTakesAcknowledgementsForNothing) {
  Bus bus(pcie().bus_parameters());
  bus.to_memory({0}, 256);
  EXPECT_EQ(bus.to_device({1'000'000}, 8), Bus(pcie().bus_parameters()).to_device({1'000'000}, 8));
}

// F80: stores to one line leave as one transaction; each alone pays for its own frame.
TEST(Bus, CombinedStoresShareATransaction) {
  machine::HostParameters h;
  h.bus = machine::Bus::HyperTransport800x16;
  h.bus_payload = {64};
  auto line_time = [&](std::int64_t combining, std::int64_t bytes) {
    h.write_combining = {combining};
    Bus bus(h.bus_parameters());
    return bus.to_device(Time{0}, bytes) - h.write_latency;
  };
  auto expected = [&](std::int64_t bytes, std::int64_t transactions) {
    std::int64_t all = bytes + transactions * h.bus_overhead();
    return Time{
        static_cast<std::int64_t>(static_cast<__int128>(all) * 8 * 1'000'000'000'000 / h.bus_rate().value)};
  };
  EXPECT_EQ(line_time(64, 64), expected(64, 1));
  EXPECT_EQ(line_time(8, 64), expected(64, 8));
  EXPECT_EQ(line_time(64, 65), expected(65, 2));
  EXPECT_EQ(line_time(0, 64), line_time(64, 64));
}

}  // namespace
}  // namespace weft::node
