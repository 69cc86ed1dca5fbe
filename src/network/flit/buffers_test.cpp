#include "network/flit/buffers.hpp"

#include <gmock/gmock.h>

#include "network/flit/engine.hpp"

namespace weft::network::flit {
namespace {

using testing::HasSubstr;

/// Endpoint 0 of two sends to the other, as fast as it can.
class Stream : public Traffic {
 public:
  explicit Stream(std::uint16_t flits) : flits_(flits) {}
  Cycle first(EndpointId source) override { return source == 0 ? 0 : kNever; }
  bool create(EndpointId, Cycle now, NewPacket& packet, Cycle& next) override {
    packet.destination = 1;
    packet.flits = flits_;
    next = now + flits_;
    return true;
  }

 private:
  std::uint16_t flits_;
};

class Count : public Observer {
 public:
  void delivered(const Delivery& delivery) override { flits += delivery.flits; }
  std::uint64_t flits = 0;
};

machine::Machine two_routers(const std::vector<std::string>& settings) {
  return machine::build(
      machine::describe_text("[topology]\nkind = \"mesh\"\ndims = [2]\n[routing]\nkind = "
                             "\"dimension-order\"\n[router]\nchannels = 1\n"
                             "flit = \"16B\"\nlatency = \"60ns\"\n[cable.default]\nlanes = 1\nlane_rate = "
                             "\"20Gbps\"\ncoding = \"none\"\n"
                             "length = \"10m\"\n",
                             "test", settings));
}

/// Flits per cycle over the cable, of what it can carry.
double throughput(const machine::Machine& m, std::uint16_t packet) {
  Settings s = settings_for(m, packet);
  Engine engine(*m.graph, *m.routing, s);
  Stream stream(packet);
  Count count;
  engine.run(stream, {&count}, 10'000);
  std::uint64_t before = count.flits;
  engine.run(stream, {&count}, 210'000);
  return static_cast<double>(count.flits - before) / 200'000 * s.cable_interval[0] / 256;
}

TEST(Buffers, RoundTripIsWhatAFullRateTakes) {
  // Packets of one flit on four channels, which hides that a packet waits for the one before it on its
  // channel.
  for (const char* length : {"1m", "10m", "60m"}) {
    std::string cable = std::string("cable.default.length=") + length;
    auto with = [&](unsigned flits) {
      return two_routers({cable, "router.channels=4", "router.switching=wormhole",
                          "router.buffer_flits=" + std::to_string(flits)});
    };
    const unsigned trip = cable_buffers(with(8)).front().round_trip_flits;
    for (unsigned flits : {trip / 8, trip / 5}) {
      EXPECT_NEAR(throughput(with(flits), 1), 4.0 * flits / trip, 0.01)
          << length << ", " << flits << " flits";
      EXPECT_NEAR(cable_buffers(with(flits)).front().all_channels(), 4.0 * flits / trip, 1e-9);
    }
    EXPECT_NEAR(throughput(with(trip / 4 + 2), 1), 1, 0.002) << length;
  }
}

TEST(Buffers, AutoKeepsCablesOfAnyLengthAndRateBusy) {
  for (const char* cable : {"cable.default.length=1m", "cable.default.length=100m", "router.latency=400ns"})
    for (std::uint16_t packet : {1, 4, 18, 40})
      for (const char* switching : {"router.switching=wormhole", "router.switching=cut-through"})
        EXPECT_GT(throughput(two_routers({cable, switching}), packet), 0.98 * packet / (packet + 3))
            << cable << ", " << switching << ", packets of " << packet;
}

TEST(Buffers, AutoFollowsTheCableAndNumbersDoNot) {
  auto own = [](const std::vector<std::string>& settings) {
    return cable_buffers(two_routers(settings)).front().own_flits;
  };
  EXPECT_GT(own({"cable.default.length=100m"}), own({}) + 100);
  EXPECT_GT(own({"nic.payload=4KiB"}), own({}) + 200) << "room for a packet of the interface";
  EXPECT_EQ(own({"router.buffer_flits=24", "cable.default.length=100m"}), 24u);
}

TEST(Buffers, AreCalledShortInNumbers) {
  auto short_ones = cable_buffers(two_routers({"router.buffer_flits=16"}));
  ASSERT_EQ(short_ones.size(), 1u);
  const CableBuffers& b = short_ones.front();
  EXPECT_NEAR(b.one_channel(), 16.0 / b.round_trip_flits, 1e-9);
  auto warnings = buffer_warnings(short_ones);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings.front(),
              HasSubstr("16 flits for a credit round trip of " + std::to_string(b.round_trip_flits)));
  EXPECT_TRUE(buffer_warnings(cable_buffers(two_routers({}))).empty());
}

}  // namespace
}  // namespace weft::network::flit
