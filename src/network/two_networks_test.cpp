#include "network/two_networks.hpp"

#include <gtest/gtest.h>

#include <map>

#include "machine/machine.hpp"

namespace weft::network {
namespace {

machine::Machine torus(const char* dims, const char* lanes) {
  return machine::build(machine::describe(
      "torus", {std::string("topology.dims=") + dims, std::string("cable.default.lanes=") + lanes}));
}

std::unique_ptr<Network> engine(const char* name, const machine::Machine& machine) {
  return config::Registry<EngineKind>::find(name)->make(machine, {});
}

struct Sent {
  Packet packet;
  Time at;
};

std::vector<Sent> workload(std::uint64_t seed) {
  std::vector<Sent> out;
  std::uint64_t state = seed;
  auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  Time at{0};
  for (Tag tag = 0; tag < 120; ++tag) {
    at = Time{at.value + static_cast<std::int64_t>(draw(400'000))};
    const auto from = static_cast<EndpointId>(draw(16)),
               to = static_cast<EndpointId>((from + 1 + draw(15)) % 16);
    const std::uint8_t kind = draw(2) == 0 ? TwoNetworks::kControl : 0;
    out.push_back({{from, to, 64 + draw(400), kind, tag}, at});
  }
  return out;
}

/// All that is told, by tag and kind; packets are sent when their time has come.
enum class Which { Both, Data, Control };
std::map<std::pair<Tag, int>, Time> told(Network& network, const std::vector<Sent>& all, Which which) {
  std::map<std::pair<Tag, int>, Time> out;
  std::vector<Notice> notices;
  network.set_reaction_time(Time{50'000});
  Time last{0};
  auto hear = [&](Time until) {
    for (std::size_t before = ~std::size_t{0}; before != out.size();) {
      before = out.size();
      notices.clear();
      network.advance(until, notices);
      for (const Notice& n : notices) {
        EXPECT_GE(n.at, last) << "notices come in the order of their times";
        last = n.at;
        EXPECT_LE(n.at, until);
        out[{n.tag, static_cast<int>(n.kind)}] = n.at;
      }
    }
  };
  for (const Sent& s : all) {
    hear(s.at);
    last = s.at;
    Packet packet = s.packet;
    const bool control = packet.message_class == TwoNetworks::kControl;
    if (which != Which::Both) packet.message_class = 0;
    if (which == Which::Both || control == (which == Which::Control)) network.send(packet, s.at);
  }
  hear(Time{1'000'000'000'000});
  EXPECT_TRUE(network.idle());
  return out;
}

TEST(TwoNetworks, EachTellsWhatItTellsAlone) {
  machine::Machine wide = torus("[4,2,2]", "8"), narrow = torus("[16]", "1");
  for (const char* name : {"ideal", "flow", "flit"})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const std::vector<Sent> all = workload(seed);
      TwoNetworks two(engine(name, wide), engine(name, narrow));
      auto together = told(two, all, Which::Both);
      auto data = told(*engine(name, wide), all, Which::Data);
      auto control = told(*engine(name, narrow), all, Which::Control);
      EXPECT_GT(control.size(), 0u);
      EXPECT_GT(data.size(), 0u);
      control.insert(data.begin(), data.end());
      EXPECT_EQ(together, control) << name << ", seed " << seed;
    }
}

}  // namespace
}  // namespace weft::network
