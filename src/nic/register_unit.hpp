// The register files that an interface answers for: its own, and those of routers (abi/registers.hpp). A put
// or get with the flag kRegisters comes here instead of to memory.
//
// A write that would change a field its writer may not write is refused as a whole, as are requests for
// registers that are not there; what hardware alone writes is ignored in it. Who may do what follows from the
// node a request comes from: any process of the manager's node is the manager.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "abi/register_access.hpp"
#include "nic/context.hpp"
#include "nic/port.hpp"

namespace weft::nic {

class RegisterUnit {
 public:
  RegisterUnit(Context& context, NicId interface, const PortTable& ports, const Counters& counters)
      : context_(context), interface_(interface), ports_(ports), counters_(counters) {}

  /// When a request that is ready at this interface has been done at its chip.
  Time serve(const Header& request, Time ready);
  /// From the chip back to this interface.
  Time way_back(const Header& request) {
    return request.remote_key ? context_.chips.way_to(request.remote_key) : Time{0};
  }

  Status read(const Header& request, std::vector<std::uint8_t>& values);
  Status write(const Header& request, std::span<const std::uint8_t> values);

 private:
  /// What software has written into a file, and since when it counts.
  struct File {
    std::uint64_t manager = 0;  // the whole register
    std::uint64_t mark = 0, scratch = 0;
    std::uint32_t done = 0, refused = 0;
    Counters cleared = {};
    std::vector<network::Network::PortState> cleared_links = {};  // by port; empty: from the start
    Time free{0};
  };
  using Word = abi::registers::Word;

  File& file(ChipNumber chip);
  Status find(const Header& request, std::uint64_t offset, Word& word) const;
  Status check_chip(ChipNumber chip) const;
  std::uint64_t indices(ChipNumber chip, std::uint64_t block) const;
  std::uint64_t value(ChipNumber chip, const Word& word);
  std::uint64_t chip_value(ChipNumber chip, std::uint64_t offset);
  std::uint64_t interface_value(std::uint64_t offset);
  std::uint64_t link_value(ChipNumber chip, std::uint64_t offset, topology::PortIndex port) const;
  std::uint64_t traffic_value(ChipNumber chip, std::uint64_t offset, topology::PortIndex port);
  std::uint64_t route_value(ChipNumber chip, std::uint64_t index) const;
  void store(ChipNumber chip, const Word& word, std::uint64_t value);
  void clear_counters(ChipNumber chip);
  abi::registers::Who asker(const Header& request);
  static bool is_kept(const Word& word);
  std::uint64_t table_classes() const;
  bool port_up(topology::PortId port) const;
  network::Network::PortState port_state(topology::PortId port) const;
  topology::EndpointId node() const { return context_.nodes[interface_]; }

  Context& context_;
  NicId interface_;
  const PortTable& ports_;
  const Counters& counters_;
  File own_{.manager = context_.nic.manager};
  std::map<topology::RouterId, File> routers_;  // those that software has asked
};

}  // namespace weft::nic
