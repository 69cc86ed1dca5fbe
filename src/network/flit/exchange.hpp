// What crosses from the routers of one rank to those of another, once after every window of cycles. A flit or
// credit arrives no sooner than the next window, so nobody has to wait for it within one.
//
// Packets have numbers of their own in each rank: a head takes its record along and gets a number where it
// arrives; the rank it leaves gives the old number back when the tail has followed. What is found out about a
// packet meanwhile, behind its head, follows with the tail.
//
// On cables that can fail frames cross as they are, with the numbers of the rank that sent them, and are
// checked and repeated as on any other (link_layer.hpp); records of packets go beside them, once.
#pragma once

#include <memory>
#include <vector>

#include "network/flit/fabric.hpp"
#include "network/flit/link_layer.hpp"
#include "network/flit/recovery.hpp"
#include "network/flit/sources.hpp"
#include "network/flit/worker.hpp"
#include "network/ranks.hpp"

namespace weft::network::flit {

/// What ranks tell each other between two windows, and then all know of all.
struct Outlook {
  std::uint64_t moved = 0, in_network = 0;  // flits moved ever, and in the network now
  Cycle until = kNever;                     // the run ends there
  Cycle next = kNever;                      // the first cycle in which somebody has something to do
  bool acts = false;                        // something is under way, or an endpoint names a time
  bool aged = false;                        // a packet is older than the limit
  bool sending = false;                     // an endpoint is amid a packet; where routes may change
  bool links_busy = false;                  // a link is in training or not at rest
};

/// Who uses an engine and has his like on all ranks: what they tell each other goes along with what the
/// engines exchange, between two windows.
class Companion {
 public:
  virtual ~Companion() = default;
  virtual void give(Ranks::Bytes& out) = 0;
  /// What each has given in the order of ranks, this one in its place.
  virtual void take(RankReader from_a_rank) = 0;
};

class Exchange final : public OtherRanks {
 public:
  using Workers = std::vector<std::unique_ptr<Worker>>;
  /// `workers`: those of this rank; `links`: of cables that can fail, or null.
  Exchange(Fabric& fabric, Sources& sources, Workers& workers, LinkLayer* links, Ranks& ranks);

  void take_along(Companion& companion) { companion_ = &companion; }
  /// Sends what arrives elsewhere from cycle `now` on, takes what arrives here, and returns the outlook of
  /// all ranks together.
  Outlook meet(Cycle now, Outlook mine);

  void withdraw() override;
  void send_home(std::vector<PacketId>& packets) override;
  std::uint64_t sum(std::uint64_t value) const override {
    ranks_.sum({&value, 1});
    return value;
  }

 private:
  /// The packet that is crossing on a channel to another rank.
  struct Crossing {
    PacketId packet;
    std::uint32_t left;      // flits still to come
    bool damaged, departed;  // what has been told of it
  };
  /// A cable between here and another rank.
  struct Border {
    topology::PortId port;  // here
    unsigned rank;          // of the other end
    EndNumber end;          // of the cable here, where it can fail; else kEnd
  };

  void find_borders();
  Cycle pack(Cycle now);
  void pack_inbox(Inbox& inbox, Cycle now, Ranks::Bytes& out);
  void pack_offers();
  void pack_news();
  void unpack(Cycle now, const Ranks::Bytes& in, Outlook& all);
  void unpack_inbox(RankReader& reader, Cycle now);
  void unpack_notes(RankReader& reader);
  void begin(Crossing& crossing, PacketId packet);
  void end(Crossing& crossing, ChannelNumber to, Ranks::Bytes& notes);
  bool tell_found_out(Crossing& crossing, ChannelNumber to, Ranks::Bytes& notes);
  PacketRecord* record_behind(ChannelNumber at);
  std::size_t place_of(topology::PortId here, unsigned channel) const;
  PortNumber here_of(ChannelNumber to) const { return fabric_.graph.peer(to >> fabric_.state.channel_bits); }
  unsigned channel_of(ChannelNumber to) const { return to & ((1u << fabric_.state.channel_bits) - 1); }
  unsigned rank_of(EndpointId endpoint) const {
    return fabric_.thread_of(fabric_.endpoint_router[endpoint]) / fabric_.own_threads();
  }

  Fabric& fabric_;
  Sources& sources_;
  Workers& workers_;
  LinkLayer* links_;
  Ranks& ranks_;
  Companion* companion_ = nullptr;
  std::vector<std::uint32_t> border_of_;  // by port here: which border, or kNone
  std::vector<Border> borders_;
  std::vector<Crossing> crossings_;             // by border and channel: out of here,
  std::vector<PacketId> arriving_;              // and the number of what comes in
  std::vector<Ranks::Bytes> out_, notes_, in_;  // by rank
  Ranks::Bytes along_, along_of_others_;        // of the companion
};

}  // namespace weft::network::flit
