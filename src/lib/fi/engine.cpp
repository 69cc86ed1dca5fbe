// An endpoint's protocol, told in libfabric's terms.
#include "lib/fi/engine.hpp"

#include <string.h>

#include <algorithm>
#include <utility>

#include "lib/failures.hpp"
#include "lib/mpi_collectives.hpp"

namespace weft::fi {

using abi::Thread;

void ThreadPort::work(std::int64_t picoseconds) {
  if (engine_.computing_)
    engine_.owed_ += picoseconds;
  else
    lib::move_on(thread_, picoseconds);
}

void ThreadPort::post(nic::Descriptor& d) {
  while (lib::queue_full(engine_.port))
    lib::ask(thread_, abi::Call::Room, engine_.port->index, abi::kNoDeadline, abi::kNoRank);
  if (engine_.model.reliable) d.flags |= nic::kReliable;
  lib::post_now(engine_.port, thread_, d);
}

int ThreadPort::register_memory(void* base, std::size_t bytes, unsigned rights, std::uint64_t& key) {
  weft_memory memory{};
  int result = weft_register_anywhere(engine_.port, base, bytes, rights, &memory);
  key = memory.key;
  return result;
}

void ThreadPort::release_memory(std::uint64_t key) { weft_release(engine_.port, key); }

namespace {

std::uint16_t next_generation(const weft_port& port) {
  static std::uint16_t opened = 0;  // by this process; ranks of a node may take over each other's ports
  return static_cast<std::uint16_t>(port.header->rank * 131 + opened++);
}

/// Says what has failed, with the address where there is one that could not be read or written.
void tell_failure(const Request& r, const nic::Event& e, std::uint32_t rank) {
  static constexpr const char* kNames[] = {"a send", "a receive", "a put", "a get", "an atomic operation"};
  const char* what = kNames[static_cast<unsigned>(r.kind)];
  const char* why = weft_status_text(static_cast<unsigned>(e.status));
  auto bytes = static_cast<unsigned long long>(e.length);
  auto at =
      static_cast<unsigned long long>(e.status == nic::Status::BadMemory ? e.data : r.whole.remote_offset);
  const void* local = r.buffer.parts ? r.buffer.part[0].iov_base : nullptr;
  FI_WARN(&provider, FI_LOG_EP_DATA, "an operation failed: %s\n", why);
  if (e.status == nic::Status::BadMemory)
    lib::operation_failed("%s of %llu bytes with rank %u: memory at 0x%llx cannot be read or written", what,
                          bytes, rank, at);
  else
    lib::operation_failed("%s of %llu bytes at %p with rank %u, offset 0x%llx there: %s", what, bytes, local,
                          rank, at, why);
}

}  // namespace

Engine::Engine(Endpoint& e, weft_port* p, bool own_port)
    : Transport(p->header->mpi, p->header->sums,
                {p->header->limits.message_limit, p->header->limits.rdma_limit}, next_generation(*p)),
      endpoint(e),
      port(p),
      model(p->header->mpi),
      outcomes_(e),
      own_port_(own_port) {}

Engine::~Engine() {
  if (own_port_) weft_close(port);
}

Contact& Engine::contact(std::uint32_t peer) {
  if (peer >= contacts_.size()) contacts_.resize(peer + 1);
  return contacts_[peer];
}

std::uint32_t Engine::awaited_rank() const {
  std::uint32_t rank = abi::kNoRank;
  for (bool tagged : {false, true})
    for (const Receive* r = matching_.posted(tagged).first(); r; r = r->next) {
      if (r->peer >= contacts_.size() || (rank != abi::kNoRank && rank != contacts_[r->peer].rank))
        return abi::kNoRank;
      rank = contacts_[r->peer].rank;
    }
  return rank;
}

bool Engine::is_posted(const void* context) const {
  for (const Receive* r = matching_.posted(true).first(); r; r = r->next)
    if (r->context == context) return true;
  return false;
}

// --- What the protocol tells.

void Engine::sent_at_once(mpi::Port& at, const mpi::Outgoing& out) { outcomes_.sent(at.now(), out); }

void Engine::request_ended(mpi::Port& at, const Request& r) {
  outcomes_.ended(at.now(), r);
  staging_.sent(r.id);
}

void Engine::received(mpi::Port& at, const Incoming& in, std::size_t stored, int error, bool last) {
  if (staging_.received(in.receive->buffer, stored) != 0 && !error) error = FI_EIO;
  outcomes_.received(at.now(), in, contact(in.peer).handle, stored, error, last);
}

void Engine::registration_failed(const Request& r, const void* base, int error) {
  lib::operation_failed("the registration of %zu bytes at %p for rank %u: %s", r.length, base,
                        contact(r.peer).rank, strerror(error));
}

void Engine::operation_failed(const Request& r, const nic::Event& e) {
  tell_failure(r, e, contact(r.peer).rank);
}

// --- Posting.

ssize_t Engine::send(Thread& thread, const Outgoing& out, std::uint32_t& sent) {
  sent = 0;
  const std::uint32_t peer = peer_of_handle(out.destination);
  if (peer == kAnyPeer) return -FI_EINVAL;
  if (out.buffer.length > UINT32_MAX) return -FI_EMSGSIZE;
  lib::found_something();
  ThreadPort at(*this, thread);
  at.mark = lib::collective_number();
  mpi::Outgoing message = out;
  message.queue = out.quiet ? nullptr : endpoint.send_cq;
  message.counter = endpoint.send_counter;
  if (!on_device(message.buffer)) return Transport::send(at, peer, message, sent);
  // The interface fetches it from the device; but who may change it at once has a copy taken.
  message.direct = on_peer(message.buffer) && !message.inject;
  if (message.direct) return Transport::send(at, peer, message, sent);
  Staging::Sent copy;
  if (int result = Staging::stage(message.buffer, copy); result != 0) return result;
  message.buffer = copy.buffer;
  const int result = Transport::send(at, peer, message, sent);
  if (result == 0 && sent) staging_.keep(sent, std::move(copy));
  return result;
}

thread_local const void* last_receive = nullptr;

ssize_t Engine::receive(Thread& thread, const Receive& wanted) {
  lib::found_something();
  last_receive = wanted.context;
  if (wanted.multi && wanted.buffer.parts != 1) return -FI_EINVAL;
  ThreadPort at(*this, thread);
  if (wanted.multi || !on_device(wanted.buffer) || on_peer(wanted.buffer)) {
    Transport::receive(at, wanted);
    return 0;
  }
  Receive staged = wanted;
  staged.buffer = staging_.expect(wanted.buffer);
  Transport::receive(at, staged);
  return 0;
}

ssize_t Engine::claim(Thread& thread, Receive wanted) {
  auto found = claimed_.find(wanted.context);
  if (found == claimed_.end()) return -FI_EINVAL;
  Incoming* in = found->second;
  claimed_.erase(found);
  lib::found_something();
  if (wanted.discard) wanted.buffer = Buffer();
  if (on_device(wanted.buffer) && !on_peer(wanted.buffer)) wanted.buffer = staging_.expect(wanted.buffer);
  ThreadPort at(*this, thread);
  take_unexpected(at, in, wanted);
  return 0;
}

ssize_t Engine::cancel(void* context) {
  Receive receive;
  if (!Transport::cancel(context, receive)) return -FI_ENOENT;
  staging_.cancelled(receive.buffer);
  outcomes_.cancelled(receive);
  return 0;
}

}  // namespace weft::fi
