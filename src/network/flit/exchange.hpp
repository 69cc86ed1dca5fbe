// What crosses from the routers of one rank to those of another, once after every window of cycles. A flit or
// credit arrives no sooner than the next window, so nobody has to wait for it within one.
//
// Packets have numbers of their own in each rank: a head takes its record along and gets a number where it
// arrives; the rank it leaves gives the old number back when the tail has followed.
#pragma once

#include <memory>
#include <vector>

#include "network/flit/fabric.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/worker.hpp"
#include "network/ranks.hpp"

namespace weft::network::flit {

/// What ranks tell each other between two windows, and then all know of all.
struct Outlook {
  std::uint64_t moved = 0, in_network = 0;  // flits moved ever, and in the network now
  Cycle next = kNever;                      // the first cycle in which somebody has something to do
  bool acts = false;                        // something is under way, or an endpoint names a time
  bool aged = false;                        // a packet is older than the limit
};

class Exchange {
 public:
  /// `workers`: those of this rank.
  Exchange(Fabric& fabric, Sources& sources, std::vector<std::unique_ptr<Worker>>& workers, Ranks& ranks);

  /// Sends what arrives elsewhere from cycle `now` on, takes what arrives here, and returns the outlook of
  /// all ranks together.
  Outlook meet(Cycle now, Outlook mine);

 private:
  /// The packet that is crossing on a channel to another rank.
  struct Crossing {
    PacketId packet;
    std::uint32_t left;  // flits still to come
  };

  void find_borders();
  Cycle pack(Cycle now);
  void pack_inbox(Inbox& inbox, Ranks::Bytes& out);
  void unpack(Cycle now, const Ranks::Bytes& in, Outlook& all);
  Crossing& crossing(ChannelNumber to);

  Fabric& fabric_;
  Sources& sources_;
  std::vector<std::unique_ptr<Worker>>& workers_;
  Ranks& ranks_;
  std::vector<std::uint32_t> crossing_of_;  // by port here that leads to another rank: its first crossing
  std::vector<Crossing> crossings_;         // by its channels
  std::vector<Ranks::Bytes> out_, in_;
};

}  // namespace weft::network::flit
