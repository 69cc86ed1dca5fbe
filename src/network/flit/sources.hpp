// The sending side of endpoints: their queues, and the packets there are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "network/flit/header_queues.hpp"
#include "network/flit/packets.hpp"
#include "network/flit/state.hpp"

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
  Sources(std::size_t endpoints, PacketId most_packets, HeaderQueues local_headers)
      : senders(endpoints), packets(most_packets), header_queues(std::move(local_headers)) {
    WEFT_CHECK(most_packets <= PacketStore::kMaxPackets, "packets have numbers of 27 bits");
  }

  /// Puts a packet at the end of its source's queue.
  void append(PacketId id) {
    Sender& sender = senders[packets[id].source];
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
    return std::all_of(senders.begin(), senders.end(),
                       [](const Sender& sender) { return sender.current == kNoPacket; });
  }

  LargeArray<Sender> senders;  // by endpoint
  PacketStore packets;
  HeaderQueues header_queues;  // by the channels of all ports
  bool holding = false;        // endpoints start no packet
};

}  // namespace weft::network::flit
