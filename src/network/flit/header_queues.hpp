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
  HeaderQueues() = default;
  HeaderQueues(unsigned headers, unsigned payload_flits, std::size_t channels)
      : headers_(headers), payload_flits_(payload_flits), lines_(headers ? channels : 0) {}

  bool there_are() const { return headers_ > 0; }
  unsigned all_flits() const { return headers_ + payload_flits_; }

  /// A packet starts, if there is room for its header and for so much of its payload at once.
  [[gnu::noinline]] bool start(ChannelNumber channel, unsigned used, unsigned flits, unsigned payload) {
    Standing before = standing(channel, used, 0);
    if (before.headers >= headers_ || before.payload + payload > payload_flits_) return false;
    lines_[channel].packets.push_back(static_cast<std::uint16_t>(flits));
    lines_[channel].flits += flits;
    return true;
  }
  /// Has the payload of a packet that started room for another flit?
  [[gnu::noinline]] bool goes_on(ChannelNumber channel, unsigned used, unsigned unsent) {
    return standing(channel, used, unsent).payload < payload_flits_;
  }
  void clear() {
    for (Line& line : lines_) line = {};
  }

 private:
  /// What a channel has sent, or promised room for, and what has not gone on from its queues.
  struct Standing {
    unsigned headers, payload;
  };
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

  struct Line {
    std::vector<std::uint16_t> packets;  // flits of each
    unsigned flits = 0;                  // of all of them
  };
  unsigned headers_ = 0, payload_flits_ = 0;
  std::vector<Line> lines_;
};

}  // namespace weft::network::flit
