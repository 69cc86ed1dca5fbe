#include "power/bmc/i2c.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::power::bmc {

void I2cBus::attach(std::uint8_t address, std::shared_ptr<I2cDevice> device) {
  if (auto* mux = dynamic_cast<I2cMux*>(device.get())) muxes_.push_back(mux);
  const bool fresh = devices_.emplace(address, std::move(device)).second;
  WEFT_CHECK(fresh, "two devices at one address of a segment");
}

I2cDevice* I2cBus::find(std::uint8_t address) {
  if (auto at = devices_.find(address); at != devices_.end()) return at->second.get();
  for (I2cMux* mux : muxes_)
    for (unsigned channel = 0; channel < 8; ++channel)
      if (mux->selected_ >> channel & 1)
        if (I2cDevice* device = mux->segments_[channel].find(address)) return device;
  return nullptr;
}

bool I2cBus::transfer(std::uint8_t address, std::span<const std::uint8_t> out, std::span<std::uint8_t> in) {
  ++transfers_;
  I2cDevice* device = find(address);
  if (!device) return false;
  if (!out.empty()) device->write(out);
  for (std::uint8_t& byte : in) byte = device->read();
  return true;
}

void I2cMux::write(std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) selected_ = bytes.back();
}

void I2cRegisters::write(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return;
  at_ = bytes.front();
  for (std::uint8_t byte : bytes.subspan(1)) {
    if (writable(at_)) registers[at_] = byte;
    ++at_;
  }
}

void I2cRegisters::set(std::uint8_t at, std::int64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    registers[static_cast<std::uint8_t>(at + i)] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
}

Gpio16::Gpio16() {
  registers[2] = registers[3] = 0xff;
  registers[6] = registers[7] = 0xff;
}

void Gpio16::set_input(unsigned pin, bool high) {
  std::uint8_t& byte = registers[pin / 8];
  const auto bit = static_cast<std::uint8_t>(1u << (pin % 8));
  byte = static_cast<std::uint8_t>(high ? byte | bit : byte & ~bit);
}

void PowerMonitor::write(std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) command_ = bytes.front();
  second_byte_ = false;
}

std::uint16_t PowerMonitor::word() const {
  switch (command_) {
    case kVoutMode:
      return kVoutExponent & 0x1f;
    case kReadVout:
      return volts_;
    case kReadIout:
      return amperes_;
    case kReadTemperature:
      return celsius_;
    default:
      return 0xffff;
  }
}

std::uint8_t PowerMonitor::read() {
  const std::uint16_t value = word();
  second_byte_ = !second_byte_;
  return static_cast<std::uint8_t>(second_byte_ ? value : value >> 8);
}

void PowerMonitor::show(double volts, double amperes, double celsius) {
  volts_ = static_cast<std::uint16_t>(std::clamp(std::lround(std::ldexp(volts, -kVoutExponent)), 0l, 65535l));
  amperes_ = to_linear11(amperes);
  celsius_ = to_linear11(celsius);
}

std::uint16_t to_linear11(double value) {
  int exponent = -16;
  while (exponent < 15 && std::abs(std::lround(std::ldexp(value, -exponent))) > 1023) ++exponent;
  const long mantissa = std::clamp(std::lround(std::ldexp(value, -exponent)), -1024l, 1023l);
  return static_cast<std::uint16_t>((exponent & 0x1f) << 11 | (mantissa & 0x7ff));
}

double from_linear11(std::uint16_t word) {
  int exponent = word >> 11, mantissa = word & 0x7ff;
  if (exponent > 15) exponent -= 32;
  if (mantissa > 1023) mantissa -= 2048;
  return std::ldexp(mantissa, exponent);
}

}  // namespace weft::power::bmc
