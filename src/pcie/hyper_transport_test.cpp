// Links and chains of HyperTransport under the interface that trees of PCI Express have: rates, packets,
// credits, numbers of units, what enumeration finds.
#include <gtest/gtest.h>

#include "pcie/requester.hpp"
#include "pcie/tree.hpp"

namespace weft::pcie {
namespace {

namespace ht = hyper_transport;

TEST(HyperTransportLink, RatesAndPacketsAreThoseOfTheStandard) {
  EXPECT_EQ(ht::rate_of(200, 8).value, 3'200'000'000);
  EXPECT_EQ(ht::rate_of(800, 16).value, 25'600'000'000);
  EXPECT_EQ(ht::rate_of(2600, 32).value, 166'400'000'000);
  auto write = [](std::uint64_t address, std::uint32_t bytes) {
    return Tlp{.kind = TlpKind::MemoryWrite, .address = address, .bytes = bytes};
  };
  EXPECT_EQ(ht::wire_bytes(write(0x1000, 64), 800), 8 + 64u);
  EXPECT_EQ(ht::wire_bytes(write(0x1000, 256), 800), 4 * (8 + 64u));
  EXPECT_EQ(ht::wire_bytes(write(0x1000, 256), 1600), 4 * (8 + 64 + 4u)) << "a check sum each";
  EXPECT_EQ(ht::wire_bytes(write(std::uint64_t{1} << 40, 4), 800), 12 + 4u);
  EXPECT_EQ(ht::wire_bytes(write(0x1001, 2), 800), 8 + 4 + 4u) << "and which bytes count";
  EXPECT_EQ(ht::packets_of(write(0x1030, 200)), 4u) << "16, 64, 64 and 56 bytes";
  const Tlp read{.kind = TlpKind::MemoryRead, .address = 0x1000, .bytes = 64};
  EXPECT_EQ(ht::wire_bytes(read, 800), 8u);
  EXPECT_EQ(ht::wire_bytes(completion_of(read, {}, 0, 64), 800), 4 + 64u);
  EXPECT_EQ(ht::wire_bytes(failure_of(read, {}, CompletionStatus::Unsupported), 800), 4u);
  EXPECT_EQ(ht::wire_bytes({.kind = TlpKind::ConfigRead0, .bytes = 4}, 800), 8u);
}

TEST(HyperTransportLink, EachPacketNeedsABufferAndTheLongestGetsThrough) {
  const LinkParameters link{.width = 8, .latency = Time{1000}, .clock = 200};
  Line wires(link);
  Direction line(link, {&wires}, link.latency, credits_of(link));
  const Tlp write{.kind = TlpKind::MemoryWrite, .address = 0x1000, .bytes = 256};
  // Four packets of 72 bytes at 3.2 bits in a nanosecond.
  EXPECT_EQ(line.send(Time{0}, write).value, 4 * 72 * 2500 + 1000);
  for (int i = 1; i < 4; ++i) {
    ASSERT_TRUE(line.has_credits(write));
    line.send(Time{0}, write);
  }
  EXPECT_FALSE(line.has_credits(write)) << "sixteen buffers are taken";
  for (int i = 0; i < 4; ++i) line.give_back(write);
  const Tlp longest{.kind = TlpKind::MemoryWrite, .address = 0x1000, .bytes = 4096};
  ASSERT_TRUE(line.has_credits(longest)) << "64 packets, sixteen at a time";
  line.send(Time{0}, longest);
  EXPECT_FALSE(line.has_credits(write));
  line.give_back(longest);
  EXPECT_TRUE(line.has_credits(longest));
}

class Plain final : public Function {
 public:
  explicit Plain(std::uint64_t bar)
      : Function(ConfigSpace::device({0x1234, 0x5678, 0x120000}, {{bar, true, false}})) {}
  std::string about() const override { return "plain"; }
  void bar_read(unsigned, std::uint64_t, std::span<std::uint8_t>) override {}
  void bar_write(unsigned, std::uint64_t, std::span<const std::uint8_t>) override {}
  void completed(const Tlp&, std::span<const std::uint8_t>) override {}
  void reset() override {}
};

/// host - a - b - [bridge to PCI Express - switch - d] - c
struct Chain {
  Plain a{0x4000}, b{0x1000000}, c{0x100}, d{0x1000};
  Tree tree;
  std::size_t host, bridge;

  Chain() {
    host = tree.add_root_port("host", {.width = 16, .latency = Time{50}, .clock = 800});
    tree.add_function("a", tree.free_port(host), a, {});
    tree.add_function("b", tree.free_port(host), b, {});
    bridge = tree.add_bridge("bridge", tree.free_port(host), {1, 4, 256, Time{100}});
    tree.add_function(
        "d", tree.free_port(tree.add_switch("switch", tree.free_port(bridge), 2, {1, 4, 256, Time{7}})), d,
        {1, 1, 128, Time{0}});
    tree.add_function("c", tree.free_port(host), c, {});
  }
  std::vector<Found> enumerate_all(std::string& error) {
    return enumerate(access_to(tree), 0xe0000000, 0x10000000, error);
  }
};

TEST(HyperTransportChain, UnitsGetTheirNumbersOneAfterTheOther) {
  Chain chain;
  Tree& tree = chain.tree;
  EXPECT_EQ(tree.free_port(chain.bridge), Tree::kNone) << "one device is below a bridge";
  // By hand: only the first without a number answers, and only as device 0.
  const FunctionId host(0, 0, 0), next(1, 0, 0);
  tree.config_write(host, kSecondaryBus, 1, 1);
  tree.config_write(host, kSubordinateBus, 1, 255);
  std::vector<std::string> order;
  for (unsigned number = 1; tree.config_read(next, kVendor, 2) != 0xffff; ++number) {
    const Tree::Place& place = tree.places()[tree.find(next)];
    order.push_back(place.name);
    EXPECT_EQ(tree.find(FunctionId(1, number, 0)), Tree::kNone);
    tree.config_write(next, *ht::find_unit(*place.space) + 2u, 2, number);
    EXPECT_EQ(tree.places()[tree.find(FunctionId(1, number, 0))].name, place.name);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "bridge", "c"}));
  // The last is the cave: its second link ends there.
  for (const char* name : {"a", "b", "bridge", "c"})
    for (const Tree::Place& place : tree.places())
      if (place.name == name)
        EXPECT_EQ(place.space->read(*ht::find_unit(*place.space) + 8u, 2), place.name == "c" ? 0x40u : 0x20u)
            << name;
}

TEST(HyperTransportChain, EnumerationFindsChainsAndWhatIsBehindTheirBridges) {
  Chain chain;
  std::string error;
  const std::vector<Found> found = chain.enumerate_all(error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(tree_text(0, found, [](FunctionId) { return "device"; }),
            "-[0000:00]---00.0-[01-05]--+-01.0  device\n"
            "                           +-02.0  device\n"
            "                           +-03.0-[02-05]----00.0-[03-05]--+-00.0-[04]----00.0  device\n"
            "                           |                               \\-01.0-[05]--\n"
            "                           \\-04.0  device\n");
  for (const Found& one : found)
    for (unsigned bar = 0; bar < one.bars.size(); ++bar)
      if (one.bars[bar].second) {
        const Tree::Target target = chain.tree.find_memory(one.bars[bar].first + 8, 4);
        EXPECT_EQ(target.place, chain.tree.find(one.id));
        EXPECT_EQ(target.offset, 8u);
      }
  // Again, as a host does that gets the port: the same.
  const std::vector<Found> again = chain.enumerate_all(error);
  ASSERT_EQ(again.size(), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(again[i].id, found[i].id);
}

TEST(HyperTransportChain, EachUnitIsALinkFurtherAndHasTheLimitsOfItsBus) {
  Chain chain;
  std::string error;
  chain.enumerate_all(error);
  auto path = [&](const std::string& name) {
    for (std::size_t i = 0; i < chain.tree.places().size(); ++i)
      if (chain.tree.places()[i].name == name) return chain.tree.path(i);
    return LinkParameters{};
  };
  EXPECT_EQ(path("a").latency, Time{50});
  EXPECT_EQ(path("b").latency, Time{100});
  EXPECT_EQ(path("c").latency, Time{200});
  EXPECT_EQ(path("d").latency, Time{3 * 50 + 100 + 7});
  EXPECT_EQ(rate_of(path("c")).value, 25'600'000'000);
  EXPECT_EQ(rate_of(path("d")).value, 2'000'000'000) << "one lane of the first generation is the slowest";
  EXPECT_EQ(payload_of(chain.a.config()), 64u);
  EXPECT_EQ(read_request_of(chain.a.config()), 64u);
  EXPECT_EQ(tags_of(chain.a.config()), 32u);
  EXPECT_EQ(payload_of(chain.d.config()), 128u);
  EXPECT_EQ(tags_of(chain.d.config()), 256u);
  EXPECT_FALSE(chain.a.config().find_capability(kCapabilityExpress));
  EXPECT_FALSE(chain.d.config().find_capability(kCapabilityHyperTransport));
}

TEST(HyperTransportChain, ThirtyOneUnitsAreAll) {
  Tree tree;
  std::vector<std::unique_ptr<Plain>> units;
  const std::size_t host = tree.add_root_port("host", {.width = 8, .clock = 200});
  while (tree.free_port(host) != Tree::kNone)
    tree.add_function("unit", host, *units.emplace_back(std::make_unique<Plain>(0x1000)), {});
  EXPECT_EQ(units.size(), 31u);
  std::string error;
  EXPECT_EQ(enumerate(access_to(tree), 0xe0000000, 0x10000000, error).size(), 32u);
}

struct Counting final : Requester::Owner {
  Requester requester{*this, 64};
  std::vector<Tlp> open;
  void send_request(const Tlp& tlp, std::span<const std::uint8_t>) override { open.push_back(tlp); }
  void read_done(std::uint32_t, bool) override {}
};

TEST(HyperTransportChain, AUnitHasThirtyTwoReadsUnderWay) {
  Counting rig;
  rig.requester.set_sizes(64, 64, 32);
  std::vector<std::uint8_t> to(4096), data(64);
  rig.requester.read(0, to.data(), 4096, 0);
  EXPECT_EQ(rig.open.size(), 32u);
  rig.requester.completed(completion_of(rig.open[5], {}, 0, 64), data);
  EXPECT_EQ(rig.open.size(), 33u);
}

}  // namespace
}  // namespace weft::pcie
