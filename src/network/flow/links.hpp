// The directed links a fluid crosses: what each carries and how long it takes.
//
// A router's output port p is link p, whether it leads to another router or to an endpoint; the way from
// endpoint e into its router is link ports + e. Rates and delays are those of the flit engine: a port moves
// one flit in a cycle, a slower cable less.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace weft::network::flow {

using LinkId = std::uint32_t;
using topology::EndpointId;

class Links {
 public:
  explicit Links(const machine::Machine& machine);

  std::uint32_t count() const { return ports_ + endpoints_; }
  LinkId injection(EndpointId e) const { return ports_ + e; }
  LinkId ejection(EndpointId e) const { return graph_.endpoint_port(e); }

  /// Bytes per picosecond; 0 where no cable is plugged in.
  double capacity(LinkId l) const { return kinds_[kind_[l]].bytes_per_ps; }
  /// From a byte entering the router before the link (or the endpoint) to its leaving the link.
  std::int64_t delay_ps(LinkId l) const { return kinds_[kind_[l]].delay_ps; }
  double endpoint_capacity() const { return kinds_[kInject].bytes_per_ps; }
  /// Packets cross the wire in whole flits.
  std::uint64_t wire_bytes(std::uint64_t bytes) const {
    return bytes == 0 ? flit_bytes_ : (bytes + flit_bytes_ - 1) / flit_bytes_ * flit_bytes_;
  }
  /// "r3.p1 -> r4", "e7 -> r3".
  std::string name(LinkId l) const;

 private:
  // Cables of one type and length are alike: a machine has few kinds, and a link only names its own.
  struct Kind {
    double bytes_per_ps = 0;
    std::int64_t delay_ps = 0;
  };
  static constexpr std::uint16_t kNowhere = 0, kInject = 1, kEject = 2;

  const topology::Graph& graph_;
  std::uint32_t ports_, endpoints_;
  std::uint64_t flit_bytes_;
  std::vector<Kind> kinds_;
  std::vector<std::uint16_t> kind_;  // by link
};

}  // namespace weft::network::flow
