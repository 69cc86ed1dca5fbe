// The flow engine against the flit engine: long messages, the same machine, the time until the last has
// arrived.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "machine/machine.hpp"
#include "network/flit/engine.hpp"
#include "network/flow/flow_network.hpp"

namespace weft::test {
namespace {

using network::Cycle;
using network::EndpointId;
using Destinations = std::vector<EndpointId>;  // by source; itself: it does not send

constexpr std::uint16_t kPacketFlits = 16;

/// Every source sends its message as packets, one after the other.
class Messages : public network::Traffic, public network::Observer {
 public:
  Messages(const Destinations& to, std::uint32_t packets) : to_(to), left_(to.size(), packets) {}
  Cycle first(EndpointId source) override { return to_[source] == source ? network::kNever : 0; }
  bool create(EndpointId source, Cycle now, network::NewPacket& packet, Cycle& next) override {
    packet = {to_[source], kPacketFlits, 0};
    next = --left_[source] == 0 ? network::kNever : now + kPacketFlits;
    return true;
  }
  void delivered(const network::Delivery& d) override { last_ = std::max(last_, d.delivered); }
  Cycle last() const { return last_; }

 private:
  const Destinations& to_;
  std::vector<std::uint32_t> left_;
  Cycle last_ = 0;
};

struct Times {
  double flit_ns, flow_ns;
  double difference() const { return flow_ns / flit_ns - 1; }
};

Times both(const machine::Machine& m, const Destinations& to, std::uint32_t packets) {
  auto settings = network::flit::settings_for(m, kPacketFlits);
  network::flit::Engine engine(*m.graph, *m.routing, settings);
  Messages messages(to, packets);
  engine.run(messages, {&messages}, Cycle{1} << 40);
  EXPECT_FALSE(engine.stalled());

  network::flow::FlowNetwork flow(m);
  auto flit = static_cast<std::uint64_t>(m.description.router.flit.value);
  for (EndpointId e = 0; e < to.size(); ++e)
    if (to[e] != e) flow.send({e, to[e], packets * kPacketFlits * flit, 0, e}, {0});
  std::vector<network::Notice> notices;
  while (!flow.idle()) flow.advance(network::kForever, notices);
  return {settings.cycle.nanoseconds(static_cast<double>(messages.last())),
          static_cast<double>(notices.back().at.value) / 1000};
}

std::string machine_text(const std::string& topology, const std::string& routing) {
  return "[topology]\n" + topology + "\n[routing]\n" + routing +
         "\n[router]\nchannels = 8\nbuffer_flits = 64\nlatency = \"20ns\"\n[cable.default]\nlanes = "
         "4\nlane_rate = "
         "\"25Gbps\"\ncoding = \"none\"\ndelay = \"20ns\"\nlength = \"2m\"\n";
}

Destinations shift(std::uint32_t n, std::uint32_t ahead) {
  Destinations to(n);
  for (EndpointId e = 0; e < n; ++e) to[e] = (e + ahead) % n;
  return to;
}

Destinations incast(std::uint32_t n, std::uint32_t senders) {
  Destinations to(n);
  for (EndpointId e = 0; e < n; ++e) to[e] = e > 0 && e <= senders ? 0 : e;
  return to;
}

Destinations permutation(std::uint32_t n, std::uint64_t seed) {
  Destinations to = shift(n, 0);
  for (std::uint32_t left = n; left > 1; --left)
    std::swap(to[left - 1], to[random_below(seed, left, 0, left)]);
  return to;
}

Destinations transpose(std::uint32_t side) {
  Destinations to(side * side);
  for (EndpointId e = 0; e < side * side; ++e) to[e] = e % side * side + e / side;
  return to;
}

struct Case {
  const char *name, *topology, *routing;
  Destinations to;
  bool blocking = false;  // packets stand behind others that go elsewhere, which a fluid does not know
};

TEST(FlowAgainstFlit, LongMessagesTakeTheSameTime) {  // F60
  constexpr const char* kOrder = "kind = \"dimension-order\"\ndateline = \"balanced\"";
  constexpr const char* kTree = "kind = \"fat-tree\"\nchildren = [4,4]\nparents = [1,4]";
  constexpr const char* kTree3 = "kind = \"fat-tree\"\nchildren = [4,4,4]\nparents = [1,4,4]";
  constexpr const char* kThin = "kind = \"fat-tree\"\nchildren = [8,4]\nparents = [1,2]";
  constexpr const char* kModulo = "kind = \"fat-tree\"\nmode = \"deterministic\"";
  constexpr const char* kAnyPort = "kind = \"fat-tree\"\ncandidates = 0";
  constexpr const char* kFly =
      "kind = \"dragonfly\"\nrouters_per_group = 4\nendpoints_per_router = 2\nglobal_cables_per_router = 2";
  constexpr const char* kMinimal = "kind = \"dragonfly\"\nmode = \"minimal\"";
  constexpr const char* kJelly = "kind = \"jellyfish\"\nrouters = 16\ndegree = 4\nendpoints_per_router = 2";
  const Case cases[] = {
      {"mesh of 4, first to last", "kind = \"mesh\"\ndims = [4]", kOrder, {3, 1, 2, 3}},
      {"mesh of 4, two share a cable", "kind = \"mesh\"\ndims = [4]", kOrder, {3, 3, 2, 3}},
      {"ring of 8, to the next", "kind = \"torus\"\ndims = [8]", kOrder, shift(8, 1)},
      {"ring of 8, two on", "kind = \"torus\"\ndims = [8]", kOrder, shift(8, 2), true},
      {"ring of 8, three on", "kind = \"torus\"\ndims = [8]", kOrder, shift(8, 3), true},
      {"torus 4x4, to the next", "kind = \"torus\"\ndims = [4,4]", kOrder, shift(16, 1)},
      {"torus 4x4, to the next row", "kind = \"torus\"\ndims = [4,4]", kOrder, shift(16, 4)},
      {"torus 4x4x4, to the next plane", "kind = \"torus\"\ndims = [4,4,4]", kOrder, shift(64, 16)},
      {"mesh 4x4, transpose", "kind = \"mesh\"\ndims = [4,4]", kOrder, transpose(4)},
      {"mesh 8x8, transpose", "kind = \"mesh\"\ndims = [8,8]", kOrder, transpose(8)},
      {"mesh of 8, seven to one", "kind = \"mesh\"\ndims = [8]", kOrder, incast(8, 7)},
      {"torus 4x4, fifteen to one", "kind = \"torus\"\ndims = [4,4]", kOrder, incast(16, 15)},
      {"tree of 16, to the next leaf", kTree, kModulo, shift(16, 4)},
      {"tree of 16, to the next", kTree, kModulo, shift(16, 1)},
      {"tree of 16, fifteen to one", kTree, kModulo, incast(16, 15)},
      {"tree of 64, half way round", kTree3, kModulo, shift(64, 32)},
      {"tree of 64, any port up", kTree3, kAnyPort, shift(64, 32), true},
      {"thin tree of 32, to the next leaf", kThin, kModulo, shift(32, 8)},
      {"dragonfly of 72, to the next group", kFly, kMinimal, shift(72, 8)},
      {"dragonfly of 72, to the next router", kFly, kMinimal, shift(72, 2)},
      {"jellyfish of 32, sixteen on", kJelly, "kind = \"shortest-path\"", shift(32, 16)},
      {"torus 4x4x4, permutation", "kind = \"torus\"\ndims = [4,4,4]", kOrder, permutation(64, 1)},
      {"torus 8x8, permutation", "kind = \"torus\"\ndims = [8,8]", kOrder, permutation(64, 2), true},
      {"tree of 64, permutation", kTree3, kModulo, permutation(64, 3)},
  };
  std::string table;
  int within = 0;
  for (const Case& one : cases) {
    machine::Machine m =
        machine::build(machine::describe_text(machine_text(one.topology, one.routing), one.name, {}));
    Times t = both(m, one.to, 400);
    table += fmt::format("{:<36} {:>10.0f} {:>10.0f} ns {:>+7.1f}%\n", one.name, t.flit_ns, t.flow_ns,
                         t.difference() * 100);
    within += std::abs(t.difference()) <= 0.05;
    if (one.blocking)
      EXPECT_LT(t.difference(), -0.05) << one.name << ": docs/validation.md says they differ";
    else
      EXPECT_LE(std::abs(t.difference()), 0.05) << one.name;
  }
  fmt::print("{:<36} {:>10} {:>10}\n{}", "case", "flit", "flow", table);
  EXPECT_GE(within, 20);
}

}  // namespace
}  // namespace weft::test
