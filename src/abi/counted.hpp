// Descriptors that wait in the queue of their port for a number of control packets, whoever sends them.
//
// A message, put or get with the flag kCounted has a word in spare[1]: what it does to the counter of the
// port it is for, and what it waits for itself. Descriptors from one with kSequenceStart to one with
// kSequenceTail are a sequence; it is sent when as many control packets have come as its first descriptor
// says, and takes those. Sequences of a port are sent in the order they were posted. Data of the packets may
// take the place of data, addresses or targets of descriptors, or be combined with it. GLEX's collective
// requests are made of these; sequences by image, which MPI's are made of, are in triggered.hpp. Plain
// declarations: programs link against code that includes this file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::nic {

// Of the word, its lower half; the upper one is the number of control packets that a sequence waits for.
inline constexpr std::uint32_t kSequenceStart = 1, kSequenceTail = 2;
inline constexpr std::uint32_t kCounts = 4;           // it is a control packet: the target's port counts it
inline constexpr std::uint32_t kToRing = 8;           // of a message: it comes into the ring, counted or not
inline constexpr std::uint32_t kCarriesData = 16;     // its data is for what waits there
inline constexpr std::uint32_t kCarriesAddress = 32;  // its data is a SwapAddress for what waits there
inline constexpr std::uint32_t kSwap = 64;            // takes data or address of the packets it waited for
inline constexpr std::uint32_t kSwapTarget = 128;     // and goes to whom they name
inline constexpr std::uint32_t kSet = 256;            // goes to several
inline constexpr std::uint32_t kReduce = 512;         // is combined with the data of those packets
inline constexpr std::uint32_t kResult = 1024;        // carries what a combination has given
inline constexpr std::uint32_t kAllCounted = 2047;

constexpr std::uint64_t counted_word(std::uint32_t flags, std::uint32_t packets) {
  return std::uint64_t{packets} << 32 | flags;
}
constexpr std::uint32_t counted_flags(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
constexpr std::uint32_t counted_packets(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }

/// Where a put or get goes in place of what its descriptor says.
struct SwapAddress {
  std::uint64_t key = 0, offset = 0;
  std::uint32_t node = 0, port = 0;
};

/// The data of a message for several is a list of these.
struct SetTarget {
  std::uint32_t node = 0, port = 0;
};
inline constexpr unsigned kSetTargets = 14;

/// What is combined, by number: a sum, or the largest or smallest with the place it comes from, of floating,
/// signed and unsigned numbers; or bits and truths.
enum class Reduction : std::uint8_t {
  SumFloat,
  MaximumFloat,
  MinimumFloat,
  SumSigned,
  MaximumSigned,
  MinimumSigned,
  SumUnsigned,
  MaximumUnsigned,
  MinimumUnsigned,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  And,
  Or,
  Xor,
  kCount
};

inline constexpr unsigned kReduceUnits = 6;

struct ReduceUnit {
  std::uint64_t value = 0;  // of 32 bits: in the lower half
  std::uint32_t location = 0;
  std::uint32_t reserved = 0;
};

/// The data of a message that is combined: as many units as it says.
struct ReduceData {
  std::uint8_t mark = 0;  // kReduceMark
  Reduction operation{};
  std::uint8_t wide = 0;  // units of 64 bits
  std::uint8_t count = 0;
  std::uint32_t degree = 0;  // of the tree, for whoever looks
  std::uint64_t reserved = 0;
  ReduceUnit unit[kReduceUnits];

  std::uint64_t bytes() const { return offsetof(ReduceData, unit) + sizeof(ReduceUnit) * count; }
};
inline constexpr std::uint8_t kReduceMark = 0xc5;

static_assert(sizeof(SwapAddress) == 24 && sizeof(SetTarget) == 8 && sizeof(ReduceData) == 112);

}  // namespace weft::nic
