// The bus, the registers on it, and the controller that knows the machine by them alone.
#include "power/bmc/controller.hpp"

#include <gtest/gtest.h>

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
  for (int i = 0; i < 60 && bench.controller.state() != Controller::State::On; ++i) {
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
  for (int i = 0; i < 60 && bench.controller.state() != Controller::State::On; ++i) bench.step(now);
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
  for (int i = 0; i < 60 && bench.controller.state() != Controller::State::On; ++i) bench.step(now);
  bench.good[3] = false;
  bench.step(now, false);
  EXPECT_EQ(bench.controller.state(), Controller::State::On);
  EXPECT_TRUE(bench.instruments.zone_in_reset(3));
  EXPECT_FALSE(bench.instruments.zone_in_reset(2));
}

}  // namespace
}  // namespace weft::power::bmc
