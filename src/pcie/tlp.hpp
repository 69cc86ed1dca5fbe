// Transaction-layer packets of PCI Express: what they say, and their bytes on a link.
//
// Here an access has an address and a length in bytes. On the wire it has words of four bytes and enables for
// the first and the last of them; `encode` and `decode` go from one to the other, and `decode` believes
// nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::pcie {

enum class TlpKind : std::uint8_t {
  MemoryRead,
  MemoryWrite,
  ConfigRead0,  // for the device at the end of this link
  ConfigWrite0,
  ConfigRead1,  // for one behind bridges: the last bridge makes it type 0
  ConfigWrite1,
  Completion,  // of a write, or of what failed
  CompletionData,
};

/// Classes that links give credits for, each on its own.
enum class Traffic : std::uint8_t { Posted, NonPosted, Completion };
inline constexpr std::size_t kClasses = 3;

enum class CompletionStatus : std::uint8_t { Successful = 0, Unsupported = 1, Retry = 2, Abort = 4 };

/// Bus, device and function, as they are written: 01:00.0.
struct FunctionId {
  std::uint16_t value = 0;
  constexpr FunctionId() = default;
  constexpr explicit FunctionId(std::uint16_t bits) : value(bits) {}
  constexpr FunctionId(unsigned bus, unsigned device, unsigned function)
      : value(static_cast<std::uint16_t>(bus << 8 | device << 3 | function)) {}
  constexpr unsigned bus() const { return value >> 8; }
  constexpr unsigned device() const { return value >> 3 & 31; }
  constexpr unsigned function() const { return value & 7; }
  friend bool operator==(const FunctionId&, const FunctionId&) = default;
};

inline constexpr unsigned kShortHeader = 12, kLongHeader = 16;
inline constexpr std::uint32_t kLargestAccess = 4096;
inline constexpr std::uint64_t kPage = 4096;  // no access crosses the boundary of one

struct Tlp {
  TlpKind kind{};
  FunctionId requester;
  std::uint8_t tag = 0;
  std::uint64_t address = 0;    // of the first byte; of a completion: its lower seven bits
  std::uint32_t bytes = 0;      // asked for, or of data
  FunctionId target;            // of a configuration request
  std::uint16_t register_ = 0;  // of it: of the first byte
  FunctionId completer;
  CompletionStatus status = CompletionStatus::Successful;
  std::uint32_t bytes_left = 0;  // of the request, this completion's included

  friend bool operator==(const Tlp&, const Tlp&) = default;

  bool is_config() const { return kind >= TlpKind::ConfigRead0 && kind <= TlpKind::ConfigWrite1; }
  bool is_completion() const { return kind >= TlpKind::Completion; }
  bool is_type1() const { return kind == TlpKind::ConfigRead1 || kind == TlpKind::ConfigWrite1; }
  bool is_write() const {
    return kind == TlpKind::MemoryWrite || kind == TlpKind::ConfigWrite0 || kind == TlpKind::ConfigWrite1;
  }
  bool has_data() const { return is_write() || kind == TlpKind::CompletionData; }
  Traffic traffic() const {
    if (is_completion()) return Traffic::Completion;
    return kind == TlpKind::MemoryWrite ? Traffic::Posted : Traffic::NonPosted;
  }
  /// Header and data, without what a link puts around them.
  std::uint32_t wire_bytes() const;
};

/// Appends the bytes of a packet; `data` has `tlp.bytes` of them where it has data.
void encode(const Tlp& tlp, std::span<const std::uint8_t> data, std::vector<std::uint8_t>& out);

struct Decoded {
  Tlp tlp;
  std::span<const std::uint8_t> data;
  const char* error = nullptr;  // why it is none; nothing else counts then
};
Decoded decode(std::span<const std::uint8_t> bytes);

/// One line: "MemoryRead 00:00.0 tag 3 0xf0000000 4 B".
std::string text_of(const Tlp& tlp);

/// Bytes of the next packet of a transfer from `address` on: at most `most`, and no page is crossed.
constexpr std::uint32_t next_piece(std::uint64_t address, std::uint64_t left, std::uint32_t most) {
  const std::uint64_t to_page = kPage - address % kPage;
  const std::uint64_t piece = left < most ? left : most;
  return static_cast<std::uint32_t>(piece < to_page ? piece : to_page);
}

/// Bytes of the next completion of a read: up to `payload`, and all but the last end at a multiple of the
/// read completion boundary.
constexpr std::uint32_t next_completion(std::uint64_t address, std::uint32_t left, std::uint32_t payload,
                                        std::uint32_t boundary) {
  if (left <= payload && left <= boundary - address % boundary) return left;
  const std::uint64_t end = address + payload;
  if (address + left <= end) return left;
  const std::uint64_t cut = end / boundary * boundary;
  return static_cast<std::uint32_t>(cut > address ? cut - address : payload);
}

/// The completion of a request, for `bytes` of data beginning so many bytes into what was asked for.
Tlp completion_of(const Tlp& request, FunctionId completer, std::uint32_t offset, std::uint32_t bytes);
/// One without data.
Tlp failure_of(const Tlp& request, FunctionId completer, CompletionStatus status);

}  // namespace weft::pcie
