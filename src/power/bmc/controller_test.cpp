// The bus, the registers on it, and the controller that knows the machine by them alone.
#include "power/bmc/controller.hpp"

#include <gtest/gtest.h>

#include <set>

#include "machine/description.hpp"

namespace weft::power::bmc {
namespace {

TEST(I2c, NobodyAnswersBehindAMultiplexerThatIsNotSelected) {
  I2cBus bus;
  auto mux = std::make_shared<I2cMux>();
  auto device = std::make_shared<I2cRegisters>();
  device->set(3, 0x1234, 2);
  bus.attach(0x70, mux);
  mux->segment(5).attach(0x40, device);
  const std::uint8_t where[] = {3}, select[] = {1 << 5};
  std::uint8_t bytes[2] = {};
  EXPECT_FALSE(bus.transfer(0x40, where, bytes));
  EXPECT_TRUE(bus.transfer(0x70, select, {}));
  EXPECT_TRUE(bus.transfer(0x40, where, bytes));
  EXPECT_EQ(bytes[0], 0x12);
  EXPECT_EQ(bytes[1], 0x34);
}

TEST(I2c, PinsAreInputsUntilTheirDirectionIsSet) {
  Gpio16 pins;
  EXPECT_TRUE(pins.level(0)) << "a resistor pulls it up";
  const std::uint8_t low[] = {2, 0xfe}, drive[] = {6, 0xfe};
  pins.write(low);
  EXPECT_TRUE(pins.level(0));
  pins.write(drive);
  EXPECT_FALSE(pins.level(0));
  const std::uint8_t inputs[] = {0, 0xff};
  pins.write(inputs);
  EXPECT_EQ(pins.registers[0], 0) << "inputs cannot be written";
}

TEST(I2c, Linear11KeepsElevenBits) {
  for (double value : {0.0, 0.001, 1.0, 108.33, 1023.0, 20'000.0, -55.5})
    EXPECT_NEAR(from_linear11(to_linear11(value)), value, std::abs(value) / 1000 + 1e-4) << value;
}

TEST(I2c, AMonitorShowsWordsLeastSignificantByteFirst) {
  PowerMonitor monitor;
  monitor.show(12.0, 108.0, 50);
  const std::uint8_t command[] = {PowerMonitor::kReadVout};
  monitor.write(command);
  const unsigned low = monitor.read(), high = monitor.read();
  EXPECT_NEAR((low | high << 8) / 1024.0, 12.0, 1e-3);
}

struct Bench {
  machine::Description machine = machine::describe("greenice", {});
  thermal::Plant plant{*machine.body};
  Instruments instruments{plant};
  Controller controller{instruments.bus(), instruments.wiring(), machine.body->controller, 115};
  std::vector<LogEntry> log;
  std::vector<bool> good = std::vector<bool>(8, false);

  void step(Time& now, bool supplies_follow = true) {
    for (unsigned i = 0; i < 8 && supplies_follow; ++i) good[i] = instruments.supply_enabled(i);
    instruments.show(plant.read(), good);
    now = std::max(now, controller.run(now, log));
  }
};

TEST(Controller, PowersUpOneSupplyAfterTheOtherAndThenReleasesResets) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  unsigned last = 0;
  bool reset_released_early = false;
  for (int i = 0; i < 400 && bench.controller.state() != Controller::State::On; ++i) {
    bench.step(now);
    unsigned enabled = 0;
    for (unsigned s = 0; s < 8; ++s) enabled += bench.instruments.supply_enabled(s);
    EXPECT_LE(enabled, last + 1);
    last = enabled;
    if (enabled < 8) reset_released_early |= !bench.instruments.zone_in_reset(0);
  }
  EXPECT_EQ(bench.controller.state(), Controller::State::On);
  EXPECT_EQ(last, 8u);
  EXPECT_FALSE(reset_released_early);
  for (unsigned zone = 0; zone < 8; ++zone) EXPECT_FALSE(bench.instruments.zone_in_reset(zone));
}

TEST(Controller, EnablesASupplyOnlyWhenTheLastHasGoodPower) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  bench.step(now, false);
  EXPECT_TRUE(bench.instruments.supply_enabled(0));
  while (now < Time{2'500'000'000'000}) bench.step(now, false);
  EXPECT_FALSE(bench.instruments.supply_enabled(1)) << "the first has not come yet";
  bench.good[0] = true;
  for (int i = 0; i < 3; ++i) bench.step(now, false);
  EXPECT_TRUE(bench.instruments.supply_enabled(1));
  EXPECT_FALSE(bench.instruments.supply_enabled(2));
}

TEST(Controller, GivesUpASupplyThatNeverComesAndGoesOnWithTheOthers) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  for (int i = 0; i < 2000 && bench.controller.state() != Controller::State::On; ++i) {
    for (unsigned s = 0; s < 8; ++s) bench.good[s] = s != 5 && bench.instruments.supply_enabled(s);
    bench.step(now, false);
  }
  EXPECT_EQ(bench.controller.state(), Controller::State::On);
  EXPECT_TRUE(bench.instruments.zone_in_reset(5));
  EXPECT_FALSE(bench.instruments.zone_in_reset(6));
  bool told = false;
  for (const LogEntry& entry : bench.log)
    told |= entry.source == "supply5" && entry.text == "power did not become good";
  EXPECT_TRUE(told);
}

/// Devices of a node of GreenICE: its accelerator and its card.
unsigned line_of(const Bench& bench, unsigned node, bool accelerator) {
  const Wiring& wiring = bench.instruments.wiring();
  unsigned device = 0;
  while (wiring.devices[device].computes != accelerator) ++device;
  return wiring.reset_line(node, device);
}

TEST(Controller, HasAResetLineForEveryChipAndReleasesCardsBeforeAccelerators) {
  Bench bench;
  const Wiring& wiring = bench.instruments.wiring();
  EXPECT_EQ(wiring.devices.size(), 2u);
  EXPECT_EQ(wiring.reset_lines(), 8u) << "four nodes behind a supply, a card and an accelerator each";
  std::set<unsigned> lines;
  for (unsigned node = 0; node < 4; ++node)
    for (bool accelerator : {false, true}) lines.insert(line_of(bench, node, accelerator));
  EXPECT_EQ(lines.size(), 8u);
  Time now{0}, good{0}, card{0}, accelerator{0};
  bench.controller.power_on(now, bench.log);
  for (int i = 0; i < 400 && accelerator.value == 0; ++i) {
    const Time before = now;
    bench.step(now);
    if (good.value == 0 && bench.good[0]) good = before;
    if (card.value == 0 && !bench.instruments.in_reset(0, line_of(bench, 2, false))) card = before;
    if (!bench.instruments.in_reset(0, line_of(bench, 2, true))) accelerator = before;
  }
  EXPECT_GE(card - good, bench.machine.body->controller.reset_hold) << "100 ms after power is good";
  EXPECT_GE(accelerator - card, bench.machine.body->controller.reset_step);
}

TEST(Controller, HoldsOneChipInResetAndLeavesTheOthersAlone) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  for (int i = 0; i < 400 && bench.controller.state() != Controller::State::On; ++i) bench.step(now);
  unsigned device = 0;
  while (!bench.instruments.wiring().devices[device].computes) ++device;
  bench.controller.hold_device(6, 1, device, true);
  EXPECT_TRUE(bench.instruments.in_reset(6, line_of(bench, 1, true)));
  EXPECT_FALSE(bench.instruments.in_reset(6, line_of(bench, 1, false)));
  EXPECT_FALSE(bench.instruments.in_reset(6, line_of(bench, 0, true)));
  EXPECT_FALSE(bench.instruments.in_reset(5, line_of(bench, 1, true)));
  EXPECT_EQ(bench.instruments.released_share(6), 0.75);
  bench.controller.hold_device(6, 1, device, false);
  EXPECT_FALSE(bench.instruments.in_reset(6, line_of(bench, 1, true)));
}

TEST(Controller, ReachesHundredsOfLinesBehindAFurtherMultiplexer) {
  machine::Description machine = machine::describe("tianhe2", {});
  thermal::Plant plant(*machine.body);
  Instruments instruments(plant);
  const Wiring& wiring = instruments.wiring();
  ASSERT_GT(wiring.reset_lines(), 128u);
  EXPECT_TRUE(wiring.reset_mux());
  Controller controller(instruments.bus(), wiring, machine.body->controller, 100);
  std::vector<LogEntry> log;
  std::vector<bool> good(wiring.supplies, false);
  Time now{0};
  controller.power_on(now, log);
  for (int i = 0; i < 4000 && controller.state() != Controller::State::On; ++i) {
    for (unsigned s = 0; s < wiring.supplies; ++s) good[s] = instruments.supply_enabled(s);
    instruments.show(plant.read(), good);
    now = std::max(now, controller.run(now, log));
  }
  ASSERT_EQ(controller.state(), Controller::State::On);
  const auto devices = static_cast<unsigned>(wiring.devices.size());
  controller.hold_device(0, wiring.nodes_of_zone - 1, devices - 1, true);
  unsigned held = 0;
  for (unsigned line = 0; line < wiring.reset_lines(); ++line) held += instruments.in_reset(0, line);
  EXPECT_EQ(held, 1u);
  EXPECT_TRUE(instruments.in_reset(0, wiring.reset_lines() - 1));
}

TEST(Controller, ReadsWhatThePlantShows) {
  Bench bench;
  Time now{0};
  bench.step(now);
  double flow = 0, inlet = 0, level = 0;
  for (const Sensor& sensor : bench.controller.sensors()) {
    if (sensor.name == "flow") flow = sensor.value;
    if (sensor.name == "inlet") inlet = sensor.value;
    if (sensor.name == "level") level = sensor.value;
  }
  EXPECT_NEAR(flow, 25, 0.05) << "from the difference of two travel times of ultrasound";
  EXPECT_NEAR(inlet, 25, 0.1);
  EXPECT_EQ(level, 8);
}

TEST(Controller, ShutsDownOnACriticalValueAndSaysWhy) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  for (int i = 0; i < 400 && bench.controller.state() != Controller::State::On; ++i) bench.step(now);
  bench.instruments.lie("liquid", 80);
  for (int i = 0; i < 3; ++i) bench.step(now);
  EXPECT_TRUE(bench.controller.shut_down());
  EXPECT_NE(bench.controller.cause().find("liquid"), std::string::npos) << bench.controller.cause();
  for (unsigned s = 0; s < 8; ++s) EXPECT_FALSE(bench.instruments.supply_enabled(s));
  for (unsigned zone = 0; zone < 8; ++zone) EXPECT_TRUE(bench.instruments.zone_in_reset(zone));
}

TEST(Controller, ASupplyThatFailsTakesItsOwnNodesAlone) {
  Bench bench;
  Time now{0};
  bench.controller.power_on(now, bench.log);
  for (int i = 0; i < 400 && bench.controller.state() != Controller::State::On; ++i) bench.step(now);
  bench.good[3] = false;
  bench.step(now, false);
  EXPECT_EQ(bench.controller.state(), Controller::State::On);
  EXPECT_TRUE(bench.instruments.zone_in_reset(3));
  EXPECT_FALSE(bench.instruments.zone_in_reset(2));
}

}  // namespace
}  // namespace weft::power::bmc
