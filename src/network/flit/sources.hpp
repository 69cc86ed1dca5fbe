// The sending side of endpoints: their queues, and the packets there are.
#pragma once

#include <cstdint>

#include "network/flit/header_queues.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/state.hpp"
#include "network/flit/traffic_classes.hpp"
#include "network/part.hpp"

namespace weft::network::flit {

/// An endpoint's sending side: packets queued and the one being sent. What it knows of its router's buffers
/// is in the output side of its port.
struct Sender {
  PacketId first = kNoPacket, last = kNoPacket;  // queue
  PacketId current = kNoPacket;
  std::uint16_t left = 0;  // flits of the current packet
  std::uint8_t channel = 0, next_channel = 0;
  bool listed = false;       // among the senders of its tile
  std::uint32_t queued = 0;  // packets in the queue, counted where it has a limit
};

struct Sources {
  Sources(std::size_t all_endpoints, const Part& part, PacketId most_packets, HeaderQueues local_headers,
          const Settings& settings)
      : senders(all_endpoints * settings.traffic_classes(),
                runs_of(part, all_endpoints, settings.traffic_classes())),
        packets(most_packets),
        header_queues(std::move(local_headers)),
        endpoints(all_endpoints),
        classes(settings.traffic_classes()),
        messages_of_class(settings.message_classes / settings.traffic_classes()) {
    if (classes > 1) shares = FairShares(settings.class_weights, endpoints);
    WEFT_CHECK(most_packets <= PacketStore::kMaxPackets, "packets have numbers of 27 bits");
  }

  /// Classes of traffic do not wait for each other at their source either.
  Sender& sender_of(EndpointId source, unsigned message_class) {
    return senders[classes == 1 ? source : source + message_class / messages_of_class * endpoints];
  }
  Sender& sender(EndpointId source, unsigned traffic_class) {
    return senders[source + traffic_class * endpoints];
  }
  /// Has an endpoint anything to send, in any class?
  bool busy(EndpointId source) const {
    for (std::size_t i = source; i < senders.size(); i += endpoints)
      if (senders[i].current != kNoPacket || senders[i].first != kNoPacket) return true;
    return false;
  }

  /// Puts a packet at the end of its source's queue.
  void append(PacketId id) {
    Sender& sender = sender_of(packets[id].source, packets[id].message_class);
    if (sender.first == kNoPacket)
      sender.first = id;
    else
      packets.behind(sender.last) = id;
    sender.last = id;
    ++sender.queued;
  }
  /// The next packet in a source's queue.
  PacketId behind(PacketId id) const { return static_cast<PacketId>(packets.behind(id)); }
  bool nobody_is_sending() const {
    for (const Sender& sender : senders)
      if (sender.current != kNoPacket) return false;
    return true;
  }

  PartArray<Sender> senders;  // by traffic class and endpoint; those of class 0 say who is listed
  PacketStore packets;
  HeaderQueues header_queues;  // by the channels of all ports
  std::size_t endpoints;
  unsigned classes, messages_of_class;
  FairShares shares;     // by endpoint, where there are several classes
  bool holding = false;  // endpoints start no packet

 private:
  static std::vector<Run> runs_of(const Part& part, std::size_t endpoints, std::size_t classes) {
    if (part.endpoints.size() == endpoints) return {{0, endpoints * classes}};
    std::vector<Run> out;
    for (std::size_t c = 0; c < classes; ++c)
      out.push_back({c * endpoints + part.endpoints.begin, c * endpoints + part.endpoints.end});
    return out;
  }
};

}  // namespace weft::network::flit
