// The on-chip network of an interface (EXTOLL's HTAX): a table of intervals of addresses says, for each
// input, which unit takes an access. What lies in no interval goes nowhere.
//
//   host's bus, port with devices -> interval -> shared memory unit -> network
//                                             -> register file
//                                             -> requester pages of messages or RDMA
//
// The host of a port, on another node, comes by the network and enters at the port's input.
#pragma once

#include <span>
#include <vector>

#include "nic/interval.hpp"
#include "pcie/tlp.hpp"

namespace weft::nic {

class RegisterUnit;
class RequesterPages;

class OnChip {
 public:
  /// Addresses of a unit.
  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 40;

  OnChip(RegisterUnit& registers, RequesterPages& pages) : registers_(registers), pages_(pages) {}

  /// False where it overlaps another of the same input.
  bool open(const Interval& interval);
  /// All that lead to the network there.
  void close(NicId target);
  /// The one of an input that begins here, where it leads to the network.
  void close_at(std::uint8_t input, std::uint64_t first);
  const std::vector<Interval>& intervals() const { return intervals_; }
  /// The one that has all of these addresses; nothing where none has.
  const Interval* find(std::uint8_t input, std::uint64_t address, std::uint64_t bytes) const;

  /// The unit here that takes a packet; Network: none of them.
  Unit unit_of(std::uint8_t input, const pcie::Tlp& tlp) const;
  /// When it has done what comes now.
  Time ready(Unit unit, Time now);
  /// Does it; `answer`: what is read. False where the unit refuses.
  bool access(std::uint8_t input, const pcie::Tlp& tlp, std::span<const std::uint8_t> data,
              const Asker& asker, std::vector<std::uint8_t>& answer);

 private:
  bool access_registers(const pcie::Tlp& tlp, std::uint64_t offset, std::span<const std::uint8_t> data,
                        const Asker& asker, std::vector<std::uint8_t>& answer);

  RegisterUnit& registers_;
  RequesterPages& pages_;
  std::vector<Interval> intervals_;
  std::vector<std::uint8_t> word_;
};

}  // namespace weft::nic
