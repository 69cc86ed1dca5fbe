#include "nic/class_turns.hpp"

#include <gtest/gtest.h>

#include <array>

#include "nic/test_host.hpp"

namespace weft::nic {
namespace {

/// When puts of two ports of one interface, each of a class of its own, have arrived at one node.
std::array<double, 2> arrivals(const std::string& weights, const std::array<std::uint64_t, 2>& bytes) {
  std::string text = test::torus("", "bus = \"axi-128\"\n");
  const std::string before = "channels = 4\n";
  text.replace(text.find(before), before.size(), before + "class_weights = " + weights + "\n");
  // The link is what is shared: a bus that is slower takes work in the order it comes.
  const std::string rate = "6.25Gbps";
  text.replace(text.find(rate), rate.size(), "1Gbps");
  test::Bench b(text, 2, "flit");
  PortNo other = 0;
  EXPECT_EQ(b.fabric->open(0, 0, false, other), Status::Ok);
  const std::array<PortRef, 2> from{b.ports[0], PortRef{0, other}};
  b.fabric->set_traffic_class(from[1], 1);
  for (unsigned c : {0u, 1u}) {
    Descriptor d = b.to(1, Operation::Put, bytes[c], kNotifyRemote);
    EXPECT_EQ(b.fabric->register_memory(from[c], test::TestHost::kBase, bytes[c], kRemoteWrite, d.local_key),
              Status::Ok);
    d.remote_key = b.region(1, 0, bytes[c]);
    d.context = d.operand = c;
    b.fabric->post(from[c], d);
  }
  EXPECT_TRUE(b.settle());
  std::array<double, 2> out{};
  for (const Event& event : b.events(1))
    if (event.kind == EventKind::Arrived) out[event.data] = static_cast<double>(event.time);
  return out;
}

TEST(ClassTurns, AnInterfaceIsSharedByTheWeightsOfItsClasses) {
  // As much as the weights say: both are there together.
  const auto even = arrivals("[1, 3]", {16'384, 49'152});
  EXPECT_NEAR(even[0], even[1], 0.1 * even[1]);
  // With equal weights the shorter is there when the longer has two thirds still to go.
  const auto equal = arrivals("[1, 1]", {16'384, 49'152});
  EXPECT_LT(equal[0], 0.65 * equal[1]);
  EXPECT_NEAR(equal[1], even[1], 0.05 * even[1]);
  const auto reverse = arrivals("[9, 1]", {16'384, 49'152});
  EXPECT_LT(reverse[0], 0.85 * equal[0]);
}

}  // namespace
}  // namespace weft::nic
