// The GPU engine's host build against the flit engine: every packet, every counter, every port, cycle for
// cycle.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "machine/profiles.hpp"
#include "machines.hpp"
#include "measure/stress/draws.hpp"
#include "network/cycle_engine.hpp"
#include "network/gpu/backend.hpp"

namespace weft::network {
namespace {

using measure::Draws;

/// Packets at random times, all following from a seed.
class RandomTraffic final : public Traffic {
 public:
  RandomTraffic(std::uint64_t seed, std::uint32_t endpoints, unsigned longest, unsigned spacing,
                unsigned message_classes)
      : seed_(seed),
        endpoints_(endpoints),
        longest_(longest),
        spacing_(spacing),
        message_classes_(message_classes),
        made_(endpoints) {}
  Cycle first(EndpointId source) override { return random_below(seed_, source, 0, 40); }
  bool create(EndpointId source, Cycle now, NewPacket& packet, Cycle& next) override {
    const std::uint64_t number = ++made_[source];
    packet.destination = random_below(seed_, source, 4 * number, endpoints_);
    packet.flits = static_cast<std::uint16_t>(1 + random_below(seed_, source, 4 * number + 1, longest_));
    packet.message_class = static_cast<std::uint8_t>(number % message_classes_);
    packet.remainder = static_cast<Remainder>(number % 1000);
    packet.tag = std::uint64_t{source} << 32 | number;
    next = now + 1 + random_below(seed_, source, 4 * number + 2, 2 * spacing_);
    // Now and then a long pause, in which a small network comes to rest.
    if (random_below(seed_, source, 4 * number + 3, 20) == 0) next += 500;
    return number % 5 != 4;
  }

 private:
  std::uint64_t seed_;
  std::uint32_t endpoints_;
  unsigned longest_, spacing_, message_classes_;
  std::vector<std::uint64_t> made_;
};

class Arrivals final : public Observer {
 public:
  void delivered(const Delivery& d) override { all.push_back(d); }
  std::vector<Delivery> all;
};

auto key(const Delivery& d) {
  return std::tuple(d.tag, d.source, d.destination, d.flits, d.message_class, d.hops, d.created, d.injected,
                    d.delivered, d.remainder, d.damaged);
}

auto key(const CycleCounters& c) {
  return std::tuple(c.flit_hops, c.flits_injected, c.flits_delivered, c.packets_created, c.packets_delivered,
                    c.packets_lost, c.packets_refused, c.flits_refused);
}

/// The host build, and the device where there is one.
const std::vector<std::string>& engines() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out{"gpu-host"};
    try {
      gpu::device_backend();
      out.emplace_back("gpu");
    } catch (const UserError&) {  // no device here
    }
    return out;
  }();
  return all;
}

struct Comparison {
  std::string engine = "gpu-host";
  CycleOptions options = {};
  std::uint64_t seed = 1;
  unsigned spacing = 10, message_classes = 1;
  Cycle cycles = 3000;
  std::uint64_t delivered = 0, refused = 0;  // in the end

  /// Both engines, side by side, in steps of uneven length.
  void run(const machine::Machine& m) {
    CycleOptions one_thread = options;
    one_thread.threads = 1;
    auto flit = cycle_engine("flit").make(m, one_thread), gpu = cycle_engine(engine).make(m, options);
    const std::uint32_t endpoints = m.graph->endpoints();
    const auto traffic = [&] {
      return RandomTraffic(seed, endpoints, options.largest_packet_flits, spacing, message_classes);
    };
    RandomTraffic one = traffic(), other = traffic();
    Arrivals heard;
    std::vector<Arrivals> parts(gpu->threads());
    std::vector<Observer*> also_hear;
    for (Arrivals& part : parts) also_hear.push_back(&part);
    std::vector<std::uint64_t> sent, also_sent;
    std::vector<std::uint32_t> standing, also_standing;
    for (Cycle step = 1; flit->now() < cycles; step = step * 7 % 611 + 1) {
      const Cycle until = flit->now() + step;
      flit->run(one, {&heard}, until);
      gpu->run(other, also_hear, until);
      ASSERT_EQ(flit->now(), gpu->now());
      ASSERT_EQ(key(flit->counters()), key(gpu->counters())) << "in cycle " << flit->now();
      flit->copy_sent(sent), gpu->copy_sent(also_sent);
      ASSERT_EQ(sent, also_sent) << "in cycle " << flit->now();
      flit->copy_occupancy(standing), gpu->copy_occupancy(also_standing);
      ASSERT_EQ(standing, also_standing) << "in cycle " << flit->now();
    }
    Arrivals also_heard;
    for (const Arrivals& part : parts)
      also_heard.all.insert(also_heard.all.end(), part.all.begin(), part.all.end());
    const auto by_key = [](const Delivery& a, const Delivery& b) { return key(a) < key(b); };
    std::sort(heard.all.begin(), heard.all.end(), by_key);
    std::sort(also_heard.all.begin(), also_heard.all.end(), by_key);
    ASSERT_EQ(heard.all.size(), also_heard.all.size());
    for (std::size_t i = 0; i < heard.all.size(); ++i) ASSERT_EQ(key(heard.all[i]), key(also_heard.all[i]));
    delivered = flit->counters().packets_delivered;
    refused = flit->counters().packets_refused;
  }
};

/// How routers work, and what is between them.
std::string draw_router(Draws& draw, unsigned channels, unsigned message_classes, unsigned longest) {
  const auto word = [&](const std::vector<std::string>& words) { return draw.of(words); };
  std::string out =
      fmt::format("[cable.default]\nlanes = {}\nlane_rate = \"14Gbps\"\nlength = \"{}m\"\ndelay = \"{}ns\"\n",
                  draw.of<unsigned>({1, 2, 4, 8}), draw.between(0, 20), draw.between(1, 60));
  out += fmt::format(
      "[router]\nkind = \"{}\"\nchannels = {}\nmessage_classes = {}\nflit = \"{}B\"\nbuffer_flits = "
      "{}\nshared_flits = {}\n"
      "latency = \"{}ns\"\nswitching = \"{}\"\nallocator = \"{}\"\niterations = {}\n",
      word({"input-queued", "input-queued", "virtual-output-queued"}), channels, message_classes,
      draw.of<unsigned>({8, 16, 32, 64}), longest + draw.below(12), draw.one_in(3) ? draw.between(1, 16) : 0,
      draw.between(1, 40), word({"wormhole", "cut-through"}), word({"round-robin", "islip", "age"}),
      draw.between(1, 3));
  if (draw.one_in(4)) out += fmt::format("local_yield = [{}, {}]\n", draw.below(3), draw.below(3));
  if (draw.one_in(4)) out += "clock = \"800MHz\"\n";
  return out;
}

/// On a random machine; false where the parts drawn do not fit each other.
bool compare_on_random_machine(std::uint64_t number, const std::string& engine) {
  Draws draw(20, number);
  const measure::DrawnMachine drawn = measure::draw_machine(draw);
  Comparison c{.engine = engine};
  c.options.threads = draw.between(1, 3);  // of the host
  c.options.largest_packet_flits = draw.of<unsigned>({1, 8, 3});
  c.options.source_queue = draw.one_in(2) ? draw.between(1, 6) : 0;
  c.options.seed = c.seed = number;
  c.options.most_packets = 1u << 18;
  c.spacing = draw.of<unsigned>({4, 20, 100});
  c.message_classes = draw.between(1, 2);
  unsigned classes =
      machine::build(machine::describe_text(drawn.text(), "test", drawn.settings)).routing->classes();
  const unsigned channels = classes + draw.below(3);
  const std::string text =
      drawn.text() + draw_router(draw, channels, c.message_classes, c.options.largest_packet_flits);
  machine::Machine m = [&] { return machine::build(machine::describe_text(text, "test", drawn.settings)); }();
  try {
    cycle_engine("gpu-host").facts(m, c.options.largest_packet_flits);
  } catch (const UserError&) {
    return false;
  }
  SCOPED_TRACE(fmt::format("machine {}:\n{}{}", number, text, join(drawn.settings, "\n")));
  c.run(m);
  EXPECT_GT(c.delivered, 0u);
  return true;
}

TEST(GpuEngine, GivesWhatTheFlitEngineGivesOnRandomMachines) {
  for (const std::string& engine : engines()) {
    unsigned compared = 0;
    for (std::uint64_t number = 0; number < 120 && !::testing::Test::HasFatalFailure(); ++number)
      compared += compare_on_random_machine(number, engine);
    EXPECT_GE(compared, 80u);
  }
}

TEST(GpuEngine, GivesWhatTheFlitEngineGivesOnTheProfilesMachines) {
  unsigned compared = 0;
  for (const std::string& name : test::single_networks()) {
    machine::Machine m = machine::build(machine::describe(name, {}));
    if (m.graph->ports() > 4000) continue;  // larger ones take minutes on the host
    for (unsigned spacing : {8u, 40u, 200u})
      for (const std::string& engine : engines()) {
        Comparison c{.engine = engine, .spacing = spacing, .cycles = 400};
        c.options.largest_packet_flits = 8;
        try {
          cycle_engine(engine).facts(m, 8);
        } catch (const UserError&) {
          continue;  // it says that it does not take this machine
        }
        SCOPED_TRACE(fmt::format("{} with packets every {} cycles on {}", name, spacing, engine));
        c.run(m);
        ++compared;
      }
  }
  EXPECT_GE(compared, 24u);
}

TEST(GpuEngine, RefusesWhatTheFlitEngineRefuses) {
  // Sources make more than a torus takes: what waits is decided at the beginning of a window.
  machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4);
  Comparison c;
  c.options.largest_packet_flits = 8;
  c.options.source_queue = 3;
  c.spacing = 2;
  c.run(m);
  EXPECT_GT(c.refused, 100u);
}

TEST(GpuEngine, SaysWhatItDoesNotTake) {
  const auto refusal = [](const std::vector<std::string>& settings) {
    machine::Machine m = test::make_machine("torus", {"dims=[4,4]"}, "dimension-order", {}, 4, settings);
    try {
      cycle_engine("gpu-host").facts(m, 4);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(refusal({}), "taken");
  EXPECT_THAT(refusal({"router.kind=\"tiled\""}), ::testing::HasSubstr("--engine flit has"));
  // All at once.
  EXPECT_THAT(refusal({"router.local_headers=4", "cable.default.bit_error_rate=1e-6"}),
              ::testing::AllOf(::testing::HasSubstr("header"), ::testing::HasSubstr("can fail")));
}

}  // namespace
}  // namespace weft::network
