// An I2C tree: devices with registers behind multiplexers, as a controller's driver sees them.
//
// A transfer writes some bytes to an address and reads some back; nobody at the address is an answer too.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace weft::power::bmc {

class I2cDevice {
 public:
  virtual ~I2cDevice() = default;
  /// The first byte written names a register; those after it are written there.
  virtual void write(std::span<const std::uint8_t> bytes) = 0;
  /// Reads on from the register named last.
  virtual std::uint8_t read() = 0;
};

/// A segment of the bus: devices by address, and multiplexers that show further segments.
class I2cBus {
 public:
  /// False where no device answers.
  bool transfer(std::uint8_t address, std::span<const std::uint8_t> out, std::span<std::uint8_t> in);
  void attach(std::uint8_t address, std::shared_ptr<I2cDevice> device);
  std::uint64_t transfers() const { return transfers_; }

 private:
  friend class I2cMux;
  I2cDevice* find(std::uint8_t address);
  std::map<std::uint8_t, std::shared_ptr<I2cDevice>> devices_;
  std::vector<class I2cMux*> muxes_;
  std::uint64_t transfers_ = 0;
};

/// Eight segments behind one address, as a PCA9548: the byte written says which are connected.
class I2cMux final : public I2cDevice {
 public:
  void write(std::span<const std::uint8_t> bytes) override;
  std::uint8_t read() override { return selected_; }
  I2cBus& segment(unsigned channel) { return segments_[channel]; }

 private:
  friend class I2cBus;
  std::array<I2cBus, 8> segments_;
  std::uint8_t selected_ = 0;
};

/// Registers of bytes; a read or write goes on to the next.
class I2cRegisters : public I2cDevice {
 public:
  void write(std::span<const std::uint8_t> bytes) override;
  std::uint8_t read() override { return registers[at_++]; }
  /// Most significant byte first.
  void set(std::uint8_t at, std::int64_t value, unsigned bytes);
  std::array<std::uint8_t, 256> registers{};

 protected:
  virtual bool writable(std::uint8_t) const { return false; }

 private:
  std::uint8_t at_ = 0;
};

/// Sixteen pins, as a PCA9555: inputs at 0 and 1, outputs at 2 and 3, polarity at 4 and 5, directions at 6
/// and 7 (1: input, as after reset).
class Gpio16 final : public I2cRegisters {
 public:
  Gpio16();
  bool output(unsigned pin) const { return registers[2u + pin / 8] >> (pin % 8) & 1; }
  /// An output drives its pin only once its direction is set; before, a resistor pulls it up.
  bool level(unsigned pin) const { return driven(pin) ? output(pin) : true; }
  void set_input(unsigned pin, bool high);
  bool driven(unsigned pin) const { return !(registers[6u + pin / 8] >> (pin % 8) & 1); }

 private:
  bool writable(std::uint8_t at) const override { return at >= 2 && at <= 7; }
};

/// Voltage and current of a supply's output, as a PMBus converter gives them: a command names a word, least
/// significant byte first.
class PowerMonitor final : public I2cDevice {
 public:
  static constexpr std::uint8_t kVoutMode = 0x20, kReadVout = 0x8B, kReadIout = 0x8C, kReadTemperature = 0x8D;
  static constexpr int kVoutExponent = -10;
  void write(std::span<const std::uint8_t> bytes) override;
  std::uint8_t read() override;
  void show(double volts, double amperes, double celsius);

 private:
  std::uint16_t word() const;
  std::uint16_t volts_ = 0, amperes_ = 0, celsius_ = 0;
  std::uint8_t command_ = 0;
  bool second_byte_ = false;
};

/// LINEAR11 of PMBus: five bits of exponent, eleven of mantissa; least significant byte first on the wire.
std::uint16_t to_linear11(double value);
double from_linear11(std::uint16_t word);

}  // namespace weft::power::bmc
