// The servers of the parallel file system and the way to them, as time. Every node that uses it has an agent:
// a port of its interface, by which requests leave and answers come. What is asked is told apart from what it
// is about: a piece of work takes its time here, and its owner does with files and data what it is for at the
// moment the server has done it.
//
//   write: data by a put -> server's processor -> bus -> device -> answer by a message
//   read:  message -> server's processor -> device -> bus -> data by a put
//   other: message -> server's processor -> device, where something changes or is to be durable -> message
//
// Work for a server on the same node does not pass the interface. The bytes of puts stand for the data, which
// the owner moves: what they cost is what they take, and errors in them are seen.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/slab.hpp"
#include "event/event_queue.hpp"
#include "machine/machine.hpp"
#include "nic/fabric.hpp"
#include "storage/counters.hpp"
#include "storage/device.hpp"
#include "storage/layout.hpp"

namespace weft::storage {

enum class Work : std::uint8_t {
  Look,    // metadata that stays as it is
  Change,  // metadata, with an entry of the server's journal
  Read,
  Write,
  Flush,  // all that the server has taken is to be durable
};

/// What one server does for an operation.
struct Piece {
  Work work = Work::Look;
  ServerId server = kMetadata;
  std::uint64_t file = 0, offset = 0;  // of data
  std::uint64_t bytes = 0;
  std::uint32_t copy = 0;  // of the stripe unit, on that server
  static constexpr std::uint64_t kByLayout = ~std::uint64_t{0};
  std::uint64_t place = kByLayout;  // on the device
  bool ungated = false;             // the server's own work, which asks nobody
  Time durable{0};                  // from when on what it wrote outlives a power cut
};

/// Who decides what a server on a job's own node does with a request (burst_buffer.hpp).
class Gate {
 public:
  enum class Way { Device, Memory, Wait };
  virtual ~Gate() = default;
  /// The server has understood a request for data: it goes on with its device, answers from its memory, or
  /// waits until `resume`.
  virtual Way prepare(const Piece& piece, std::uint32_t request) = 0;
  /// It is carried out, or could not be: true where the answer waits until `release`.
  virtual bool holds(const Piece& piece, std::uint32_t request, std::int32_t result) = 0;
};

/// For whom the work is.
class Owner {
 public:
  virtual ~Owner() = default;
  /// A server has done a piece: data it was to write is in its device, data it was to read in its memory.
  /// 0, or a negative errno. A look says how many bytes its answer has.
  virtual std::int32_t carry_out(std::uint64_t token, Piece& piece) = 0;
  /// What an earlier piece has written lies on another device as well, as far as it was there at the mark.
  virtual std::uint64_t mark() const { return 0; }
  virtual void copied(const Piece&, std::uint64_t) {}
  /// All pieces are done, and the node that asked knows it; 0 or the first error.
  virtual void finished(std::uint64_t token, std::int32_t result, Time at) = 0;
};

class Service : private event::EventHandler {
 public:
  Service(const machine::Machine& machine, nic::Fabric& fabric, event::EventQueue& queue, Owner& owner);

  /// Work that a node asks for at a time, which may lie ahead; pieces start together. At least one.
  /// False where the node's interface has no port or memory left for it.
  bool begin(network::EndpointId node, Time at, std::uint64_t token, std::span<const Piece> pieces);

  /// A server fails at a time, for good: what it was doing is not done, and nobody answers there. What lies
  /// on other targets as well is read from those, and written to those alone; else it is an input/output
  /// error.
  void kill(ServerId server, Time at);

  /// One more, whose requests for data pass a gate where there is one. False where its node has no port or
  /// memory for it.
  bool add_server(network::EndpointId node, const machine::StorageDeviceParameters& device, Time request_time,
                  Gate* gate);
  /// A request that waits goes on: with the device, or from memory.
  void resume(std::uint32_t request, bool from_memory);
  void release(std::uint32_t request) { answer(request); }
  /// It cannot be served: the answer is an error.
  void fail(std::uint32_t request, std::int32_t error) {
    rpcs_[request].result = error;
    answer(request);
  }
  void set_place(std::uint32_t request, std::uint64_t place) { rpcs_[request].place = place; }
  /// From the server's own node?
  bool is_local(std::uint32_t request) const { return is_local(rpcs_[request]); }

  const Layout& layout() const { return layout_; }
  ServerId servers() const { return static_cast<ServerId>(servers_.size()); }
  bool is_down(ServerId server) const { return servers_[server].down; }
  network::EndpointId node_of(ServerId server) const { return servers_[server].node; }
  const ServerCounters& counters(ServerId server) const { return servers_[server].counters; }
  std::uint64_t repeated() const { return repeated_; }
  std::uint64_t transfer() const { return transfer_; }

  // What the fabric tells of agents' ports.
  bool has_port(nic::PortRef port) const {
    return port.nic < agent_of_nic_.size() && agent_of_nic_[port.nic] != kNoAgent &&
           agents_[agent_of_nic_[port.nic]].port.port == port.port;
  }
  void message(nic::PortRef port, const nic::Message& message);
  void event(nic::PortRef port, const nic::Event& event);
  /// The memory that puts of agents are from and to.
  static constexpr node::SpaceId kSpace = 0xfffffff0;

 private:
  using AgentId = std::uint32_t;
  static constexpr AgentId kNoAgent = ~0u;
  enum Kind : std::uint32_t { kStart, kServe, kMove, kMoved, kDone, kFinish, kAgain, kConsume, kKill };
  struct Lane {  // of a node to a server
    unsigned under_way = 0;
    std::deque<std::uint32_t> waiting;
  };
  struct Agent {
    network::EndpointId node = 0;
    nic::PortRef port;
    std::uint64_t key = 0;
    std::vector<Lane> lanes;
    unsigned messages = 0, events = 0;  // to be handed back
  };
  struct Server {
    network::EndpointId node = 0;
    AgentId agent = kNoAgent;
    Time processor_free{0};
    std::unique_ptr<Device> device;
    std::uint64_t journal = 0;
    Time request_time{0};
    Gate* gate = nullptr;
    bool down = false;
    ServerCounters counters;
  };
  struct Operation {
    std::uint64_t token = 0;
    std::uint32_t left = 0;
    std::int32_t result = 0;
  };
  struct Rpc {
    Piece piece;
    std::uint32_t operation = 0, number = 0;  // the second tells users of one place apart
    AgentId client = 0;
    unsigned attempt = 0;
    std::uint64_t moved = 0;  // over the server's bus
    std::uint64_t place = 0;
    std::int32_t result = 0;
    bool executed = false, answered = false;
  };

  void handle(const event::Event& event) override;
  AgentId agent_on(network::EndpointId node);
  void start(std::uint32_t index);
  void send_request(std::uint32_t index);
  void arrive(std::uint32_t index);
  void serve(std::uint32_t index);
  void use_device(std::uint32_t index);
  void move(std::uint32_t index);
  void moved(std::uint32_t index);
  void done(std::uint32_t index);
  void answer(std::uint32_t index);
  void answered(std::uint32_t index);
  void again(std::uint32_t index);
  void send_next(Lane& lane);
  bool lives_on(const Rpc& rpc) const;
  void post(const Agent& from, const Agent& to, std::uint32_t index, std::uint64_t bytes);
  bool find(std::uint64_t tag, std::uint32_t& index);
  void at(Time when, Kind kind, std::uint64_t data) { queue_.at(when, component_, kind, data); }
  bool is_local(const Rpc& rpc) const { return rpc.client == servers_[rpc.piece.server].agent; }

  const machine::StorageParameters p_;
  const Time interrupt_;
  Layout layout_;
  nic::Fabric& fabric_;
  event::EventQueue& queue_;
  event::ComponentId component_;
  Owner& owner_;
  std::uint64_t transfer_;
  std::vector<Server> servers_;
  std::vector<Agent> agents_;
  std::vector<AgentId> agent_of_nic_;
  Slab<Operation> operations_;
  Slab<Rpc> rpcs_;
  std::uint32_t begun_ = 0;
  std::uint64_t repeated_ = 0;
};

}  // namespace weft::storage
