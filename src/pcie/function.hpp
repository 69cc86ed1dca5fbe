// A function: a device of PCI Express or HyperTransport, as links and bridges see it. Its place in a tree
// gives it the capability of its bus.
#pragma once

#include <span>
#include <string>

#include "pcie/config_space.hpp"
#include "pcie/tlp.hpp"

namespace weft::pcie {

/// What joins a function to the rest. It takes what the function sends, and splits and checks nothing.
class Upstream {
 public:
  virtual ~Upstream() = default;
  virtual void send(FunctionId from, const Tlp& tlp, std::span<const std::uint8_t> data) = 0;
};

class Function {
 public:
  explicit Function(ConfigSpace space) : config_(std::move(space)) {}
  virtual ~Function() = default;
  Function(const Function&) = delete;

  ConfigSpace& config() { return config_; }
  const ConfigSpace& config() const { return config_; }
  /// In words, for people who look at a tree.
  virtual std::string about() const = 0;

  /// Accesses to what its base address registers have put into memory.
  virtual void bar_read(unsigned bar, std::uint64_t offset, std::span<std::uint8_t> to) = 0;
  virtual void bar_write(unsigned bar, std::uint64_t offset, std::span<const std::uint8_t> from) = 0;
  /// A completion of one of its own requests.
  virtual void completed(const Tlp& tlp, std::span<const std::uint8_t> data) = 0;
  /// As after power on: nothing it was doing goes on.
  virtual void reset() = 0;

  /// It learns its number from the configuration requests that reach it.
  void join(Upstream& upstream) { upstream_ = &upstream; }
  void set_id(FunctionId id) { id_ = id; }
  FunctionId id() const { return id_; }

 protected:
  void send(const Tlp& tlp, std::span<const std::uint8_t> data = {}) {
    if (upstream_) upstream_->send(id_, tlp, data);
  }

 private:
  ConfigSpace config_;
  Upstream* upstream_ = nullptr;
  FunctionId id_;
};

}  // namespace weft::pcie
