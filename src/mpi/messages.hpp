// What the protocol keeps: receives, messages on their way in, what was posted and is not done, and what two
// processes know of each other.
#pragma once

#include <memory>
#include <vector>

#include "abi/mpi_layout.hpp"
#include "abi/mpi_wire.hpp"
#include "mpi/buffer.hpp"
#include "mpi/fifo.hpp"
#include "mpi/port.hpp"

namespace weft::mpi {

using namespace abi;
using Kind = abi::MessageKind;

inline constexpr std::uint32_t kAnyPeer = 0xffffffff;

/// Where an endpoint is.
struct Address {
  std::uint32_t node = 0, port = 0;
};

/// A receive that was posted. In its queue until a message takes it; then the message's.
struct Receive {
  Buffer buffer;
  void* context = nullptr;
  std::uint64_t tag = 0, ignore = 0;
  std::uint64_t flags = 0;  // the user's own
  std::uint32_t peer = kAnyPeer;
  bool tagged = false;
  bool discard = false;  // what does not fit is no error
  // A buffer for several messages stays in the queue while it has room.
  bool multi = false;
  bool retired = false;
  std::size_t used = 0;
  unsigned under_way = 0;
  Receive *next = nullptr, *before = nullptr;
};

/// A message on its way in: in the unexpected queue until it has a receive.
struct Incoming {
  std::uint32_t peer = 0;
  bool tagged = false, has_data = false, rendezvous = false;
  std::uint64_t tag = 0;
  std::uint32_t data = 0;
  std::size_t length = 0, arrived = 0;
  std::uint64_t key = 0;  // of the sender's memory
  std::uint32_t id = 0;   // of the sender's request
  Protocol protocol{};
  bool has_early = false;  // what came before its receive is in `early`
  std::vector<char> early;
  Receive* receive = nullptr;
  Buffer target;  // where it goes: less than its length where it does not fit
  Incoming *next = nullptr, *before = nullptr;
};

/// Something that was posted and is not done.
struct Request {
  enum class Kind { Send, Receive, Put, Get, Atomic } kind = Kind::Send;
  std::uint32_t id = 0, peer = 0;
  std::uint64_t order = 0;  // counts requests
  // The user's own.
  void* context = nullptr;
  std::uint64_t completion = 0;
  void *queue = nullptr, *counter = nullptr;
  Buffer buffer;
  bool has_bounce = false;  // its data is in `bounce`: the caller's buffer is not kept, or is scattered
  std::vector<char> bounce;
  std::uint64_t local_key = 0;  // registered for it
  std::size_t length = 0, moved = 0;
  unsigned pieces = 0;    // under way
  std::size_t left = 0;   // of an operation this side moves: what no piece is under way for yet
  nic::Descriptor whole;  // that operation
  int error = 0;          // an errno
  Protocol protocol{};
  Incoming* incoming = nullptr;  // of a receive
  std::uint32_t other = 0;       // the receiver's request, of a send that puts
  // One-sided operations.
  Buffer result;  // of an atomic
  std::size_t value_size = 0;
  bool remote_data = false;  // of a put: tells the target when it is there
  bool reads = false;        // a get, or an atomic that fetches
  bool told = false;         // the target hears of it by the interface
  std::uint32_t data = 0;
};

/// A small message, or a message for blocks, that could not leave yet.
struct Waiting {
  Kind kind{};
  unsigned flags = 0;
  std::uint32_t length = 0, request = 0;  // request: 0, or who hears that it has arrived
  std::uint8_t data[nic::kInlineBytes];
  std::vector<char> message;  // for blocks: its head and all of it
  std::size_t left = 0;       // of that, what has left already
  std::uint32_t owner = 0;    // 0, or the send that is done once this has left
  std::uint64_t mark = 0;     // of its descriptors
};

/// Memory cut into blocks that the interface knows.
struct Blocks {
  std::unique_ptr<char[]> memory;
  std::uint64_t key = 0;
  std::vector<std::uint16_t> free;
};

struct Peer {
  Address address;
  std::uint16_t generation = 0;
  bool known = false;                    // its generation is
  bool greeted = false;                  // the first message to it has left
  std::uint16_t sent = 0, expected = 0;  // sequence numbers
  std::vector<nic::Message> early;       // that came before their turn
  Incoming* assembling = nullptr;
  std::uint32_t credits = 0;                // small messages that may still go
  std::uint32_t granted = 0, consumed = 0;  // as a receiver: given to this peer, and to be given back
  bool starved = false;                     // it has waited for credit since it last said so
  Fifo<Waiting> waiting;
  // Blocks of the peer's that this process may fill.
  std::uint64_t block_key = 0;
  Fifo<std::uint16_t> blocks;
  bool requested_blocks = false, refused = false;
  // Blocks of this process's that the peer may fill: how many it has, and which it is to get back.
  std::uint32_t lent = 0;
  std::vector<std::uint16_t> emptied;
  std::unique_ptr<Blocks> ring;  // its own, where channels are exclusive
};

struct Outgoing {
  Buffer buffer;
  std::uint64_t tag = 0;
  std::uint32_t data = 0;
  bool tagged = false, has_data = false;
  bool inject = false;    // the buffer may change as soon as the call returns
  bool delivery = false;  // done when it has arrived, not when it has left
  bool direct = false;    // the processor does not copy its data: however short, the interface fetches it
  // The user's own.
  std::uint64_t completion = 0;
  void *context = nullptr, *queue = nullptr, *counter = nullptr;
};

}  // namespace weft::mpi
