// What endpoints say to each other in small messages. A message's tag word holds its kind, two flags, credits
// given back and a sequence number; its data begins with one of these.
#pragma once

#include <cstdint>

namespace weft::abi {

enum class MessageKind : std::uint32_t {
  Eager = 1,    // EagerHead, data
  More,         // data of the message begun last
  Request,      // RendezvousHead: a message that waits for its receive
  Clear,        // ClearHead: put it there
  Finished,     // FinishedHead: it is there, or has been read
  Credit,       // nothing: credits alone
  Atomic,       // AtomicHead, operands
  AtomicReply,  // AtomicReplyHead, results
  RemoteData,  // RemoteDataHead: an operation on the target's memory is done, and the target is to hear of it
  RequestBlocks,  // nothing: blocks are wanted
  Grant,          // GrantHead, numbers of blocks: the sender's until it has filled them. None: there are none
  Block,          // not a message: a block was put, EagerHead and data in it
  BlockMore,      // the same: more data of that message
};

inline constexpr unsigned kTagged = 1, kHasData = 2, kStarved = 4;
/// The first message of an endpoint to another. Its sequence number is 0, and in its place is the sender's
/// generation: a port may have belonged to an endpoint that was closed, of which the receiver still knows.
inline constexpr unsigned kFirst = 8;

struct EagerHead {
  std::uint32_t length, data;
  std::uint64_t tag;
};

/// 28 bytes: fits into a 256-bit message with everything an MPI envelope needs (ExaNeSt section 4.2).
struct __attribute__((packed)) RendezvousHead {
  std::uint32_t length, data;
  std::uint64_t tag, key;
  std::uint32_t id;
};

struct ClearHead {
  std::uint32_t sender, receiver;
  std::uint64_t key;
  std::uint32_t length, reserved;
};

struct FinishedHead {
  std::uint32_t id, failed;
};

/// 24 bytes, so that a value of 8 fits into the smallest message.
struct AtomicHead {
  std::uint32_t id, first;  // of the values of the call
  std::uint64_t key;
  std::uint32_t offset;
  std::uint8_t type, operation, has, count;  // has: operands 1, compares 2, wants results 4
};

struct GrantHead {
  std::uint64_t key;
};

/// What the event of a block that arrived says: `tag_word` in the lower half, then the block's number.
inline constexpr std::uint64_t kBlockArrived = 1ull << 63;
inline std::uint64_t block_word(std::uint32_t tag, std::uint32_t block) {
  return kBlockArrived | std::uint64_t{block} << 32 | tag;
}

/// What the event of a put or get says that its target is to hear of: the number of the target's port.
inline constexpr std::uint64_t kOperationHere = 1ull << 62;

/// Needs credit, where small messages have it: what others can send without being asked.
inline bool needs_credit(MessageKind kind) {
  return kind == MessageKind::Eager || kind == MessageKind::More || kind == MessageKind::Request ||
         kind == MessageKind::Atomic;
}

struct AtomicReplyHead {
  std::uint32_t id, first, failed;
};

struct RemoteDataHead {
  std::uint32_t data, what;  // what: kCarriesData, or that of an operation the target is to hear of
  std::uint64_t length;
};
inline constexpr std::uint32_t kCarriesData = 1, kWasRead = 2, kWasAtomic = 4;

/// The smallest nic.message_limit all of these fit into.
inline constexpr unsigned kLeastMessage = 32;

// kind 4 | flags 4 | credits 8 | sequence 16
inline std::uint32_t tag_word(MessageKind kind, unsigned flags, unsigned credits, std::uint16_t sequence) {
  return static_cast<std::uint32_t>(kind) << 28 | flags << 24 | credits << 16 | sequence;
}
inline MessageKind kind_of(std::uint32_t word) { return static_cast<MessageKind>(word >> 28); }
inline unsigned flags_of(std::uint32_t word) { return word >> 24 & 15; }
inline unsigned credits_of(std::uint32_t word) { return word >> 16 & 255; }
inline std::uint16_t sequence_of(std::uint32_t word) { return static_cast<std::uint16_t>(word); }

}  // namespace weft::abi
