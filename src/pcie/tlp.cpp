#include "pcie/tlp.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

namespace weft::pcie {

namespace {

struct Shape {
  std::uint8_t type;
  bool data;
};
constexpr std::array<Shape, 8> kShapes{{{0x00, false},
                                        {0x00, true},
                                        {0x04, false},
                                        {0x04, true},
                                        {0x05, false},
                                        {0x05, true},
                                        {0x0a, false},
                                        {0x0a, true}}};
constexpr std::array<const char*, 8> kNames{"MemoryRead",  "MemoryWrite",  "ConfigRead0", "ConfigWrite0",
                                            "ConfigRead1", "ConfigWrite1", "Completion",  "CompletionData"};

void put16(std::vector<std::uint8_t>& out, std::uint32_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}
void put32(std::vector<std::uint8_t>& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}
std::uint32_t get16(std::span<const std::uint8_t> in, std::size_t at) {
  return std::uint32_t{in[at]} << 8 | in[at + 1];
}
std::uint32_t get32(std::span<const std::uint8_t> in, std::size_t at) {
  return get16(in, at) << 16 | get16(in, at + 2);
}

/// Where the first byte is in its word.
std::uint32_t skew(const Tlp& tlp) {
  return static_cast<std::uint32_t>((tlp.is_config() ? tlp.register_ : tlp.address) % 4);
}
std::uint32_t words(const Tlp& tlp) { return (skew(tlp) + tlp.bytes + 3) / 4; }

bool long_address(const Tlp& tlp) {
  return (tlp.kind == TlpKind::MemoryRead || tlp.kind == TlpKind::MemoryWrite) && tlp.address >> 32 != 0;
}

/// Enables of the first and of the last word.
std::uint8_t enables(const Tlp& tlp) {
  const std::uint32_t first = skew(tlp), end = first + tlp.bytes, last_end = (end - 1) % 4 + 1;
  const std::uint32_t from = 0xfu << first & 0xf, until = 0xfu >> (4 - last_end);
  return static_cast<std::uint8_t>(words(tlp) == 1 ? from & until : until << 4 | from);
}

Decoded refused(const char* why) {
  Decoded out;
  out.error = why;
  return out;
}

/// First byte and length, from words and enables; false where bytes in between are left out.
bool read_enables(std::uint32_t words, std::uint8_t enables, std::uint32_t& first, std::uint32_t& bytes) {
  const std::uint32_t from = enables & 0xf, until = enables >> 4;
  if (from == 0 || (words == 1) != (until == 0)) return false;
  first = static_cast<std::uint32_t>(std::countr_zero(from));
  const std::uint32_t first_bits = from >> first;
  if (first_bits & (first_bits + 1)) return false;
  if (words == 1) {
    bytes = static_cast<std::uint32_t>(std::popcount(from));
    return true;
  }
  if (first + static_cast<std::uint32_t>(std::popcount(from)) != 4 || (until & (until + 1))) return false;
  bytes = words * 4 - first - (4 - static_cast<std::uint32_t>(std::popcount(until)));
  return true;
}

Decoded decode_completion(std::span<const std::uint8_t> in, Decoded out) {
  Tlp& t = out.tlp;
  t.completer = FunctionId(static_cast<std::uint16_t>(get16(in, 4)));
  t.status = static_cast<CompletionStatus>(in[6] >> 5);
  if (t.status != CompletionStatus::Successful && t.status != CompletionStatus::Unsupported &&
      t.status != CompletionStatus::Retry && t.status != CompletionStatus::Abort)
    return refused("a status that completions do not have");
  t.bytes_left = get16(in, 6) & 0xfff;
  if (t.bytes_left == 0) t.bytes_left = kLargestAccess;
  t.requester = FunctionId(static_cast<std::uint16_t>(get16(in, 8)));
  t.tag = in[10];
  if (in[11] & 0x80) return refused("a reserved bit is set");
  t.address = in[11];
  if (t.kind == TlpKind::Completion) {
    t.bytes = 0;
    return out;
  }
  // A completion has no enables: its data ends with its words, or with what is left of the request.
  const std::uint32_t first = static_cast<std::uint32_t>(t.address % 4);
  const auto room = static_cast<std::uint32_t>(out.data.size()) - first;
  t.bytes = room < t.bytes_left ? room : t.bytes_left;
  if (t.bytes + 3 < room) return refused("more words than there is data");
  out.data = out.data.subspan(first, t.bytes);
  return out;
}

Decoded decode_request(std::span<const std::uint8_t> in, bool wide, std::uint32_t words, Decoded out) {
  Tlp& t = out.tlp;
  t.requester = FunctionId(static_cast<std::uint16_t>(get16(in, 4)));
  t.tag = in[6];
  std::uint32_t first = 0;
  if (!read_enables(words, in[7], first, t.bytes)) return refused("enables that leave bytes out");
  if (t.is_config()) {
    if (words != 1) return refused("a configuration request of more than one word");
    t.target = FunctionId(static_cast<std::uint16_t>(get16(in, 8)));
    if (in[10] & 0xf0 || in[11] & 3) return refused("a reserved bit is set");
    t.register_ = static_cast<std::uint16_t>((in[10] & 0xf) << 8 | (in[11] & 0xfc) | first);
  } else {
    const std::uint64_t high = wide ? get32(in, 8) : 0, low = get32(in, wide ? 12 : 8);
    if (low & 3) return refused("an address that is no word's");
    if (wide && !high) return refused("a long address for a short one");
    t.address = (high << 32 | low) + first;
    if (t.address % kPage + t.bytes > kPage) return refused("an access over the boundary of a page");
  }
  if (t.has_data()) out.data = out.data.subspan(first, t.bytes);
  return out;
}

}  // namespace

std::uint32_t Tlp::wire_bytes() const {
  return (long_address(*this) ? kLongHeader : kShortHeader) + (has_data() ? words(*this) * 4 : 0);
}

void encode(const Tlp& t, std::span<const std::uint8_t> data, std::vector<std::uint8_t>& out) {
  const Shape& shape = kShapes[static_cast<std::size_t>(t.kind)];
  const bool wide = long_address(t);
  const std::uint32_t length = t.kind == TlpKind::Completion ? 0 : words(t);
  out.push_back(static_cast<std::uint8_t>((shape.data ? 0x40 : 0) | (wide ? 0x20 : 0) | shape.type));
  out.push_back(0);
  put16(out, length & 0x3ff);
  if (t.is_completion()) {
    put16(out, t.completer.value);
    put16(out, static_cast<std::uint32_t>(t.status) << 13 | (t.bytes_left & 0xfff));
    put16(out, t.requester.value);
    out.push_back(t.tag);
    out.push_back(static_cast<std::uint8_t>(t.address & 0x7f));
  } else {
    put16(out, t.requester.value);
    out.push_back(t.tag);
    out.push_back(enables(t));
    if (t.is_config()) {
      put16(out, t.target.value);
      put16(out, t.register_ & 0xffcu);
    } else {
      if (wide) put32(out, static_cast<std::uint32_t>(t.address >> 32));
      put32(out, static_cast<std::uint32_t>(t.address) & ~3u);
    }
  }
  if (!t.has_data()) return;
  const std::size_t end = out.size() + std::size_t{length} * 4;
  out.resize(out.size() + skew(t));
  out.insert(out.end(), data.begin(), data.begin() + t.bytes);
  out.resize(end);
}

Decoded decode(std::span<const std::uint8_t> in) {
  if (in.size() < kShortHeader) return refused("shorter than a header");
  const std::uint8_t type = in[0] & 0x1f;
  const bool data = in[0] & 0x40, wide = in[0] & 0x20;
  if (in[0] & 0x80) return refused("a prefix, which is not known here");
  if (in[1] || in[2] & 0xfc) return refused("attributes, which are not known here");
  Decoded out;
  std::size_t kind = 0;
  while (kind < kShapes.size() && (kShapes[kind].type != type || kShapes[kind].data != data)) ++kind;
  if (kind == kShapes.size()) return refused("no such type");
  out.tlp.kind = static_cast<TlpKind>(kind);
  if (wide && kind > 1) return refused("a long address where there is none");
  const std::size_t header = wide ? kLongHeader : kShortHeader;
  std::uint32_t words = get16(in, 2) & 0x3ff;
  if (out.tlp.kind == TlpKind::Completion) {
    if (words) return refused("a length without data");
  } else if (words == 0) {
    words = 1024;
  }
  if (in.size() != header + (data ? std::size_t{words} * 4 : 0)) return refused("not as long as it says");
  out.data = in.subspan(header);
  return out.tlp.is_completion() ? decode_completion(in, out) : decode_request(in, wide, words, out);
}

std::string text_of(const Tlp& t) {
  auto name = [](FunctionId id) {
    return fmt::format("{:02x}:{:02x}.{}", id.bus(), id.device(), id.function());
  };
  std::string out =
      fmt::format("{} {} tag {}", kNames[static_cast<std::size_t>(t.kind)], name(t.requester), t.tag);
  if (t.is_config()) {
    out += fmt::format(" to {} register {:#x}", name(t.target), t.register_);
  } else if (t.is_completion()) {
    out += fmt::format(" of {} status {} left {}", name(t.completer), static_cast<unsigned>(t.status),
                       t.bytes_left);
  } else {
    out += fmt::format(" {:#x}", t.address);
  }
  return out + fmt::format(" {} B", t.bytes);
}

Tlp completion_of(const Tlp& request, FunctionId completer, std::uint32_t offset, std::uint32_t bytes) {
  Tlp out;
  out.kind = bytes ? TlpKind::CompletionData : TlpKind::Completion;
  out.requester = request.requester;
  out.tag = request.tag;
  out.completer = completer;
  // Of a configuration request the lower address is 0 by the rules; data then begins with its word. Here the
  // bytes asked for come alone, so that both are read alike.
  const std::uint64_t from = request.is_config() ? request.register_ % 4 : request.address + offset;
  out.address = from & 0x7f;
  out.bytes = bytes;
  out.bytes_left = bytes ? request.bytes - offset : 4;
  return out;
}

Tlp failure_of(const Tlp& request, FunctionId completer, CompletionStatus status) {
  Tlp out = completion_of(request, completer, 0, 0);
  out.status = status;
  out.bytes_left = request.bytes;
  return out;
}

}  // namespace weft::pcie
