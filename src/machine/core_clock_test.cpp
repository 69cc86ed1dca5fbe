#include "machine/core_clock.hpp"

#include <gtest/gtest.h>

#include "machine/description.hpp"
#include "machine/machine.hpp"

namespace weft::machine {
namespace {

constexpr const char* kChip =
    "[topology]\nkind = \"torus\"\ndims = [2, 2]\n[routing]\nkind = \"dimension-order\"\n"
    "[cable.default]\nlanes = 2\nlane_rate = \"5Gbps\"\ndelay = \"100ns\"\nlength = \"2m\"\n"
    "[router]\nlatency = \"40ns\"\nflit = \"4B\"\n"
    "[nic]\nsend_latency = \"60ns\"\nreceive_latency = \"80ns\"\noccupancy = \"20ns\"\n"
    "[host]\nwrite_latency = \"150ns\"\n"
    "[core]\nnominal_clock = \"100MHz\"\nnominal_width = \"4B\"\n";

Description chip(const std::vector<std::string>& settings) { return describe_text(kChip, "chip", settings); }

TEST(CoreClock, TimesAndRatesFollowIt) {  // F216
  Description slow = chip({"core.clock=50MHz"}), same = chip({"core.clock=100MHz"}), plain = chip({});
  EXPECT_EQ(same.router.latency, plain.router.latency);
  EXPECT_EQ(slow.router.latency, Time{80'000});
  EXPECT_EQ(slow.nic.send_latency, Time{120'000});
  EXPECT_EQ(slow.nic.receive_latency, Time{160'000});
  EXPECT_EQ(slow.nic.occupancy, Time{40'000});
  EXPECT_EQ(slow.cables[0].delay, Time{200'000});
  EXPECT_EQ(slow.cables[0].lane_rate.value, 2'500'000'000);
  // The host has clocks of its own, and a cable's length is what it is.
  EXPECT_EQ(slow.host.write_latency, plain.host.write_latency);
  EXPECT_EQ(slow.cables[0].delay_per_metre, plain.cables[0].delay_per_metre);
}

TEST(ProcessorClock, DrivesWhatTheProcessorDoes) {
  auto with = [](const std::vector<std::string>& settings) {
    std::vector<std::string> all{"host.post_cost=50ns", "mpi.send_cost=100ns",
                                 "processor.nominal_clock=2GHz"};
    all.insert(all.end(), settings.begin(), settings.end());
    return chip(all);
  };
  Description plain = with({}), half = with({"processor.clock=1GHz"});
  EXPECT_EQ(plain.host.post_cost, Time{50'000});
  EXPECT_EQ(half.host.post_cost, Time{100'000});
  EXPECT_EQ(half.mpi.send_cost, Time{200'000});
  EXPECT_EQ(half.host.write_latency, plain.host.write_latency);
  EXPECT_EQ(half.host.memory_read, plain.host.memory_read);
  EXPECT_EQ(half.nic.send_latency, plain.nic.send_latency);
}

TEST(ProcessorClock, DrivesHowLongProgramsCompute) {  // F221
  auto with = [](const std::vector<std::string>& settings) {
    std::vector<std::string> all{"host.compute_fixed=3us", "host.compute_scale=1.5"};
    all.insert(all.end(), settings.begin(), settings.end());
    return chip(all);
  };
  Description slow = with({"processor.nominal_clock=2GHz", "processor.clock=500MHz"}),
              fast = with({"processor.nominal_clock=2GHz", "processor.clock=3GHz"}),
              plain = with({"processor.clock=500MHz"});
  EXPECT_EQ(slow.host.compute_fixed, Time{12'000'000});
  EXPECT_DOUBLE_EQ(slow.host.compute_scale, 6);
  EXPECT_EQ(fast.host.compute_fixed, Time{2'000'000});
  EXPECT_DOUBLE_EQ(fast.host.compute_scale, 1);
  EXPECT_EQ(plain.host.compute_fixed, Time{3'000'000}) << "a clock alone says nothing";
}

TEST(CoreClock, AWiderPathCarriesMoreInTheSameCycles) {  // F216
  Description wide = chip({"core.width=8B"}), plain = chip({});
  EXPECT_EQ(wide.router.latency, plain.router.latency);
  EXPECT_EQ(wide.cables[0].lane_rate.value, 2 * plain.cables[0].lane_rate.value);
  EXPECT_EQ(wide.router.flit.value, 8);
  Description both = chip({"core.width=8B", "core.clock=200MHz"});
  EXPECT_EQ(both.cables[0].lane_rate.value, 4 * plain.cables[0].lane_rate.value);
  EXPECT_EQ(both.router.latency, Time{20'000});
}

TEST(CoreClock, NothingFollowsFromAClockAlone) {
  try {
    chip({"core.nominal_clock=0", "core.clock=50MHz"});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("core.nominal_clock"), std::string::npos) << error.what();
  }
}

TEST(Processor, HasAPeak) {
  Description d = chip({"processor.model=Opteron", "processor.sockets=2", "processor.cores=4",
                        "processor.clock=2.5GHz", "processor.flops_per_cycle=4"});
  EXPECT_DOUBLE_EQ(d.processor.peak_gflops(), 80);  // F221
}

TEST(Processor, MistakesAreFoundLikeAnyOther) {
  try {
    chip({"mpi.eager=pigeons", "processor.cores=0"});
    ADD_FAILURE() << "accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(error.diagnostics().size(), 2u);
  }
}

TEST(Sources, OfAValueThatIsReplacedAreNotThoseOfTheNewOne) {
  // The base explains 38.4 ns; a description that changes it must say why itself.
  Description changed = describe_text("base = \"extoll-r1\"\n[router]\nlatency = \"50ns\"\n", "mine", {});
  Description explained = describe_text(
      "base = \"extoll-r1\"\n[router]\nlatency = \"50ns\"\n[sources]\n\"router.latency\" = \"assumed: "
      "mine\"\n",
      "mine", {});
  auto source = [](const Description& d) -> std::string {
    for (const auto& [key, text] : d.sources)
      if (key == "router.latency") return text;
    return "";
  };
  EXPECT_EQ(source(changed), "");
  EXPECT_EQ(source(explained), "assumed: mine");
}

}  // namespace
}  // namespace weft::machine
