// What the router models reach, run as a user would: the figures of docs/validation.md.
#include <gtest/gtest.h>

#include "json.hpp"
#include "run_program.hpp"

namespace weft {
namespace {

using nlohmann::json;
using test::ProgramResult;
using Arguments = std::vector<std::string>;

Arguments with(Arguments a, const Arguments& more) {
  a.insert(a.end(), more.begin(), more.end());
  return a;
}

Arguments sets(const Arguments& settings) {
  Arguments out;
  for (const std::string& setting : settings) out.insert(out.end(), {"--set", setting});
  return out;
}

double accepted(const Arguments& arguments, const Arguments& how = {"--load", "1"}) {
  ProgramResult result = test::run_program(with({"traffic", "--json"}, with(arguments, how)));
  EXPECT_EQ(result.code, 0) << result.err;
  return test::parse_json(result.out)["points"][0]["accepted"];
}

/// One router of 24 ports, an endpoint on each.
const Arguments kOneRouter =
    with({"torus"}, sets({"topology.dims=[1]", "topology.endpoints_per_router=24", "router.channels=4",
                          "router.buffer_flits=32", "router.switching=wormhole"}));
const Arguments kTiled = with(
    kOneRouter, sets({"router.kind=tiled", "router.row_buffer_flits=48", "router.column_buffer_flits=48"}));

TEST(RouterModels, TheTiledRouterTakes96PercentOfUniformTraffic) {  // V-TH2-11
  EXPECT_NEAR(accepted(with(kTiled, {"--packet", "8"})), 0.96, 0.015);
}

TEST(RouterModels, TheTiledRouterTakesAllOfAPermutation) {  // V-TH2-11
  EXPECT_GT(accepted(with(kTiled, {"--packet", "8", "--pattern", "permutation"}),
                     {"--batch", "2000", "--source", "fixed"}),
            0.995);
}

TEST(RouterModels, SmallerTileBuffersTakeLess) {
  EXPECT_LT(accepted(with(kTiled, with({"--packet", "8"}, sets({"router.row_buffer_flits=12",
                                                                "router.column_buffer_flits=12"})))),
            0.92);
}

TEST(RouterModels, OutputQueuesTakeMoreThanOneQueueForAll) {
  double one = accepted(with(kOneRouter, sets({"router.iterations=2"})));
  double many =
      accepted(with(kOneRouter, sets({"router.iterations=2", "router.kind=virtual-output-queued"})));
  EXPECT_LT(one, 0.8);
  EXPECT_GT(many, 0.95);
}

TEST(RouterModels, ASharedBufferSaves30Percent) {  // V-TH2-12
  // Four classes of messages, of which one carries the load at the time.
  auto with_buffers = [](int own, int shared) {
    return accepted(with({"mesh", "--packet", "8"},
                         sets({"topology.dims=[4,4]", "router.message_classes=4", "router.channels=1",
                               "router.switching=wormhole", "router.clock=1GHz", "router.latency=4ns",
                               "cable.default.length=0m", "cable.default.delay=10ns", "cable.default.lanes=1",
                               "cable.default.lane_rate=128Gbps", "cable.default.coding=none",
                               "router.buffer_flits=" + std::to_string(own),
                               "router.shared_flits=" + std::to_string(shared)})));
  };
  for (int total : {64, 128}) {
    int less = total * 7 / 10;
    EXPECT_GT(with_buffers(1, less - 4), with_buffers(total / 4, 0)) << total;
  }
}

TEST(RouterModels, WhatATiledRouterCannotBeIsRefused) {
  auto refused = [](const Arguments& settings, const std::string& words) {
    std::vector<std::string> arguments = with({"traffic"}, with(kTiled, sets(settings)));
    ProgramResult result = test::run_program(with(arguments, {"--load", "0.1", "--packet", "8"}));
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  refused({"topology.endpoints_per_router=25"}, "25 ports, and there are 4 x 6 tiles");
  refused({"router.latency=0ns"}, "three stages");
  refused({"router.row_buffer_flits=3"}, "each of 4 channels has a flit of its own");
  refused({"router.switching=cut-through", "router.column_buffer_flits=31"},
          "room for a whole packet of each channel: 4 times 8 flits, and there are 31");
  refused({"router.local_yield=[16]"}, "at most 15");
  refused({"topology.dims=[4,4]", "topology.endpoints_per_router=1", "routing.kind=minimal-adaptive"},
          "escape channels");
}

}  // namespace
}  // namespace weft
