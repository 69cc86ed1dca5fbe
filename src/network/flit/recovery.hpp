// What is done to a network on its way to other routes, between two cycles: endpoints hold their packets
// back, those that cannot leave go back to their sources, and those without a route are given up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "network/flit/fabric.hpp"
#include "network/flit/routes.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/worker.hpp"

namespace weft::network::flit {

/// The other ranks, where there are any; all of them call these at the same time.
class OtherRanks {
 public:
  virtual ~OtherRanks() = default;
  /// The network is going to be emptied: packets between two ranks are where their heads are, and nowhere
  /// else.
  virtual void withdraw() = 0;
  /// Packets that wait for nothing here but to be sent again go to the ranks of their sources.
  virtual void send_home(std::vector<PacketId>& packets) = 0;
  virtual std::uint64_t sum(std::uint64_t value) const = 0;
};

class Recovery {
 public:
  using Workers = std::vector<std::unique_ptr<Worker>>;
  Recovery(Fabric& fabric, Routes& routes, Sources& sources, const Workers& workers)
      : fabric_(fabric), routes_(routes), sources_(sources), workers_(workers) {}

  void join(OtherRanks& others) { others_ = &others; }

  /// While held, endpoints start no packet.
  void hold(bool holding) { sources_.holding = holding; }
  bool nobody_is_sending() const { return sources_.nobody_is_sending(); }
  /// A router that is dead delivers nothing.
  void freeze(topology::RouterId router, bool frozen) { fabric_.freeze(router, frozen); }
  /// Empties the network: every packet that has not arrived waits at its source again. How many left it, on
  /// all ranks.
  std::uint64_t take_back(Cycle now);
  /// Other routes, from the next cycle on; the network is empty.
  void use(const routing::Routing& routing, Cycle now);
  /// Packets without a route are lost; their sources are told. How many, on all ranks.
  using CutOff = std::function<bool(EndpointId source, EndpointId destination)>;
  std::uint64_t give_up(Cycle now, const CutOff& cut_off);

  /// Routes have changed since the last call: what was compiled for the old ones must be made anew.
  bool take_rerouted() { return std::exchange(rerouted_, false); }
  bool rerouted() const { return rerouted_; }

 private:
  std::vector<PacketId> waiting_packets() const;
  std::vector<PacketId> all_packets() const;
  bool for_many(PacketId id) const {
    return sources_.packets[id].message_class == fabric_.settings.message_classes;
  }
  /// Of packets for many alone.
  bool contributes(PacketId id) const { return sources_.packets[id].next_port != topology::kNone; }
  void wait_at_source(PacketId id, Cycle now);
  void contribute_again(std::vector<PacketId>& packets, Cycle now);
  void hand_in_again(std::uint32_t round, const std::vector<bool>& queued, std::vector<PacketId>& packets,
                     Cycle now);
  void send_again_one_by_one(std::vector<PacketId>& packets, Cycle now);
  std::vector<EndpointId> still_without(PacketId id, const std::vector<QueueNumber>& first_of) const;

  Fabric& fabric_;
  Routes& routes_;
  Sources& sources_;
  const Workers& workers_;
  OtherRanks* others_ = nullptr;
  bool rerouted_ = false;
};

}  // namespace weft::network::flit
