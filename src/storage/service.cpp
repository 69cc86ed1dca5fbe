#include "storage/service.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/diagnostics.hpp"

namespace weft::storage {

namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 32;
constexpr std::uint64_t kBurst = 65'536;       // moved over a server's bus at once: others go between
constexpr std::uint64_t kJournalEntry = 4096;  // of a change of metadata
constexpr std::uint64_t kHeader = 64;          // of a request or an answer without data
constexpr unsigned kIndexBits = 24;            // of a tag; the rest tells users of one place apart

std::vector<network::EndpointId> server_nodes(const machine::Machine& machine) {
  const machine::StorageParameters& p = machine.description.storage;
  const std::uint64_t nodes = machine.graph->endpoints();
  std::vector<network::EndpointId> out;
  // In the middle of equal parts of the machine, the metadata server in the last of them.
  auto spread = [&](std::uint64_t i) {
    const std::uint64_t parts = p.targets + std::uint64_t{1}, part = i == 0 ? p.targets : i - 1;
    return static_cast<network::EndpointId>((2 * part + 1) * nodes / (2 * parts));
  };
  for (std::uint64_t i = 0; i <= p.targets; ++i)
    out.push_back(p.nodes.empty() ? spread(i) : p.nodes[i % p.nodes.size()]);
  return out;
}

}  // namespace

Service::Service(const machine::Machine& machine, nic::Fabric& fabric, event::EventQueue& queue, Owner& owner)
    : p_(machine.description.storage),
      interrupt_(machine.description.host.interrupt),
      layout_(p_),
      fabric_(fabric),
      queue_(queue),
      component_(queue.join(*this)),
      owner_(owner),
      transfer_(static_cast<std::uint64_t>(std::min(p_.transfer, fabric.parameters().rdma_limit).value)) {
  const std::vector<network::EndpointId> nodes = server_nodes(machine);
  for (network::EndpointId node : nodes) {
    Server server;
    server.node = node;
    server.device = std::make_unique<Device>(p_.device);
    server.request_time = p_.request_time;
    servers_.push_back(std::move(server));
  }
  for (Server& server : servers_) {
    server.agent = agent_on(server.node);
    if (server.agent != kNoAgent) continue;
    for (const Agent& agent : agents_) fabric_.close(agent.port);
    throw UserError("nic.ports, nic.physical_bits: an interface has no port or memory left for it");
  }
}

bool Service::add_server(network::EndpointId node, const machine::StorageDeviceParameters& device,
                         Time request_time, Gate* gate) {
  Server server;
  server.node = node;
  server.device = std::make_unique<Device>(device);
  server.request_time = request_time;
  server.gate = gate;
  server.agent = agent_on(node);
  if (server.agent == kNoAgent) return false;
  servers_.push_back(std::move(server));
  for (Agent& agent : agents_) agent.lanes.resize(servers_.size());
  return true;
}

Service::AgentId Service::agent_on(network::EndpointId node) {
  const nic::NicId nic = fabric_.attach(node);
  if (agent_of_nic_.size() <= nic) agent_of_nic_.resize(nic + 1, kNoAgent);
  if (agent_of_nic_[nic] != kNoAgent) return agent_of_nic_[nic];
  Agent agent;
  agent.node = node;
  nic::PortNo port = 0;
  // One of the kernel's own where the machine keeps some, else one as any process has it.
  nic::Status status = fabric_.open_for_kernel(nic, kSpace, port);
  if (status != nic::Status::Ok) status = fabric_.open(nic, kSpace, true, port);
  if (status != nic::Status::Ok) return kNoAgent;
  agent.port = {nic, port};
  fabric_.set_traffic_class(agent.port, p_.traffic_class);
  if (fabric_.parameters().channels) fabric_.join_domain(agent.port, 1);
  const std::uint64_t room = transfer_ * p_.in_flight;
  if (fabric_.register_memory(agent.port, kBase, room, nic::kRemoteWrite, agent.key) != nic::Status::Ok) {
    fabric_.close(agent.port);
    return kNoAgent;
  }
  agent.lanes.resize(servers_.size());
  agents_.push_back(std::move(agent));
  return agent_of_nic_[nic] = static_cast<AgentId>(agents_.size() - 1);
}

bool Service::begin(network::EndpointId node, Time when, std::uint64_t token, std::span<const Piece> pieces) {
  WEFT_CHECK(!pieces.empty(), "an operation of the file system needs a server");
  const AgentId client = agent_on(node);
  if (client == kNoAgent) return false;
  const std::uint32_t operation = operations_.take();
  operations_[operation] = {token, static_cast<std::uint32_t>(pieces.size()), 0};
  for (const Piece& piece : pieces) {
    const std::uint32_t index = rpcs_.take();
    WEFT_CHECK(index >> kIndexBits == 0, "fewer requests are under way");
    rpcs_[index] = {.piece = piece, .operation = operation, .number = ++begun_ % 255 + 1, .client = client};
    rpcs_[index].place =
        piece.place == Piece::kByLayout ? layout_.place(piece.file, piece.offset) : piece.place;
    at(std::max(when, queue_.now()), kStart, index);
  }
  return true;
}

void Service::kill(ServerId server, Time when) { at(std::max(when, queue_.now()), kKill, server); }

void Service::handle(const event::Event& event) {
  const auto index = static_cast<std::uint32_t>(event.data);
  const bool serves = event.kind >= kServe && event.kind <= kDone;
  if (serves && servers_[rpcs_[index].piece.server].down) return again(index);  // it died with it
  switch (static_cast<Kind>(event.kind)) {
    case kStart:
      return start(index);
    case kServe:
      return serve(index);
    case kMove:
      return move(index);
    case kMoved:
      return moved(index);
    case kDone:
      return done(index);
    case kAgain:
      return send_request(index);
    case kKill:
      servers_[index].down = true;
      return;
    case kConsume: {
      Agent& agent = agents_[index];
      return fabric_.consumed(agent.port, std::exchange(agent.messages, 0), std::exchange(agent.events, 0));
    }
    case kFinish: {
      const Operation operation = operations_[index];
      operations_.give(index);
      queue_.stop();
      owner_.finished(operation.token, operation.result, queue_.now());
    }
  }
}

// --- The node that asks.

void Service::start(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  if (rpc.piece.ungated) return arrive(index);  // those who wait there wait for it
  Lane& lane = agents_[rpc.client].lanes[rpc.piece.server];
  if (lane.under_way == p_.in_flight) return lane.waiting.push_back(index);
  ++lane.under_way;
  send_request(index);
}

void Service::send_request(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  if (is_local(rpc)) return arrive(index);
  const Agent& to = agents_[servers_[rpc.piece.server].agent];
  post(agents_[rpc.client], to, index, rpc.piece.work == Work::Write ? rpc.piece.bytes : 0);
}

/// A message where there is no data, else a put that says what it is for.
void Service::post(const Agent& from, const Agent& to, std::uint32_t index, std::uint64_t bytes) {
  const Rpc& rpc = rpcs_[index];
  const std::uint32_t tag = rpc.number << kIndexBits | index;
  nic::Descriptor d;
  d.operation = bytes ? nic::Operation::Put : nic::Operation::Message;
  d.node = to.node;
  d.port = to.port.port;
  d.tag = tag;
  d.context = d.operand = tag;
  d.posted = queue_.now().value;
  if (bytes) {
    d.flags = nic::kNotifyRemote;
    d.length = bytes;
    d.local_key = from.key;
    d.remote_key = to.key;
    d.local_offset = d.remote_offset = index % p_.in_flight * transfer_;
  } else {
    d.length = std::min(kHeader, static_cast<std::uint64_t>(fabric_.parameters().message_limit.value));
  }
  fabric_.post(from.port, d);
}

/// A request to a server has ended: the next may leave.
void Service::send_next(Lane& lane) {
  --lane.under_way;
  if (lane.waiting.empty()) return;
  const std::uint32_t next = lane.waiting.front();
  lane.waiting.pop_front();
  ++lane.under_way;
  send_request(next);
}

/// The answer is here.
void Service::answered(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  if (!rpc.piece.ungated) send_next(agents_[rpc.client].lanes[rpc.piece.server]);
  Operation& operation = operations_[rpc.operation];
  if (operation.result == 0) operation.result = rpc.result;
  const std::uint32_t whole = rpc.operation;
  rpc.number = 0;  // what still comes for it is nobody's
  rpcs_.give(index);
  if (--operation.left == 0) at(later(queue_.now(), interrupt_), kFinish, whole);
}

/// Is what it is about on another target that has not failed?
bool Service::lives_on(const Rpc& rpc) const {
  for (std::uint32_t copy = 0; copy < layout_.replicas(); ++copy)
    if (copy != rpc.piece.copy &&
        !servers_[layout_.target(rpc.piece.file, rpc.piece.offset / layout_.unit(), copy)].down)
      return true;
  return false;
}

/// A request or its answer has not come through whole, or nobody answers. What a server is for that has
/// failed, the client knows when it has asked in vain once more.
void Service::again(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  const Piece& piece = rpc.piece;
  const bool data = piece.work == Work::Read || piece.work == Work::Write;
  const bool gone = servers_[piece.server].down && rpc.attempt > 0;
  if (gone && piece.work == Work::Write && lives_on(rpc)) return answered(index);
  const bool copied = piece.server != kMetadata && layout_.replicas() > 1;
  if (gone && piece.work == Work::Flush && copied) return answered(index);  // flushed where its copies are
  if (gone && piece.work == Work::Read && lives_on(rpc)) {
    Lane& lane = agents_[rpc.client].lanes[piece.server];
    rpc.piece.copy = (piece.copy + 1) % layout_.replicas();
    rpc.piece.server = layout_.target(piece.file, piece.offset / layout_.unit(), rpc.piece.copy);
    rpc.attempt = 0;
    ++repeated_;
    send_next(lane);
    return start(index);
  }
  if (rpc.attempt++ >= p_.retries || (gone && data)) {
    rpc.result = -EIO;
    return answered(index);
  }
  ++repeated_;
  at(later(queue_.now(), p_.retry), kAgain, index);
}

// --- The server.

void Service::arrive(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  Server& server = servers_[rpc.piece.server];
  if (server.down) return again(index);
  const bool data = rpc.piece.work == Work::Read || rpc.piece.work == Work::Write;
  const Time cost = data || server.gate ? server.request_time : p_.metadata_time;
  server.processor_free = later(std::max(server.processor_free, queue_.now()), cost);
  server.counters.busy += cost;
  ++server.counters.requests;
  rpc.moved = 0;
  at(server.processor_free, kServe, index);
}

void Service::serve(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  Gate* gate = servers_[rpc.piece.server].gate;
  const bool data = rpc.piece.work == Work::Read || rpc.piece.work == Work::Write;
  if (!gate || !data || rpc.piece.ungated || rpc.executed) return use_device(index);
  const Gate::Way way = gate->prepare(rpc.piece, index);
  if (way != Gate::Way::Wait) resume(index, way == Gate::Way::Memory);
}

void Service::resume(std::uint32_t index, bool from_memory) { from_memory ? done(index) : use_device(index); }

void Service::use_device(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  Server& server = servers_[rpc.piece.server];
  Device& device = *server.device;
  switch (rpc.piece.work) {
    case Work::Look:
      return done(index);
    case Work::Flush:
      return at(device.durable(queue_.now()), kDone, index);
    case Work::Read:
      return at(device.read(queue_.now(), rpc.place, rpc.piece.bytes), kMove, index);
    case Work::Change:
      if (rpc.executed) return done(index);  // asked again, because the answer was lost
      rpc.piece.bytes = kJournalEntry;
      rpc.place = server.journal;
      server.journal = (server.journal + kJournalEntry) % (std::uint64_t{1} << 28);
      return move(index);
    case Work::Write:
      return move(index);
  }
}

/// Between the server's memory and its device, over the node's bus.
void Service::move(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  node::Bus& bus = fabric_.site(agents_[servers_[rpc.piece.server].agent].port.nic).bus();
  const auto burst = static_cast<std::int64_t>(std::min(kBurst, rpc.piece.bytes - rpc.moved));
  rpc.moved += static_cast<std::uint64_t>(burst);
  const Time there = rpc.piece.work == Work::Read ? bus.to_memory(queue_.now(), burst)
                                                  : bus.from_memory(queue_.now(), burst);
  at(std::max(queue_.now(), there), rpc.moved < rpc.piece.bytes ? kMove : kMoved, index);
}

void Service::moved(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  if (rpc.piece.work == Work::Read) return done(index);
  Device& device = *servers_[rpc.piece.server].device;
  const Time taken = device.write(queue_.now(), rpc.place, rpc.piece.bytes);
  if (!rpc.executed) rpc.piece.durable = device.settled();
  at(taken, kDone, index);
}

void Service::done(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  ServerCounters& counters = servers_[rpc.piece.server].counters;
  if (rpc.piece.work == Work::Read) counters.bytes_read += rpc.piece.bytes;
  if (rpc.piece.work == Work::Write) counters.bytes_written += rpc.piece.bytes;
  if (!std::exchange(rpc.executed, true)) {
    rpc.result = owner_.carry_out(operations_[rpc.operation].token, rpc.piece);
    Gate* gate = servers_[rpc.piece.server].gate;
    const bool gated =
        gate && !rpc.piece.ungated && (rpc.piece.work == Work::Read || rpc.piece.work == Work::Write);
    if (gated && gate->holds(rpc.piece, index, rpc.result)) return;
  }
  answer(index);
}

void Service::answer(std::uint32_t index) {
  Rpc& rpc = rpcs_[index];
  if (is_local(rpc)) return answered(index);
  const Agent& from = agents_[servers_[rpc.piece.server].agent];
  const bool data = (rpc.piece.work == Work::Read || rpc.piece.work == Work::Look) && rpc.result == 0;
  post(from, agents_[rpc.client], index, data ? std::min(rpc.piece.bytes, transfer_) : 0);
}

// --- What the fabric tells.

/// False where nobody waits for it any more.
bool Service::find(std::uint64_t tag, std::uint32_t& index) {
  index = static_cast<std::uint32_t>(tag & ((1u << kIndexBits) - 1));
  return static_cast<std::uint32_t>(rpcs_[index].number << kIndexBits | index) ==
         static_cast<std::uint32_t>(tag);
}

void Service::message(nic::PortRef port, const nic::Message& message) {
  const AgentId id = agent_of_nic_[port.nic];
  if (agents_[id].messages++ == 0 && agents_[id].events == 0) at(queue_.now(), kConsume, id);
  std::uint32_t index = 0;
  if (!find(message.tag, index)) return;
  if (message.flags & nic::kDamaged) return again(index);
  rpcs_[index].client == id ? answered(index) : arrive(index);
}

void Service::event(nic::PortRef port, const nic::Event& event) {
  const AgentId id = agent_of_nic_[port.nic];
  if (agents_[id].events++ == 0 && agents_[id].messages == 0) at(queue_.now(), kConsume, id);
  std::uint32_t index = 0;
  const bool failed = event.kind == nic::EventKind::Failed;
  if ((!failed && event.kind != nic::EventKind::Arrived) || !find(failed ? event.context : event.data, index))
    return;
  if (failed || event.status != nic::Status::Ok) return again(index);
  rpcs_[index].client == id ? answered(index) : arrive(index);
}

}  // namespace weft::storage
