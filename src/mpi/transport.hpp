// The protocol MPI's messages travel by, as a state machine: what a program posts, and messages and events of
// the interface go in; descriptors, processor time and completions come out. The provider runs it in every
// rank, benchmarks of `weft validate` in the simulator: there is no other.
//
// Up to `eager_limit` a message travels at once: as one small message where it fits, otherwise as `eager`
// says, in several (fragments) or in blocks of the receiver's. Longer ones send a request; the receiver
// answers once it has a receive for it, by fetching the data (get) or by saying where to put it. Every small
// message carries a sequence number of its pair, so that order does not depend on the network (TH Express-2
// section 5.2). What others can send without being asked needs credit, where the machine has such.
#pragma once

#include <memory>
#include <unordered_map>
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
  // The user's own.
  std::uint64_t completion = 0;
  void *context = nullptr, *queue = nullptr, *counter = nullptr;
};

class Transport {
 public:
  struct Limits {
    std::size_t message;  // bytes of a small message
    std::uint64_t rdma;   // of a put or get
  };
  /// `generation` tells it from those that had its port before.
  Transport(const abi::MpiModel& model, abi::MpiSums& sums, Limits limits, std::uint16_t generation);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// 0 or a negative errno. `sent`: the request that waits for its end, or 0.
  int send(Port& port, std::uint32_t peer, const Outgoing& out, std::uint32_t& sent);
  void receive(Port& port, const Receive& wanted);
  /// The oldest message that came before such a receive. `take_out`: it is the caller's, for
  /// `take_unexpected`.
  Incoming* find_unexpected(Port& port, const Receive& wanted, bool take_out);
  void take_unexpected(Port& port, Incoming* in, const Receive& wanted);
  /// Takes a posted receive out of its queue; false where there is none of this context that can be.
  bool cancel(void* context, Receive& out);

  // What the interface brings.
  void take(Port& port, const nic::Message& message);
  void take(Port& port, const nic::Event& event);

  std::uint32_t peer_of_address(Address address);
  /// An endpoint of this generation is at the peer's address.
  void know(Port& port, std::uint32_t peer, std::uint16_t generation);
  const Peer& peer_at(std::uint32_t index) const { return *peers_[index]; }

  /// Is something posted or begun that has not ended?
  bool under_way() const {
    return requests_open_ || waits_for_messages() || one_sided_under_way_ || waiting_;
  }
  bool waits_for_messages() const { return !posted_[0].empty() || !posted_[1].empty(); }
  std::size_t requests_open() const { return requests_open_; }
  std::size_t one_sided_under_way() const { return one_sided_under_way_; }
  unsigned waiting() const { return waiting_; }

 protected:
  ~Transport() = default;

  // What the user does with it.
  /// A message has left that nothing more is heard of.
  virtual void sent_at_once(Port& port, const Outgoing& out) = 0;
  /// A send has ended, or a one-sided operation; it is forgotten afterwards.
  virtual void request_ended(Port& port, const Request& request) = 0;
  /// A receive has: `stored` of its bytes are there. `last`: its buffer, for several, is full.
  virtual void received(Port& port, const Incoming& in, std::size_t stored, int error, bool last) = 0;
  /// Room a buffer for several messages must have to be kept.
  virtual std::size_t least_room() const { return 1; }
  /// A small message that is not the protocol's own.
  virtual void other_message(Port& port, std::uint32_t peer, const nic::Message& message) = 0;
  /// An operation on this process's memory is over, of which it wants to hear.
  virtual void operation_here(Port& port, const nic::Event& event) = 0;
  /// All pieces of a one-sided operation are done.
  virtual void one_sided_done(Port& port, Request& request) = 0;
  /// Blocks were made, once.
  virtual void made_blocks(Port&) {}
  virtual void operation_failed(const Request& request, const nic::Event& event) = 0;
  virtual void registration_failed(const Request& request, const void* base, int error) = 0;

  // Parts of which one-sided operations are made.
  void charge(Port& port, std::int64_t time, Protocol protocol);
  void copied(Port& port, std::size_t bytes, Protocol protocol);
  void small(Port& port, std::uint32_t peer, Kind kind, unsigned flags, const void* head,
             std::size_t head_bytes, const void* data = nullptr, std::size_t bytes = 0,
             std::uint32_t request = 0);
  Request& new_request(Request::Kind kind, std::uint32_t peer);
  Request* request_of(std::uint64_t id);
  /// Its end is told, and it is forgotten.
  void done(Port& port, Request& request);
  void forget(Request& request);
  /// A copy of the request's data, to be sent from.
  void keep_data(Port& port, Request& request, const Buffer& from);
  int register_buffer(Port& port, Request& request, unsigned rights, std::uint64_t& key);
  struct Remote {
    Address owner;
    std::uint64_t key, offset, operand;
  };
  void move(Port& port, Request& request, nic::Operation operation, const Remote& remote,
            std::uint64_t local_key, std::uint64_t local_offset, unsigned flags);
  void counts(Protocol protocol, std::size_t bytes);

  const Queue<Receive>& posted(bool tagged) const { return posted_[tagged]; }
  Peer& change_peer(std::uint32_t index) { return *peers_[index]; }

  const abi::MpiModel& model_;
  abi::MpiSums& sums_;
  const Limits limits_;
  const std::uint16_t generation_;

 private:
  // transport.cpp: small messages and credits, requests, pieces of long operations
  std::uint32_t next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits);
  void begin_anew(Peer& peer);
  void transmit(Port& port, Peer& peer, const Waiting& w);
  void flush(Port& port, std::uint32_t peer);
  void consumed_one(Port& port, Peer& peer, bool starved);
  void move_piece(Port& port, Request& request);
  void deliver(Port& port, std::uint32_t peer, const nic::Message& m);
  void operation_ended(Port& port, const nic::Event& e);
  void data_moved(Port& port, Request& request);
  void piece_done(Port& port, Request& request);
  void finished(Port& port, const nic::Message& m);

  // send.cpp
  Request& new_send(std::uint32_t peer, const Outgoing& out);
  void send_eager(Port& port, std::uint32_t peer, const Outgoing& out, std::uint32_t request);
  void send_fragments(Port& port, std::uint32_t peer, const EagerHead& head, unsigned flags,
                      const Buffer& buffer, std::uint32_t request);
  int send_request(Port& port, std::uint32_t peer, const Outgoing& out, Request& request);
  void clear_to_send(Port& port, const nic::Message& m);
  void pause(Port& port, std::size_t length, Protocol protocol);

  // blocks.cpp
  Protocol block_protocol() const { return model_.eager == 1 ? Protocol::Shared : Protocol::Exclusive; }
  void make_blocks(Port& port, Blocks& blocks, unsigned count, unsigned rights);
  void send_in_blocks(Port& port, std::uint32_t peer, const EagerHead& head, unsigned flags,
                      const Buffer& buffer, std::uint32_t request);
  bool fill_blocks(Port& port, Peer& peer, Waiting& w);
  void fill_block(Port& port, Peer& peer, Waiting& w);
  void lend(Port& port, std::uint32_t peer);
  void lend_more(Peer& peer, std::uint32_t most);
  void give_back(Port& port, std::uint32_t peer, bool starved);
  void granted(Port& port, std::uint32_t peer, const nic::Message& m);
  void refused_blocks(Port& port, std::uint32_t peer);
  void block_arrived(Port& port, std::uint32_t peer, const nic::Message& m);

  // receive.cpp
  template <class Head>
  Incoming* new_incoming(std::uint32_t peer, unsigned flags, const Head& head, Protocol protocol);
  bool begin_message(Port& port, std::uint32_t peer, const nic::Message& m);
  void begin_in_block(Port& port, std::uint32_t peer, unsigned flags, const EagerHead& head, const void* data,
                      std::size_t bytes);
  void begin(Port& port, Incoming* in, const void* data, std::size_t bytes);
  void more(Port& port, Peer& peer, Incoming* in, const void* data, std::size_t bytes);
  Receive* match(Port& port, const Incoming& in);
  void attach(Incoming& in, Receive* receive);
  void store(Port& port, Incoming& in, const void* data, std::size_t bytes);
  void take_early(Port& port, Incoming& in);
  void complete(Port& port, Incoming* in, int error);
  void pull(Port& port, Incoming* in);
  void pulled(Port& port, Request& request);
  void receive_several(Port& port, const Receive& wanted);
  Receive* new_receive(const Receive& wanted);

  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, std::uint32_t> peer_of_;
  Pool<Receive> receives_;
  Pool<Incoming> incomings_;
  Queue<Receive> posted_[2];  // plain and tagged, in order
  Queue<Incoming> unexpected_[2];
  std::vector<std::unique_ptr<Request>> requests_;  // by the lower part of their id
  std::vector<std::uint32_t> free_requests_;
  std::vector<Request*> lost_;
  std::uint64_t requests_ever_ = 0;
  std::size_t requests_open_ = 0, one_sided_under_way_ = 0;
  unsigned waiting_ = 0;       // small messages and messages for blocks, at all peers
  Blocks pool_, send_blocks_;  // lent to others, and used here to send from
};

}  // namespace weft::mpi
