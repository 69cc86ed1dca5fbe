// How the processor of a node reaches devices of other nodes through its interface, and they its memory.
// Loads and stores cross the bus, and an interval of the on-chip network says where they go: to a unit of the
// chip, or as packets of PCI Express to another node. What devices ask for is read from and written to memory
// over the same bus, and a write to the place of interrupts interrupts the processor.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "base/slab.hpp"
#include "machine/nic_parameters.hpp"
#include "nic/on_chip.hpp"
#include "nic/smfu.hpp"

namespace weft::nic {

class Fabric;

/// Whoever runs on the node.
class BridgeUser {
 public:
  virtual ~BridgeUser() = default;
  /// False where that is no memory, or not for that device.
  virtual bool dma_read(NicId device, std::uint64_t address, std::span<std::uint8_t> to) = 0;
  virtual bool dma_write(NicId device, std::uint64_t address, std::span<const std::uint8_t> from) = 0;
  virtual bool is_interrupt(std::uint64_t address) const = 0;
  virtual void interrupted(NicId device, std::uint32_t data) = 0;
  /// A read has come back; failed: all ones.
  virtual void read_done(std::uint32_t token, bool well, std::span<const std::uint8_t> data) = 0;
};

class HostBridge final : public TlpSink, private event::EventHandler {
 public:
  HostBridge(Fabric& fabric, NicId own, event::EventQueue& queue, const machine::HostParameters& host,
             BridgeUser& user);

  /// The processor's accesses, begun at `from`. `tlp` says what and where; its tag is given here. `to`: the
  /// node of it; kNobody: where intervals lead. Of a write of configuration nobody hears the end.
  void read(NicId to, const pcie::Tlp& tlp, Time from, std::uint32_t token);
  void write(NicId to, const pcie::Tlp& tlp, std::span<const std::uint8_t> data, Time from);
  /// The first time at which the processor can hear of anything, where nothing happens outside before
  /// `quiet`.
  Time undisturbed_until(Time quiet) const;

  void arrived(NicId from, const pcie::Tlp& tlp, std::span<const std::uint8_t> data) override;

 private:
  enum Kind : std::uint32_t { kSend, kAnswer, kMemoryRead, kMemoryWrite, kInterrupt, kUnit };
  struct Job {
    NicId other = 0;
    pcie::Tlp tlp;
    std::uint32_t token = 0;
    bool well = true;
    Time begun{0};
    std::vector<std::uint8_t> data;
  };

  void handle(const event::Event& event) override;
  std::uint32_t new_job(NicId other, const pcie::Tlp& tlp, std::span<const std::uint8_t> data);
  void tell_at(Time when, Kind kind, std::uint32_t index);
  void told();
  void set_out(std::uint32_t index);
  void end_unit(std::uint32_t index);
  void end_read(std::uint32_t index);
  void send_waiting();
  void completed(const pcie::Tlp& tlp, std::span<const std::uint8_t> data);
  void answer_read(std::uint32_t index);
  void end_write(std::uint32_t index);

  NicId own_;
  Smfu& smfu_;
  OnChip& chip_;
  node::Bus& bus_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  Time interrupt_, snoop_;
  BridgeUser& user_;
  Slab<Job, 64> jobs_;
  std::array<std::uint32_t, 256> tags_;  // jobs by tag; kNobody: none
  std::vector<std::uint8_t> free_tags_;
  std::deque<std::uint32_t> waiting_;  // for a tag
  std::uint32_t open_ = 0;             // reads
  std::vector<Time> tells_;            // when the processor hears of something
  Time last_write_{0};
};

}  // namespace weft::nic
