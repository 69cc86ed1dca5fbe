// What every engine owes those above it, for each engine there is.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/random.hpp"
#include "machines.hpp"

namespace weft::network {
namespace {

machine::Machine small_machine() {
  return machine::build(machine::describe_text(
      "[topology]\nkind = \"torus\"\ndims = [4, 4]\n[routing]\nkind = \"dimension-order\"\n"
      "[router]\nchannels = 2\nbuffer_flits = 32\nlatency = \"20ns\"\nflit = \"16B\"\n"
      "[cable.default]\nlanes = 4\nlane_rate = \"8Gbps\"\ncoding = \"none\"\nlength = \"2m\"\ndelay = "
      "\"10ns\"\n",
      "test", {}));
}

std::vector<EngineKind> engines() {
  std::vector<EngineKind> out;
  for (const auto& [name, kind] : config::Registry<EngineKind>::all()) out.push_back(kind);
  return out;
}

/// Runs a network until nothing is left, keeping what it told.
std::vector<Notice> run_out(Network& network) {
  std::vector<Notice> all, now;
  while (!network.idle()) {
    now.clear();
    network.advance(network.now() + Time{1'000'000'000}, now);
    for (const Notice& notice : now) EXPECT_EQ(notice.at, network.now()) << "notices of one time";
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

TEST(Networks, ThereIsMoreThanNone) { EXPECT_FALSE(engines().empty()); }

// In packets or as one message: the same flits at the same times. Told of once, when the last of it has left
// and when all of it is there.
TEST(Networks, AMessageIsToldOfAsOne) {
  machine::Machine m = small_machine();
  for (const EngineKind& kind : engines())
    for (std::uint64_t bytes : {0u, 1u, 500u, 512u, 513u, 9'000u}) {
      auto whole = kind.make(m, {}), in_parts = kind.make(m, {});
      const std::uint64_t most = whole->largest_packet();
      for (EndpointId source : {0u, 3u, 6u}) {
        whole->send_message({source, 10, bytes, 0, source}, Time{0});
        std::uint64_t left = bytes;
        do {
          const std::uint64_t part = std::min(left, most);
          in_parts->send({source, 10, part, 0, source}, Time{0});
          left -= part;
        } while (left > 0);
      }
      std::map<std::pair<Tag, Notice::Kind>, Time> last;
      for (const Notice& notice : run_out(*in_parts)) last[{notice.tag, notice.kind}] = notice.at;
      std::vector<Notice> told = run_out(*whole);
      EXPECT_EQ(told.size(), 6u) << kind.name << ", " << bytes << " bytes";
      for (const Notice& notice : told) EXPECT_EQ(notice.at, (last[{notice.tag, notice.kind}])) << kind.name;
    }
}

TEST(Networks, DeliverEveryPacketOnceAndInTimeOrder) {
  machine::Machine m = small_machine();
  for (const EngineKind& kind : engines()) {
    auto network = kind.make(m, {});
    constexpr std::uint64_t kSeed = 3;
    std::map<Tag, Packet> sent;
    for (Tag tag = 0; tag < 500; ++tag) {
      Packet packet;
      packet.source = random_below(kSeed, tag, 0, 16);
      packet.destination = random_below(kSeed, tag, 1, 16);
      packet.bytes = 1 + random_below(kSeed, tag, 2, 400);
      packet.tag = tag;
      network->send(packet, Time{static_cast<std::int64_t>(tag * 10'000)});
      sent[tag] = packet;
    }
    std::map<Tag, Time> departed, delivered;
    Time last{0};
    for (const Notice& notice : run_out(*network)) {
      EXPECT_GE(notice.at, last) << kind.name;
      last = notice.at;
      auto& into = notice.kind == Notice::Kind::Departed ? departed : delivered;
      EXPECT_TRUE(into.emplace(notice.tag, notice.at).second)
          << kind.name << ": told twice of " << notice.tag;
      EXPECT_NE(notice.kind, Notice::Kind::Lost);
    }
    EXPECT_EQ(delivered.size(), sent.size()) << kind.name;
    EXPECT_EQ(departed.size(), sent.size()) << kind.name;
    for (auto [tag, at] : delivered) {
      EXPECT_GE(at, departed[tag]) << kind.name;
      EXPECT_GE(departed[tag].value, static_cast<std::int64_t>(tag * 10'000)) << kind.name;
    }
  }
}

TEST(Networks, TakeLongerForFartherAndForMore) {
  machine::Machine m = small_machine();
  for (const EngineKind& kind : engines()) {
    auto time_of = [&](EndpointId to, std::uint64_t bytes) {
      auto network = kind.make(m, {});
      network->send({0, to, bytes, 0, 7}, Time{5'000});
      auto notices = run_out(*network);
      EXPECT_EQ(notices.back().tag, 7u);
      return notices.back().at.value - 5'000;
    };
    EXPECT_LT(time_of(1, 64), time_of(2, 64)) << kind.name;
    EXPECT_LT(time_of(1, 64), time_of(1, 400)) << kind.name;
    // A hop more is a router, 20 ns, and a cable of 20 ns; cycles of 4 ns round each up.
    EXPECT_NEAR(static_cast<double>(time_of(2, 64) - time_of(1, 64)), 40'000, 4'100) << kind.name;
  }
}

// A caller that answers each delivery at once: the times of a ping-pong add up, whatever the engine could run
// ahead to, be it a packet of others that is still to be sent.
TEST(Networks, AnswerAfterADeliveryIsNotLate) {
  machine::Machine m = small_machine();
  constexpr Tag kOthers = 1000;
  for (const EngineKind& kind : engines()) {
    auto trips = [&](bool others) {
      auto network = kind.make(m, {});
      std::vector<Time> times;
      std::vector<Notice> notices;
      if (others)
        for (Tag i = 0; i < 20; ++i)
          network->send({10, 11, 64, 0, kOthers + i}, Time{static_cast<std::int64_t>(i * 530'000)});
      network->send({0, 5, 64, 0, 0}, Time{0});
      while (times.size() < 20) {
        notices.clear();
        network->advance(network->now() + Time{1'000'000'000}, notices);
        for (const Notice& notice : notices) {
          if (notice.kind != Notice::Kind::Delivered || notice.tag >= kOthers) continue;
          times.push_back(notice.at);
          bool there = notice.tag % 2 == 0;
          network->send({there ? 5u : 0u, there ? 0u : 5u, 64, 0, notice.tag + 1}, notice.at);
        }
      }
      return times;
    };
    std::vector<Time> times = trips(false);
    Time trip = times[1] - times[0];
    for (std::size_t i = 2; i < times.size(); ++i)
      EXPECT_NEAR(static_cast<double>((times[i] - times[i - 1]).value), static_cast<double>(trip.value),
                  4'000)
          << kind.name;
    EXPECT_EQ(trips(true), times) << kind.name;
  }
}

}  // namespace
}  // namespace weft::network
