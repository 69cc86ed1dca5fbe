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

#include "mpi/block_channel.hpp"
#include "mpi/long_operations.hpp"
#include "mpi/matching.hpp"
#include "mpi/request_table.hpp"

namespace weft::mpi {

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
  Incoming* find_unexpected(Port& port, const Receive& wanted, bool take_out) {
    return matching_.find_unexpected(port, wanted, take_out);
  }
  void take_unexpected(Port& port, Incoming* in, const Receive& wanted);
  /// Takes a posted receive out of its queue; false where there is none of this context that can be.
  bool cancel(void* context, Receive& out) { return matching_.cancel(context, out); }

  // What the interface brings.
  void take(Port& port, const nic::Message& message);
  void take(Port& port, const nic::Event& event);

  std::uint32_t peer_of_address(Address address) { return pairs_.peer_of_address(address); }
  /// An endpoint of this generation is at the peer's address.
  void know(Port& port, std::uint32_t peer, std::uint16_t generation);
  const Peer& peer_at(std::uint32_t index) const { return pairs_[index]; }

  /// Is something posted or begun that has not ended?
  bool under_way() const {
    return requests_open() || waits_for_messages() || one_sided_under_way() || waiting();
  }
  bool waits_for_messages() const { return matching_.any_posted(); }
  std::size_t requests_open() const { return requests_.open(); }
  std::size_t one_sided_under_way() const { return requests_.one_sided(); }
  unsigned waiting() const { return pairs_.waiting(); }

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
  virtual void operation_failed(const Request& request, const nic::Event& event) = 0;
  virtual void registration_failed(const Request& request, const void* base, int error) = 0;

  // Parts of which one-sided operations are made.
  /// Its end is told, and it is forgotten.
  void done(Port& port, Request& request);
  int register_buffer(Port& port, Request& request, unsigned rights, std::uint64_t& key);
  const abi::MpiModel& model_;
  const Limits limits_;
  Costs costs_;
  Pairs pairs_;
  RequestTable requests_;
  Matching matching_;
  LongOperations operations_;

 private:
  // transport.cpp: peers, memory, and what the interface brings
  void flush(Port& port, std::uint32_t peer);
  void deliver(Port& port, std::uint32_t peer, const nic::Message& m);
  void granted(Port& port, std::uint32_t peer, const nic::Message& m);
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
  void refused_blocks(Port& port, std::uint32_t peer);
  void pause(Port& port, std::size_t length, Protocol protocol);

  // receive.cpp
  bool begin_message(Port& port, std::uint32_t peer, const nic::Message& m);
  void block_arrived(Port& port, std::uint32_t peer, const nic::Message& m);
  void begin(Port& port, Incoming* in, const void* data, std::size_t bytes);
  void more(Port& port, Peer& peer, Incoming* in, const void* data, std::size_t bytes);
  void store(Port& port, Incoming& in, const void* data, std::size_t bytes);
  void take_early(Port& port, Incoming& in);
  void complete(Port& port, Incoming* in, int error);
  bool told_by_interface(const Request& request, const Incoming& in) const;
  void pull(Port& port, Incoming* in);
  void pulled(Port& port, Request& request);
  void receive_several(Port& port, const Receive& wanted);

  BlockChannel blocks_;
};

}  // namespace weft::mpi
