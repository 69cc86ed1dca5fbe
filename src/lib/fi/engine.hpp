// What an endpoint does over one port of libweft: messages by the protocol of mpi/transport.hpp, told in
// libfabric's terms, and one-sided operations.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/fi/objects.hpp"
#include "lib/fi/outcomes.hpp"
#include "lib/fi/staging.hpp"
#include "lib/port.hpp"
#include "mpi/transport.hpp"

namespace weft::fi {

using mpi::Buffer;
using mpi::Incoming;
using mpi::kAnyPeer;
using mpi::kMostParts;
using mpi::Receive;
using mpi::Request;

/// Whom a peer of the protocol belongs to, in libfabric's terms.
struct Contact {
  std::uint32_t rank = abi::kNoRank;
  std::uint64_t handle = FI_ADDR_NOTAVAIL;  // in the address vector
  std::uint32_t memory_port = kUnknownPort;
  std::uint16_t hears_of = 0;
};

/// The context of the receive the calling thread posted last.
extern thread_local const void* last_receive;

class ThreadPort;

struct Engine final : private mpi::Transport {
  Engine(Endpoint& endpoint, weft_port* port, bool own_port);
  ~Engine();

  // Posting (messages_engine.cpp, rma.cpp). Results as libfabric wants them.
  struct Outgoing : mpi::Outgoing {
    std::uint64_t destination = 0;
    bool quiet = false;
  };
  /// `sent`: the request that waits for its end, or 0.
  ssize_t send(abi::Thread& thread, const Outgoing& out, std::uint32_t& sent);
  ssize_t receive(abi::Thread& thread, const Receive& wanted);
  ssize_t peek(abi::Thread& thread, Receive wanted);
  ssize_t claim(abi::Thread& thread, Receive wanted);
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
  ssize_t put(abi::Thread& thread, const Buffer& from, const Remote& to);
  ssize_t get(abi::Thread& thread, const Buffer& into, const Remote& from);

  struct AtomicCall {
    fi_datatype type;
    fi_op operation;
    std::size_t count;
    const void *operand, *compare;
    void* result;
  };
  ssize_t atomic(abi::Thread& thread, const AtomicCall& call, const Remote& at);

  /// Takes what has arrived; with `until`, only until there is something in it.
  bool progress(abi::Thread& thread, const Completions* until = nullptr);
  /// What the interface does by itself while the program computes, up to this time: it answers requests for
  /// long messages whose receives are posted. What that costs the processor is paid when it next takes what
  /// arrived.
  void work_until(abi::Thread& thread, std::int64_t time);
  /// Until nothing of what was given to send is left here.
  void drain(abi::Thread& thread);
  /// A rank whose message this process waits for, if it waits for one rank alone.
  std::uint32_t awaited_rank() const;
  /// Is something posted or begun whose end the user has not heard of?
  using mpi::Transport::one_sided_under_way;
  using mpi::Transport::under_way;

  Name name() const;
  /// The port stays open when the endpoint is closed. True where it is the endpoint's own.
  bool give_up_port() { return std::exchange(own_port_, false); }

  std::uint32_t peer_of_handle(std::uint64_t handle);
  std::uint32_t rank_of(std::uint64_t handle) { return contact(peer_of_handle(handle)).rank; }
  bool is_under_way(std::uint32_t request) { return requests_.find(request) != nullptr; }
  /// A tagged receive of this context waits for its message.
  bool is_posted(const void* context) const;

  /// Something is to be expected here from now on.
  void use() {
    if (!endpoint.used) begin_use();
  }

  Endpoint& endpoint;
  weft_port* port;
  const abi::MpiModel& model;

 private:
  friend class ThreadPort;

  // mpi::Transport
  void sent_at_once(mpi::Port& at, const mpi::Outgoing& out) override;
  void request_ended(mpi::Port& at, const Request& request) override;
  void received(mpi::Port& at, const Incoming& in, std::size_t stored, int error, bool last) override;
  std::size_t least_room() const override { return endpoint.least_multi_receive; }
  void other_message(mpi::Port& at, std::uint32_t peer, const nic::Message& message) override;
  void operation_here(mpi::Port& at, const nic::Event& event) override;
  void one_sided_done(mpi::Port& at, Request& request) override;
  void operation_failed(const Request& request, const nic::Event& event) override;
  void registration_failed(const Request& request, const void* base, int error) override;

  void begin_use();
  Contact& contact(std::uint32_t peer);

  // One-sided operations (rma.cpp, atomics.cpp).
  mpi::Address memory_of(std::uint32_t peer);
  Request& new_remote(Request::Kind kind, std::uint32_t peer, const Remote& remote, std::size_t length);
  void remote_data(mpi::Port& at, const nic::Message& m);
  bool target_hears(const Request& request);
  bool interface_tells(const Request& request);
  void tell_target(mpi::Port& at, const Request& request);
  void atomic_in_messages(mpi::Port& at, const AtomicCall& call, const Remote& where, Request& request,
                          std::size_t each);
  void atomic_by_interface(mpi::Port& at, const AtomicCall& call, const Remote& where, Request& request);
  void atomic_request(mpi::Port& at, std::uint32_t peer, const nic::Message& m);
  void atomic_reply(mpi::Port& at, const nic::Message& m);

  Outcomes outcomes_;
  Staging staging_;
  bool own_port_;
  bool computing_ = false;         // the program does, meanwhile
  std::int64_t owed_ = 0;          // processor time for what was done meanwhile
  std::vector<Contact> contacts_;  // by peer
  std::vector<std::uint32_t> peer_of_handle_;
  std::unordered_map<void*, Incoming*> claimed_;  // by the context of the look that found it
};

/// An engine's port and the calling thread, as the protocol sees them.
class ThreadPort final : public mpi::Port {
 public:
  ThreadPort(Engine& engine, abi::Thread& thread) : engine_(engine), thread_(thread) {}
  std::int64_t now() const override { return lib::now(thread_); }
  void work(std::int64_t picoseconds) override;
  void post(nic::Descriptor& descriptor) override;
  int register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) override;
  void release_memory(std::uint64_t key) override;

 private:
  Engine& engine_;
  abi::Thread& thread_;
};

}  // namespace weft::fi
