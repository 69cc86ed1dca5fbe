// Local inputs with a queue for headers beside the one for payload, as their senders see them.
//
// The router gives a credit back for each flit, header or not, in the order they came. A sender that
// remembers how long its packets were knows which of them were headers: so routers know nothing of this.
#pragma once

#include <cstdint>
#include <vector>

#include "network/flit/state.hpp"

namespace weft::network::flit {

class HeaderQueues {
 public:
  /// What a channel has sent, or promised room for, and what has not gone on from its queues.
  struct Standing {
    unsigned headers, payload;
  };

  HeaderQueues() = default;
  HeaderQueues(unsigned headers, unsigned payload_flits, std::size_t channels)
      : headers_(headers), payload_flits_(payload_flits), lines_(headers ? channels : 0) {}

  bool there_are() const { return headers_ > 0; }
  unsigned all_flits() const { return headers_ + payload_flits_; }

  /// `used`: flits that have room there, now or promised; `unsent`: flits of the last packet without.
  Standing standing(ChannelNumber channel, unsigned used, unsigned unsent) {
    Line& line = lines_[channel];
    unsigned gone = line.flits - used - unsent;  // of the packets remembered, from the first on
    std::size_t whole = 0;
    while (whole < line.packets.size() && line.packets[whole] <= gone) gone -= line.packets[whole++];
    for (std::size_t i = 0; i < whole; ++i) line.flits -= line.packets[i];
    line.packets.erase(line.packets.begin(), line.packets.begin() + static_cast<std::ptrdiff_t>(whole));
    unsigned headers = static_cast<unsigned>(line.packets.size()) - (gone > 0);
    return {headers, used - headers};
  }

  bool take_packet(Standing standing, unsigned payload_at_once) const {
    return standing.headers < headers_ && standing.payload + payload_at_once <= payload_flits_;
  }
  bool take_payload(Standing standing) const { return standing.payload < payload_flits_; }

  void start(ChannelNumber channel, unsigned flits) {
    lines_[channel].packets.push_back(static_cast<std::uint16_t>(flits));
    lines_[channel].flits += flits;
  }
  void clear() {
    for (Line& line : lines_) line = {};
  }

 private:
  struct Line {
    std::vector<std::uint16_t> packets;  // flits of each
    unsigned flits = 0;                  // of all of them
  };
  unsigned headers_ = 0, payload_flits_ = 0;
  std::vector<Line> lines_;
};

}  // namespace weft::network::flit
