#include "guest/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::guest {

namespace {

constexpr std::size_t kEthernetHeader = 14;
constexpr std::uint32_t kIp = 0x0800, kArp = 0x0806;
constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17;

std::uint32_t word16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 8 | bytes[at + 1];
}
std::uint32_t word32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return word16(bytes, at) << 16 | word16(bytes, at + 2);
}

/// What is behind the header of an IP packet of this protocol; nothing where it is another, or cut short.
std::span<const std::uint8_t> payload_of(std::span<const std::uint8_t> packet, std::uint8_t protocol) {
  if (packet.size() < 20 || packet[9] != protocol) return {};
  const std::size_t header = static_cast<std::size_t>(packet[0] & 15) * 4, total = word16(packet, 2);
  if (header < 20 || total > packet.size() || total < header) return {};
  return packet.subspan(header, total - header);
}

std::string address_text(std::span<const std::uint8_t> packet, std::size_t at) {
  return fmt::format("{}.{}.{}.{}", packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
}

}  // namespace

void Slices::add(std::size_t node, Time at, std::uint64_t count) {
  const std::size_t nodes = counts_.size() / kSlices;
  while (at.value / width_.value >= kSlices) {
    for (std::size_t n = 0; n < nodes; ++n) {
      std::uint64_t* of = &counts_[n * kSlices];
      for (unsigned i = 0; i < kSlices / 2; ++i) of[i] = of[2 * i] + of[2 * i + 1];
      std::fill(of + kSlices / 2, of + kSlices, 0);
    }
    width_ = Time{width_.value * 2};
  }
  counts_[node * kSlices + static_cast<std::size_t>(at.value / width_.value)] += count;
}

void Traffic::sent(std::size_t node, Time at, std::span<const std::uint8_t> frame) {
  if (frame.size() < kEthernetHeader) return;
  slices_.add(node, at, frame.size());
  if (frame[0] == 0x02 && frame[1] == 0x57 && word32(frame, 2) < nodes_) {
    bytes_[node * nodes_ + word32(frame, 2)] += frame.size();
  } else {
    broadcast_ += frame.size();
  }
  if (word16(frame, 12) != kIp || !tcp_again(frame.subspan(kEthernetHeader))) return;
  ++again_[node];
  again_slices_.add(node, at, 1);
}

bool Traffic::tcp_again(std::span<const std::uint8_t> packet) {
  constexpr std::uint8_t kSyn = 2, kFin = 1;
  const std::span<const std::uint8_t> tcp = payload_of(packet, kTcp);
  if (tcp.size() < 20) return false;
  const std::size_t data_at = static_cast<std::size_t>(tcp[12] >> 4) * 4;
  if (data_at < 20 || data_at > tcp.size()) return false;
  const std::uint32_t first = word32(tcp, 4);
  const auto length =
      static_cast<std::uint32_t>(tcp.size() - data_at + (tcp[13] & kSyn ? 1 : 0) + (tcp[13] & kFin ? 1 : 0));
  if (length == 0) return false;
  auto [entry, fresh] =
      ends_.try_emplace({word32(packet, 12), word32(packet, 16), word32(tcp, 0)}, first + length);
  if (fresh || (tcp[13] & kSyn && static_cast<std::int32_t>(first - entry->second) > 0)) {
    entry->second = first + length;
    return false;
  }
  const bool again = static_cast<std::int32_t>(first - entry->second) < 0;
  if (static_cast<std::int32_t>(first + length - entry->second) > 0) entry->second = first + length;
  return again;
}

std::string describe_frame(std::span<const std::uint8_t> frame) {
  if (frame.size() < kEthernetHeader) return "no frame";
  const std::uint32_t kind = word16(frame, 12);
  if (kind == kArp) return "ARP";
  const std::span<const std::uint8_t> packet = frame.subspan(kEthernetHeader);
  if (kind != kIp || packet.size() < 20) return fmt::format("Ethernet type {:#06x}", kind);
  const std::string from = address_text(packet, 12), to = address_text(packet, 16);
  if (auto tcp = payload_of(packet, kTcp); tcp.size() >= 20) {
    const std::size_t header = static_cast<std::size_t>(tcp[12] >> 4) * 4;
    return fmt::format("TCP {}:{} > {}:{}, {} bytes", from, word16(tcp, 0), to, word16(tcp, 2),
                       tcp.size() - std::min(header, tcp.size()));
  }
  if (auto udp = payload_of(packet, kUdp); udp.size() >= 8)
    return fmt::format("UDP {}:{} > {}:{}, {} bytes", from, word16(udp, 0), to, word16(udp, 2),
                       udp.size() - 8);
  if (auto icmp = payload_of(packet, kIcmp); icmp.size() >= 8)
    return fmt::format("ICMP {} {} > {}",
                       icmp[0] == 8   ? "echo request"
                       : icmp[0] == 0 ? "echo reply"
                                      : "message",
                       from, to);
  return fmt::format("IP protocol {} {} > {}", packet[9], from, to);
}

}  // namespace weft::guest
