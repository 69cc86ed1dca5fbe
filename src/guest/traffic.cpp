#include "guest/traffic.hpp"

namespace weft::guest {

namespace {

std::uint32_t word16(std::span<const std::uint8_t> bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 8 | bytes[at + 1];
}
std::uint32_t word32(std::span<const std::uint8_t> bytes, std::size_t at) {
  return word16(bytes, at) << 16 | word16(bytes, at + 2);
}

}  // namespace

void Traffic::sent(std::size_t node, std::span<const std::uint8_t> frame) {
  if (frame.size() < 14) return;
  if (frame[0] == 0x02 && frame[1] == 0x57 && word32(frame, 2) < nodes_) {
    bytes_[node * nodes_ + word32(frame, 2)] += frame.size();
  } else {
    broadcast_ += frame.size();
  }
  constexpr std::uint32_t kIp = 0x0800;
  if (word16(frame, 12) == kIp) look_at_tcp(node, frame.subspan(14));
}

void Traffic::look_at_tcp(std::size_t node, std::span<const std::uint8_t> packet) {
  constexpr std::uint8_t kTcp = 6, kSyn = 2, kFin = 1;
  if (packet.size() < 20 || packet[9] != kTcp) return;
  const std::size_t header = static_cast<std::size_t>(packet[0] & 15) * 4, total = word16(packet, 2);
  if (header < 20 || total > packet.size() || total < header + 20) return;
  std::span<const std::uint8_t> tcp = packet.subspan(header, total - header);
  const std::size_t data_at = static_cast<std::size_t>(tcp[12] >> 4) * 4;
  if (data_at < 20 || data_at > tcp.size()) return;
  const std::uint32_t first = word32(tcp, 4);
  const auto length =
      static_cast<std::uint32_t>(tcp.size() - data_at + (tcp[13] & kSyn ? 1 : 0) + (tcp[13] & kFin ? 1 : 0));
  if (length == 0) return;
  auto [entry, fresh] =
      ends_.try_emplace({word32(packet, 12), word32(packet, 16), word32(tcp, 0)}, first + length);
  if (fresh || (tcp[13] & kSyn && static_cast<std::int32_t>(first - entry->second) > 0)) {
    entry->second = first + length;
    return;
  }
  if (static_cast<std::int32_t>(first - entry->second) < 0) ++again_[node];
  if (static_cast<std::int32_t>(first + length - entry->second) > 0) entry->second = first + length;
}

}  // namespace weft::guest
