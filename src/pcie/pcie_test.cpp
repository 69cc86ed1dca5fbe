// Packets as bytes and back, rates, configuration space, and trees: what enumeration finds and how requests
// are routed.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.hpp"
#include "pcie/requester.hpp"
#include "pcie/tree.hpp"

namespace weft::pcie {
namespace {

TEST(PcieLink, RatesAreThoseOfTheStandard) {
  EXPECT_EQ(rate_of(1, 1).value, 2'000'000'000);
  EXPECT_EQ(rate_of(2, 8).value, 32'000'000'000);
  EXPECT_EQ(rate_of(3, 16).value, 126'030'769'230);
  EXPECT_EQ(rate_of(4, 4).value, 63'015'384'615);
  EXPECT_EQ(rate_of(5, 16).value, 504'123'076'923);
}

TEST(PcieLink, StopsWithoutCreditsAndGoesOnWithThem) {
  Credits few;
  few.headers = {1, 1, 1};
  few.data = {16, 16, 16};
  const LinkParameters link{1, 1, 256, Time{1000}};
  Line wires(link);
  Direction line(link, {&wires}, link.latency, few);
  Tlp write{.kind = TlpKind::MemoryWrite, .address = 0x1000, .bytes = 256};
  Tlp read{.kind = TlpKind::MemoryRead, .address = 0x1000, .bytes = 4};
  ASSERT_TRUE(line.has_credits(write));
  // 12 bytes of header, 256 of data and 8 of framing at two bits in a nanosecond.
  EXPECT_EQ(line.send(Time{0}, write).value, 276 * 4000 + 1000);
  EXPECT_FALSE(line.has_credits(write));
  EXPECT_TRUE(line.has_credits(read)) << "other classes have their own";
  line.give_back(write);
  EXPECT_TRUE(line.has_credits(write));
}

/// Any packet that can be.
Tlp random_tlp(std::uint64_t seed) {
  auto draw = [&, n = 0u](std::uint64_t limit) mutable { return random_bits(seed, 7, n++) % limit; };
  Tlp t;
  t.kind = static_cast<TlpKind>(draw(8));
  t.tag = static_cast<std::uint8_t>(draw(256));
  t.requester = FunctionId(static_cast<std::uint16_t>(draw(65'536)));
  if (t.is_config()) {
    t.target = FunctionId(static_cast<std::uint16_t>(draw(65'536)));
    t.register_ = static_cast<std::uint16_t>(draw(4096));
    t.bytes = static_cast<std::uint32_t>(1 + draw(4 - t.register_ % 4));
  } else if (t.is_completion()) {
    t.completer = FunctionId(static_cast<std::uint16_t>(draw(65'536)));
    t.address = draw(128);
    t.bytes = t.kind == TlpKind::Completion ? 0 : static_cast<std::uint32_t>(1 + draw(4096 - 128));
    t.bytes_left = t.bytes ? t.bytes : 4;
    if (!t.bytes) t.status = draw(2) ? CompletionStatus::Unsupported : CompletionStatus::Abort;
  } else {
    t.address = draw(2) ? draw(1ull << 32) : (1 + draw(1ull << 20)) << 32 | draw(1ull << 32);
    t.bytes = next_piece(t.address, 1 + draw(4096), 4096);
  }
  return t;
}

TEST(PcieTlp, EveryPacketComesBackFromItsBytes) {
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    const Tlp tlp = random_tlp(seed);
    std::vector<std::uint8_t> data(tlp.has_data() ? tlp.bytes : 0), bytes;
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::uint8_t>(random_bits(seed, 8, i));
    encode(tlp, data, bytes);
    ASSERT_EQ(bytes.size(), tlp.wire_bytes());
    const Decoded decoded = decode(bytes);
    ASSERT_EQ(decoded.error, nullptr) << text_of(tlp);
    ASSERT_EQ(decoded.tlp, tlp) << text_of(tlp) << " became " << text_of(decoded.tlp);
    ASSERT_TRUE(std::equal(data.begin(), data.end(), decoded.data.begin(), decoded.data.end()));
  }
}

TEST(PcieTlp, TheBytesAreThoseOfTheStandard) {
  std::vector<std::uint8_t> bytes;
  // Four bytes at 0xfdaff040 by 01:00.0 with tag 2.
  encode({.kind = TlpKind::MemoryWrite, .requester = {1, 0, 0}, .tag = 2, .address = 0xfdaff040, .bytes = 4},
         std::array<std::uint8_t, 4>{0x12, 0x34, 0x56, 0x78}, bytes);
  EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0x40, 0, 0, 1, 1, 0, 2, 0x0f, 0xfd, 0xaf, 0xf0, 0x40, 0x12,
                                              0x34, 0x56, 0x78}));
}

TEST(PcieTlp, WhatIsNoPacketIsRefused) {
  std::vector<std::uint8_t> bytes;
  encode({.kind = TlpKind::MemoryRead, .address = 0x1000, .bytes = 64}, {}, bytes);
  auto with = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::uint8_t> other = bytes;
    other[at] = value;
    return decode(other).error;
  };
  EXPECT_STREQ(decode(std::span(bytes).first(11)).error, "shorter than a header");
  EXPECT_STREQ(with(0, 0x1f), "no such type");
  EXPECT_STREQ(with(0, 0x40), "not as long as it says");
  EXPECT_STREQ(with(7, 0xf5), "enables that leave bytes out");
  EXPECT_STREQ(with(10, 0x1f), nullptr);
  EXPECT_STREQ(with(11, 0xfd), "an address that is no word's");
  bytes.clear();
  encode({.kind = TlpKind::MemoryRead, .address = 0x1fc0, .bytes = 64}, {}, bytes);
  EXPECT_STREQ(with(11, 0xc0), nullptr);
  EXPECT_STREQ(with(11, 0xc4), "an access over the boundary of a page");
}

TEST(PcieTlp, CompletionsEndAtTheBoundary) {
  // 300 bytes from 0x30 on, packets of at most 128: 0x30 to 0x80, then whole pieces, then the rest.
  std::vector<std::uint32_t> pieces;
  for (std::uint32_t done = 0; done < 300;) {
    pieces.push_back(next_completion(0x30 + done, 300 - done, 128, 64));
    done += pieces.back();
    if (done < 300) EXPECT_EQ((0x30 + done) % 64, 0u);
  }
  EXPECT_EQ(pieces, (std::vector<std::uint32_t>{80, 128, 92}));
}

class Plain final : public Function {
 public:
  explicit Plain(const std::vector<Bar>& bars, std::uint32_t payload = 512)
      : Function(ConfigSpace::device({0x1234, 0x5678, 0x120000}, bars)), link{3, 4, payload, Time{0}} {}
  const LinkParameters link;
  std::string about() const override { return "plain"; }
  void bar_read(unsigned, std::uint64_t, std::span<std::uint8_t>) override {}
  void bar_write(unsigned, std::uint64_t, std::span<const std::uint8_t>) override {}
  void completed(const Tlp&, std::span<const std::uint8_t>) override {}
  void reset() override {}
};

TEST(PcieConfig, ABarSaysItsSizeWhenOnesAreWritten) {
  Plain device({{0x4000, true, false}, {}, {0x100000, false, true}});
  ConfigSpace& space = device.config();
  space.write(kBar0, 4, ~0u);
  space.write(kBar0 + 4, 4, ~0u);
  EXPECT_EQ(space.read(kBar0, 4), 0xffffc004u);
  EXPECT_EQ(space.read(kBar0 + 4, 4), ~0u);
  space.write(kBar0 + 8, 4, ~0u);
  EXPECT_EQ(space.read(kBar0 + 8, 4), 0xfff00008u);
  EXPECT_EQ(space.read(kBar0 + 12, 4), 0u);
  space.write(kVendor, 4, 0);
  EXPECT_EQ(space.read(kVendor, 4), 0x56781234u) << "what cannot be written stays";
}

/// Root port - switch - three devices, one of them with small packets.
struct Rig {
  Plain first{{{0x4000, true, false}}}, second{{{0x1000000, false, true}, {0x1000, false, false}}},
      third{{{0x100, false, false}}, 128};
  Tree tree;
  std::vector<Found> found;
  std::string error;

  explicit Rig(std::uint64_t window = 0x10000000) {
    const LinkParameters link{3, 16, 256, Time{100}};
    const std::size_t root = tree.add_root_port("root", link);
    const std::size_t ports = tree.add_switch("switch", root, 3, link);
    tree.add_function("a", tree.free_port(ports), first, first.link);
    tree.add_function("b", tree.free_port(ports), second, second.link);
    tree.add_function("c", tree.free_port(ports), third, third.link);
    found = enumerate(access_to(tree), 0xe0000000, window, error);
  }
};

TEST(PcieTree, EnumerationNumbersBusesDepthFirst) {
  Rig rig;
  EXPECT_EQ(rig.error, "");
  ASSERT_EQ(rig.found.size(), 8u);
  std::vector<std::string> ids;
  for (const Found& one : rig.found)
    ids.push_back(std::to_string(one.id.bus()) + ":" + std::to_string(one.id.device()));
  EXPECT_EQ(ids, (std::vector<std::string>{"0:0", "1:0", "2:0", "3:0", "2:1", "4:0", "2:2", "5:0"}));
  EXPECT_EQ(rig.found[0].subordinate, 5u);
  EXPECT_EQ(tree_text(0, rig.found, [](FunctionId) { return "device"; }),
            "-[0000:00]---00.0-[01-05]----00.0-[02-05]--+-00.0-[03]----00.0  device\n"
            "                                           +-01.0-[04]----00.0  device\n"
            "                                           \\-02.0-[05]----00.0  device\n");
}

TEST(PcieTree, MemoryIsFoundThroughWindowsAndNowhereElse) {
  Rig rig;
  for (const Found& one : rig.found)
    for (unsigned bar = 0; bar < one.bars.size(); ++bar) {
      auto [address, size] = one.bars[bar];
      if (!size) continue;
      EXPECT_EQ(address % size, 0u);
      const Tree::Target inside = rig.tree.find_memory(address + size - 4, 4);
      ASSERT_NE(inside.place, Tree::kNone);
      EXPECT_EQ(rig.tree.find(one.id), inside.place);
      EXPECT_EQ(inside.bar, bar);
      EXPECT_EQ(inside.offset, size - 4);
      EXPECT_EQ(rig.tree.find_memory(address + size - 2, 4).place, Tree::kNone) << "over its end";
    }
  EXPECT_EQ(rig.tree.find_memory(0x1000, 4).place, Tree::kNone);
  // A bridge that is switched off lets nothing through.
  rig.tree.config_write(FunctionId(0, 0, 0), kCommand, 2, 0);
  EXPECT_EQ(rig.tree.find_memory(rig.found[3].bars[0].first, 4).place, Tree::kNone);
}

TEST(PcieTree, PayloadsAreTheLeastOfThePath) {
  Rig rig;
  EXPECT_EQ(payload_of(rig.first.config()), 128u) << "the third device takes no more";
  EXPECT_EQ(rig.tree.path(rig.tree.find(rig.found[3].id)).latency.value, 200);
}

TEST(PcieTree, BusesOutOfRangeAreDropped) {
  Rig rig;
  EXPECT_EQ(rig.tree.find(FunctionId(6, 0, 0)), Tree::kNone);
  EXPECT_EQ(rig.tree.find(FunctionId(2, 3, 0)), Tree::kNone);
  EXPECT_EQ(rig.tree.config_read(FunctionId(6, 0, 0), kVendor, 4), ~0u);
  EXPECT_FALSE(rig.tree.config_write(FunctionId(6, 0, 0), kCommand, 2, 6));
}

TEST(PcieTree, ABarThatDoesNotFitIsTold) {
  Rig rig(0x800000);
  EXPECT_EQ(rig.error, "BAR 0 of 04:00.0 wants 16,777,216 and the window has 0 left");
}

/// Memory that answers at once, but not in order.
struct Answerer : Requester::Owner {
  Requester requester{*this, 4};
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(65'536);
  std::vector<Tlp> open;
  std::vector<Tlp> writes;
  unsigned done = 0, failed = 0;

  void send_request(const Tlp& tlp, std::span<const std::uint8_t>) override {
    (tlp.kind == TlpKind::MemoryRead ? open : writes).push_back(tlp);
  }
  void read_done(std::uint32_t, bool well) override { ++(well ? done : failed); }
  void answer_last() {
    const Tlp request = open.back();
    open.pop_back();
    for (std::uint32_t at = 0; at < request.bytes;) {
      const std::uint32_t piece = next_completion(request.address + at, request.bytes - at, 128, 64);
      requester.completed(completion_of(request, {}, at, piece),
                          std::span(memory).subspan(request.address + at, piece));
      at += piece;
    }
  }
};

TEST(PcieRequester, ReadsComeTogetherInAnyOrderWithFewTags) {
  Answerer rig;
  for (std::size_t i = 0; i < rig.memory.size(); ++i)
    rig.memory[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
  rig.requester.set_sizes(128, 512);
  std::vector<std::uint8_t> to(10'000);
  const std::uint32_t requests = rig.requester.read(0x123, to.data(), 10'000, 0);
  EXPECT_EQ(rig.open.size(), 4u) << "no more than there are tags";
  while (!rig.open.empty()) rig.answer_last();
  EXPECT_EQ(rig.done, requests);
  EXPECT_TRUE(std::equal(to.begin(), to.end(), rig.memory.begin() + 0x123));
}

TEST(PcieRequester, FailuresAndForeignCompletionsAreToldOrDropped) {
  Answerer rig;
  std::vector<std::uint8_t> to(64);
  rig.requester.read(0, to.data(), 64, 0);
  const Tlp request = rig.open[0];
  Tlp other = completion_of(request, {}, 0, 64);
  other.tag = static_cast<std::uint8_t>(request.tag ^ 1);
  rig.requester.completed(other, std::span(rig.memory).first(64));
  EXPECT_EQ(rig.done + rig.failed, 0u);
  std::vector<std::uint8_t> much(65);
  rig.requester.completed(completion_of(request, {}, 0, 64), much);
  EXPECT_EQ(rig.failed, 1u) << "more than was asked for";
  rig.requester.completed(failure_of(request, {}, CompletionStatus::Unsupported), {});
  EXPECT_EQ(rig.failed, 1u) << "its tag is free";
}

}  // namespace
}  // namespace weft::pcie
