// What an endpoint does: messages, their matching, and one-sided operations, over one port of libweft.
//
// Up to mpi.eager_limit a message travels at once: as one small message where it fits, otherwise as mpi.eager
// says. Longer ones send a request; the receiver answers once it has a receive for it. Every small message
// carries a sequence number of its pair, so that order does not depend on the network (TH Express-2
// section 5.2).
#pragma once

#include <sys/uio.h>

#include <list>
#include <memory>
#include <unordered_map>
#include <utility>

#include "lib/fi/objects.hpp"
#include "lib/fi/wire.hpp"
#include "lib/port.hpp"

namespace weft::fi {

inline constexpr unsigned kMostParts = 8;  // of a scattered buffer

struct Buffer {
  iovec part[kMostParts];
  unsigned parts = 0;
  std::size_t length = 0;

  Buffer() = default;
  Buffer(const iovec* v, std::size_t count);
  Buffer(const void* base, std::size_t bytes);
  void write(std::size_t offset, const void* from, std::size_t bytes) const;
  void read(std::size_t offset, void* to, std::size_t bytes) const;
  bool whole() const { return parts <= 1; }
};

inline constexpr std::uint32_t kAnyPeer = 0xffffffff;

/// A receive that was posted. In its queue until a message takes it; then the message's.
struct Receive {
  Buffer buffer;
  void* context = nullptr;
  std::uint64_t tag = 0, ignore = 0, flags = 0;
  std::uint32_t peer = kAnyPeer;
  bool tagged = false;
  // A buffer for several messages stays in the queue while it has room.
  std::size_t used = 0;
  unsigned under_way = 0;
  bool retired = false;

  bool multi() const { return flags & FI_MULTI_RECV; }
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
  host::Protocol protocol{};
  std::unique_ptr<char[]> early;  // what came before its receive
  Receive* receive = nullptr;
  Buffer target;  // where it goes: less than its length where it does not fit
};

/// A message from its head, which all kinds have in common.
template <class Head>
Incoming* new_incoming(std::uint32_t peer, unsigned flags, const Head& head, host::Protocol protocol) {
  auto* in = new Incoming;
  in->peer = peer;
  in->tagged = flags & kTagged;
  in->has_data = flags & kHasData;
  in->tag = head.tag;
  in->data = head.data;
  in->length = head.length;
  in->protocol = protocol;
  return in;
}

/// Something that was posted and is not done.
struct Request {
  enum class Kind { Send, Receive, Put, Get, Atomic } kind = Kind::Send;
  std::uint32_t id = 0, peer = 0;
  void* context = nullptr;
  std::uint64_t completion = 0;  // flags of its entry; 0: none wanted
  Cq* cq = nullptr;
  Cntr* counter = nullptr;
  Buffer buffer;
  std::unique_ptr<char[]> bounce;  // its data, where the caller's buffer is not kept, or is scattered
  std::uint64_t local_key = 0;     // registered for it
  std::size_t length = 0, moved = 0;
  unsigned pieces = 0;    // under way
  std::size_t left = 0;   // of an operation this side moves: what no piece is under way for yet
  nic::Descriptor whole;  // that operation
  int error = 0;
  host::Protocol protocol{};
  Incoming* incoming = nullptr;  // of a receive
  std::uint32_t other = 0;       // the receiver's request, of a send that puts
  Buffer result;                 // of an atomic
  std::size_t value_size = 0;
  bool remote_data = false;  // of a put: tells the target when it is there
  bool reads = false;        // a get, or an atomic that fetches
  bool told = false;         // the target hears of it by the interface
  std::uint32_t data = 0;
};

/// A small message, or a message for blocks, that could not leave yet.
struct Waiting {
  Kind kind;
  unsigned flags;
  std::uint32_t length, request;  // request: 0, or who hears that it has arrived
  std::uint8_t data[nic::kInlineBytes];
  std::vector<char> message;  // for blocks: its head and all of it
  std::size_t left = 0;       // of that, what has left already
  std::uint32_t owner = 0;    // 0, or the send that is done once this has left
};

/// Memory cut into blocks that the interface knows.
struct Blocks {
  std::unique_ptr<char[]> memory;
  weft_memory registered{};
  std::vector<std::uint16_t> free;
};

struct Peer {
  weft_address address{};
  std::uint32_t rank = host::kNoRank;
  std::uint64_t handle = FI_ADDR_NOTAVAIL;  // in the address vector
  std::uint32_t memory_port = kUnknownPort;
  std::uint16_t generation = 0, hears_of = 0;
  bool known = false;                    // its generation is
  bool greeted = false;                  // the first message to it has left
  std::uint16_t sent = 0, expected = 0;  // sequence numbers
  std::vector<nic::Message> early;       // that came before their turn
  Incoming* assembling = nullptr;
  std::uint32_t credits = 0;                // small messages that may still go
  std::uint32_t granted = 0, consumed = 0;  // as a receiver: given to this peer, and to be given back
  bool starved = false;                     // it has waited for credit since it last said so
  std::deque<Waiting> waiting;
  // Blocks of the peer's that this process may fill.
  std::uint64_t block_key = 0;
  std::deque<std::uint16_t> blocks;
  bool asked = false, refused = false;
  // Blocks of this process's that the peer may fill: how many it has, and which it is to get back.
  std::uint32_t lent = 0;
  std::vector<std::uint16_t> emptied;
  std::unique_ptr<Blocks> ring;  // its own, where channels are exclusive
};

/// The context of the receive the calling thread posted last.
extern thread_local const void* last_receive;

struct Engine {
  Engine(Endpoint& endpoint, weft_port* port, bool own_port);
  ~Engine();

  // Posting (send.cpp, receive.cpp, rma.cpp). Results as libfabric wants them.
  struct Outgoing {
    Buffer buffer;
    std::uint64_t destination, tag, data;
    bool tagged, has_data, inject, delivery;
    std::uint64_t completion;  // flags of the entry; 0: none
    bool quiet;
    void* context;
  };
  /// `sent`: the request that waits for its end, or 0.
  ssize_t send(host::Lane& lane, const Outgoing& out, std::uint32_t& sent);
  // Waiting in a send for its caller (caller.cpp).
  bool will_be_waited_for(host::Lane& lane, const Outgoing& out, std::uint32_t sent);
  bool is_waited_for(const host::Lane& lane, const Outgoing& out) const;
  ssize_t wait_for_caller(host::Lane& lane);
  ssize_t receive(host::Lane& lane, const Receive& wanted);
  ssize_t peek(host::Lane& lane, Receive wanted);
  ssize_t claim(host::Lane& lane, Receive wanted);
  ssize_t cancel(void* context);

  /// Everything of a one-sided operation but its data.
  struct Remote {
    std::uint64_t destination, address, key;
    std::uint64_t completion;  // flags of the entry; 0: none
    std::uint64_t data;        // for the target, where has_data
    bool has_data, quiet, inject, fence, fetches;
    void* context;
    std::uint64_t local_key, local_offset;  // of a buffer the application registered; 0: none
  };
  ssize_t put(host::Lane& lane, const Buffer& from, const Remote& to);
  ssize_t get(host::Lane& lane, const Buffer& into, const Remote& from);

  struct AtomicCall {
    fi_datatype type;
    fi_op operation;
    std::size_t count;
    const void *operand, *compare;
    void* result;
  };
  ssize_t atomic(host::Lane& lane, const AtomicCall& call, const Remote& at);

  /// Takes what has arrived; with `until`, only until there is something in it.
  bool progress(host::Lane& lane, const std::deque<Completion>* until = nullptr);
  /// What the interface does by itself while the program computes, up to this time: it answers requests for
  /// long messages whose receives are posted. What that costs the processor is paid when it next takes what
  /// arrived.
  void work_until(host::Lane& lane, std::int64_t time);
  /// Until nothing of what was given to send is left here.
  void drain(host::Lane& lane);
  /// A rank whose message this process waits for, if it waits for one rank alone.
  std::uint32_t awaited_rank() const;
  /// Is something posted or begun whose end the user has not heard of?
  bool under_way() const {
    return !requests_.empty() || !posted_[0].empty() || !posted_[1].empty() || one_sided_under_way ||
           waiting_;
  }

  Name name() const;
  /// The port stays open when the endpoint is closed. True where it is the endpoint's own.
  bool give_up_port() { return std::exchange(own_port_, false); }

  std::uint32_t peer_of_handle(std::uint64_t handle);
  std::uint32_t peer_of_address(weft_address address);

  /// Something is to be expected here from now on.
  void use() {
    if (!endpoint.used) begin_use();
  }

  Endpoint& endpoint;
  weft_port* port;
  host::MpiSums& sums;
  const host::MpiModel& model;
  std::size_t one_sided_under_way = 0;  // puts, gets and atomics this side has begun

 private:
  void begin_use();
  void know(std::uint32_t peer, std::uint16_t generation);
  void begin_anew(Peer& peer);
  std::uint32_t next_tag(Peer& peer, Kind kind, unsigned flags, unsigned credits);
  weft_memory memory_of(const Peer& peer, std::uint64_t key) const;
  // Costs and small messages (engine.cpp).
  void charge(host::Lane& lane, std::int64_t time, host::Protocol protocol);
  void copied(host::Lane& lane, std::size_t bytes, host::Protocol protocol);
  void post(host::Lane& lane, nic::Descriptor& d);
  void small(host::Lane& lane, std::uint32_t peer, Kind kind, unsigned flags, const void* head,
             std::size_t head_bytes, const void* data = nullptr, std::size_t bytes = 0,
             std::uint32_t request = 0);
  void transmit(host::Lane& lane, Peer& peer, const Waiting& w);
  void consumed_one(host::Lane& lane, Peer& peer, bool starved);
  void more_credits(host::Lane& lane, std::uint32_t peer, unsigned credits);
  void entry(host::Lane& lane, Cq* cq, Completion c);
  Request& new_request(Request::Kind kind, std::uint32_t peer);
  Request* request_of(std::uint64_t id);
  void done(host::Lane& lane, Request& request);
  void forget(const Request& request);
  int register_buffer(host::Lane& lane, Request& request, unsigned rights, std::uint64_t& key);
  void move(host::Lane& lane, Request& request, nic::Operation operation, weft_memory remote,
            std::uint64_t remote_offset, std::uint64_t local_key, std::uint64_t local_offset,
            std::uint64_t operand, unsigned flags);
  void move_piece(host::Lane& lane, Request& request);

  // Channels of blocks (blocks.cpp).
  host::Protocol block_protocol() const {
    return model.eager == 1 ? host::Protocol::Shared : host::Protocol::Exclusive;
  }
  void make_blocks(Blocks& blocks, unsigned count, unsigned rights);
  void send_in_blocks(host::Lane& lane, std::uint32_t peer, const EagerHead& head, unsigned flags,
                      const Buffer& buffer, std::uint32_t request);
  bool fill_blocks(host::Lane& lane, Peer& peer, Waiting& w);
  void send_fragments(host::Lane& lane, std::uint32_t peer, const EagerHead& head, unsigned flags,
                      const Buffer& buffer, std::uint32_t request);
  void flush(host::Lane& lane, std::uint32_t peer);
  void lend(host::Lane& lane, std::uint32_t peer);
  void lend_more(Peer& peer, std::uint32_t most);
  void granted(host::Lane& lane, std::uint32_t peer, const nic::Message& m);
  void block_arrived(host::Lane& lane, std::uint32_t peer, const nic::Message& m);
  void give_back(host::Lane& lane, std::uint32_t peer, bool starved);

  // Sending (send.cpp).
  Request& new_send(std::uint32_t peer, const Outgoing& out);
  void send_eager(host::Lane& lane, std::uint32_t peer, const Outgoing& out, std::uint32_t request);
  void pause(host::Lane& lane, std::size_t length, host::Protocol protocol);
  int send_request(host::Lane& lane, std::uint32_t peer, const Outgoing& out, Request& request);
  void clear_to_send(host::Lane& lane, const nic::Message& m);

  // Receiving (progress.cpp, receive.cpp).
  void take(host::Lane& lane, const nic::Message& m);
  void deliver(host::Lane& lane, std::uint32_t peer, const nic::Message& m);
  void take(host::Lane& lane, const nic::Event& e);
  void failed(const Request& request, const nic::Event& e);
  void data_moved(host::Lane& lane, Request& request);
  void piece_done(host::Lane& lane, Request& request);
  void begin(host::Lane& lane, Incoming* in, const void* data, std::size_t bytes);
  void more(host::Lane& lane, Peer& peer, Incoming* in, const void* data, std::size_t bytes);
  Receive* match(host::Lane& lane, const Incoming& in);
  void attach(Incoming& in, Receive* receive);
  void store(host::Lane& lane, Incoming& in, const void* data, std::size_t bytes);
  void complete(host::Lane& lane, Incoming* in, int error);
  void pull(host::Lane& lane, Incoming* in);
  void pulled(host::Lane& lane, Request& request);
  Incoming* find_unexpected(host::Lane& lane, const Receive& wanted, bool take_out);
  void take_unexpected(host::Lane& lane, Incoming* in, const Receive& wanted);
  bool is_posted(const void* context) const;
  void look_without_others(host::Lane& lane);

  // One-sided operations (rma.cpp, atomics.cpp).
  Request& new_remote(Request::Kind kind, std::uint32_t peer, const Remote& remote, std::size_t length);
  void remote_data(host::Lane& lane, const nic::Message& m);
  bool target_hears(const Request& request) const;
  bool interface_tells(const Request& request) const;
  void tell_target(host::Lane& lane, const Request& request);
  void operation_here(host::Lane& lane, const nic::Event& e);
  void heard_of(host::Lane& lane, bool read, bool atomic, std::size_t length);
  char* memory_at(std::uint64_t key, std::uint64_t offset, std::size_t bytes);
  void atomic_request(host::Lane& lane, std::uint32_t peer, const nic::Message& m);
  void atomic_reply(host::Lane& lane, const nic::Message& m);

  bool own_port_;
  bool computing_ = false;  // the program does, meanwhile
  std::int64_t owed_ = 0;   // processor time for what was done meanwhile
  std::size_t small_limit_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::unordered_map<std::uint64_t, std::uint32_t> peer_of_;
  std::vector<std::uint32_t> peer_of_handle_;
  std::list<Receive*> posted_[2];  // plain and tagged, in order
  std::list<Incoming*> unexpected_[2];
  std::unordered_map<void*, Incoming*> claimed_;  // by the context of the look that found it
  std::unordered_map<std::uint32_t, std::unique_ptr<Request>> requests_;
  std::uint32_t last_request_ = 0;
  std::uint16_t generation_;
  unsigned waiting_ = 0;       // small messages and messages for blocks, at all peers
  Blocks pool_, send_blocks_;  // lent to others, and used here to send from
};

}  // namespace weft::fi
