// Ports of the ranks: which are open, whose each is, and what goes through their rings.
#pragma once

#include <vector>

#include "host/segment.hpp"
#include "nic/fabric.hpp"

namespace weft::host {

class RankPorts {
 public:
  /// `nics`: the interface of each rank.
  RankPorts(nic::Fabric& fabric, const Segments& segments, std::vector<nic::NicId> nics);

  nic::NicId nic(std::uint32_t rank) const { return nics_[rank]; }
  bool is_open(std::uint32_t rank, std::uint64_t index) const {
    return index < kPortsPerProcess && ports_[rank][index].open;
  }
  nic::PortRef port(std::uint32_t rank, unsigned index) const {
    return {nics_[rank], ports_[rank][index].number};
  }
  /// kNoRank: nobody's.
  std::uint32_t rank_of(nic::PortRef port) const;

  /// The first that is not open; kPortsPerProcess: all are.
  unsigned free_index(std::uint32_t rank) const;
  /// Returns the slots of its message ring.
  unsigned open(std::uint32_t rank, unsigned index, nic::PortNo number);
  void close(std::uint32_t rank, unsigned index);
  /// Those of a process that is gone: what is in its memory stays as it is.
  void abandon(std::uint32_t rank);
  /// Is work posted there not done yet? `index`: kAnyPort for all of them.
  bool busy(std::uint32_t rank, std::uint32_t index) const;

  /// When the first entry in the rings of the ports named may be seen; kNever: there is none.
  Time first_entry(std::uint32_t rank, std::uint32_t named) const;
  bool queue_full(std::uint32_t rank, unsigned index) const { return segments_[rank]->queue_full(index); }

  /// Takes what a rank has posted, at times from `earliest` to `latest`, and what it has taken from its
  /// rings. True where something was posted.
  bool take_posted(std::uint32_t rank, Time earliest, Time latest);

  // From the interfaces.
  struct Place {
    std::uint32_t rank;
    unsigned index;
  };
  Place place_of(nic::PortRef port) const;

 private:
  struct Port {
    bool open = false;
    nic::PortNo number = 0;
  };
  static constexpr std::uint64_t kNobody = ~0ull;

  nic::Fabric& fabric_;
  const Segments& segments_;
  std::vector<nic::NicId> nics_;
  std::vector<std::vector<Port>> ports_;                   // by rank and index
  std::vector<std::vector<std::uint64_t>> owner_of_port_;  // by nic and port: rank << 8 | index
  std::vector<nic::Descriptor> posted_;
};

}  // namespace weft::host
