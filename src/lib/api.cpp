// The functions of weft.h.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Header;
using weft::abi::PortArea;
using weft::abi::Thread;
using weft::lib::Inside;
using weft::nic::Descriptor;
using weft::nic::Operation;
namespace abi = weft::abi;
namespace lib = weft::lib;

namespace {

/// Where the machine says so, the processor stands before a full queue, as before a store that finds no
/// credit, until there is room or the watchdog lets it go. The port's lock is free meanwhile.
int post_or_stall(weft_port* p, Thread& thread, Descriptor& d) {
  lib::Timed timed(thread);
  std::int64_t until = 0;
  for (;;) {
    {
      lib::Locked locked(p);
      if (!lib::queue_full(p)) {
        lib::found_something();
        lib::post_now(p, thread, d);
        return 0;
      }
    }
    if (!until) until = lib::now(thread) + p->header->limits.stall;
    if (lib::now(thread) >= until) return -ETIMEDOUT;
    lib::ask(thread, Call::Stall, p->index, until, abi::kNoRank);
  }
}

Descriptor remote(Operation operation, weft_memory at, std::uint64_t offset, std::uint64_t length,
                  unsigned flags, std::uint64_t context) {
  Descriptor d;
  d.operation = operation;
  d.flags = static_cast<std::uint16_t>(flags);
  d.node = at.owner.node;
  d.port = at.owner.port;
  d.remote_key = at.key;
  d.remote_offset = offset;
  d.length = length;
  d.context = context;
  return d;
}

int open_port(weft_port** out, abi::OpenAs as, std::uint64_t at_no_cost, std::uint64_t slots) {
  if (!out) return -EINVAL;
  if (!lib::take_over()) return lib::run() ? -EBUSY : -ENODEV;
  Thread* thread = lib::this_thread();
  Header* header = lib::segment();
  if (!thread || !header) return -ENODEV;
  lib::enter(*thread);
  thread->argument[0] = static_cast<std::uint64_t>(as);
  thread->argument[1] = at_no_cost;
  thread->argument[2] = slots;
  int result = lib::ask(*thread, Call::Open, abi::kNoPort, abi::kNoDeadline, abi::kNoRank);
  if (result != 0) return result;
  auto* p = static_cast<weft_port*>(calloc(1, sizeof(weft_port)));
  if (!p) return -ENOMEM;
  p->header = header;
  p->index = static_cast<std::uint32_t>(thread->answer[0]);
  p->area = abi::port_at(header, *header, p->index);
  p->message_slots = static_cast<std::uint32_t>(thread->answer[3]);
  p->self = {static_cast<std::uint32_t>(thread->answer[1]), static_cast<std::uint32_t>(thread->answer[2])};
  if (!p->registrations.make_room(header->limits.registrations)) {
    free(p);
    return -ENOMEM;
  }
  pthread_mutex_init(&p->lock, nullptr);
  *out = p;
  lib::leave();
  return 0;
}

}  // namespace

namespace weft::lib {

int post(weft_port* p, Descriptor& d) {
  Thread* thread = this_thread();
  if (!p || !thread) return -ENODEV;
  if (p->header->limits.stall) return post_or_stall(p, *thread, d);
  Inside inside(p, *thread);
  if (queue_full(p) && !(found_nothing(*thread, p->index) && !queue_full(p))) return -EAGAIN;
  found_something();
  post_now(p, *thread, d);
  return 0;
}

int post_when_room(weft_port* p, Descriptor& d) {
  for (;;) {
    int result = post(p, d);
    if (result != -EAGAIN) return result;
    Thread* thread = this_thread();
    Timed timed(*thread);
    ask(*thread, Call::Room, p->index, abi::kNoDeadline, abi::kNoRank);
  }
}

int take_event(weft_port* p, nic::Event& out) {
  Thread* thread = this_thread();
  if (!p || !thread) return -EINVAL;
  Inside inside(p, *thread);
  nic::Event* e = next_event(p);
  if (!e || e->time > now(*thread)) {
    if (!found_nothing(*thread, p->index)) return 0;
    e = next_event(p);
    if (!e || e->time > now(*thread)) return 0;
  }
  found_something();
  out = *e;
  event_taken(p);
  move_on(*thread, p->header->costs.look + p->header->costs.receive);
  return 1;
}

}  // namespace weft::lib

using lib::post;

extern "C" {

int weft_rank(void) { return lib::run() ? static_cast<int>(lib::run()->rank) : -ENODEV; }
int weft_size(void) { return lib::run() ? static_cast<int>(lib::run()->ranks) : -ENODEV; }
int weft_node(void) { return lib::run() ? static_cast<int>(lib::run()->node) : -ENODEV; }

int weft_open(weft_port** port) { return open_port(port, abi::OpenAs::Stores, 0, 0); }
int weft_open_memory_queue(weft_port** port) { return open_port(port, abi::OpenAs::MemoryQueue, 0, 0); }
int weft_open_kernel(weft_port** port) { return open_port(port, abi::OpenAs::Kernel, 0, 0); }
int weft_open_for_mpi(weft_port** port) { return open_port(port, abi::OpenAs::Stores, 1, 0); }

int weft_open_mailbox(weft_port** port, size_t bytes) {
  Header* header = lib::run();
  if (!header) return -ENODEV;
  std::uint64_t slots = bytes / header->limits.message_limit;
  if (slots == 0) return -EINVAL;
  return open_port(port, abi::OpenAs::Stores, 0, slots);
}

int weft_close(weft_port* p) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  lib::enter(*thread);
  thread->argument[0] = lib::outside();
  int result = lib::ask(*thread, Call::Close, p->index, abi::kNoDeadline, abi::kNoRank);
  pthread_mutex_destroy(&p->lock);
  p->registrations.give_room();
  free(p);
  lib::leave();
  return result;
}

int weft_self(const weft_port* p, weft_address* address) {
  if (!p || !address) return -EINVAL;
  *address = p->self;
  return 0;
}

int weft_get_limits(const weft_port* p, weft_limits* limits) {
  if (!p || !limits) return -EINVAL;
  const abi::Limits& l = p->header->limits;
  *limits = {l.queue_slots,   p->message_slots,  l.event_slots,
             l.message_limit, l.immediate_limit, l.rdma_limit};
  return 0;
}

int weft_lookup(weft_port* p, int rank, int index, weft_address* address) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  if (!address || rank < 0 || index < 0 || rank >= weft_size()) return -EINVAL;
  lib::enter(*thread);
  thread->argument[0] = static_cast<std::uint64_t>(rank);
  thread->argument[1] = static_cast<std::uint64_t>(index);
  int result = lib::ask(*thread, Call::LookUp, p->index, abi::kNoDeadline, static_cast<std::uint32_t>(rank));
  if (result == 0)
    *address = {static_cast<std::uint32_t>(thread->answer[0]), static_cast<std::uint32_t>(thread->answer[1])};
  lib::leave();
  return result;
}

int weft_send(weft_port* p, weft_address to, const void* data, size_t length, uint32_t tag, unsigned flags,
              uint64_t context) {
  if (!p) return -ENODEV;
  if (length > p->header->limits.message_limit || (length && !data)) return -EMSGSIZE;
  Descriptor d = remote(Operation::Message, {to, 0}, 0, length, flags, context);
  d.tag = tag;
  if (length) memcpy(d.data, data, length);
  return post(p, d);
}

int weft_send_fragments(weft_port* p, weft_address to, const void* data, size_t length, size_t* posted,
                        uint32_t tag) {
  if (!p) return -ENODEV;
  if (!posted || *posted > length || (length && !data)) return -EINVAL;
  size_t most = p->header->limits.message_limit;
  do {
    size_t part = length - *posted < most ? length - *posted : most;
    unsigned flags = *posted + part < length ? WEFT_MORE : 0;
    int result = weft_send(p, to, static_cast<const char*>(data) + *posted, part, tag, flags, 0);
    if (result == -EAGAIN) return 0;
    if (result < 0) return result;
    *posted += part;
  } while (*posted < length);
  return 1;
}

int weft_put(weft_port* p, uint64_t local_key, uint64_t local_offset, weft_memory to, uint64_t remote_offset,
             uint64_t length, uint64_t data, unsigned flags, uint64_t context) {
  Descriptor d = remote(Operation::Put, to, remote_offset, length, flags, context);
  d.local_key = local_key;
  d.local_offset = local_offset;
  d.operand = data;
  return post(p, d);
}

int weft_put_immediate(weft_port* p, const void* data, size_t length, weft_memory to, uint64_t remote_offset,
                       uint64_t event_data, unsigned flags, uint64_t context) {
  if (!p) return -ENODEV;
  if (length > p->header->limits.immediate_limit || !data) return -EMSGSIZE;
  Descriptor d = remote(Operation::ImmediatePut, to, remote_offset, length, flags, context);
  d.operand = event_data;
  memcpy(d.data, data, length);
  return post(p, d);
}

int weft_get(weft_port* p, uint64_t local_key, uint64_t local_offset, weft_memory from,
             uint64_t remote_offset, uint64_t length, unsigned flags, uint64_t context) {
  Descriptor d = remote(Operation::Get, from, remote_offset, length, flags, context);
  d.local_key = local_key;
  d.local_offset = local_offset;
  return post(p, d);
}

int weft_fetch_add(weft_port* p, weft_memory at, uint64_t offset, uint64_t add, unsigned flags,
                   uint64_t context) {
  Descriptor d = remote(Operation::FetchAdd, at, offset, 8, flags, context);
  d.operand = add;
  return post(p, d);
}

int weft_compare_swap(weft_port* p, weft_memory at, uint64_t offset, uint64_t expected, uint64_t desired,
                      unsigned flags, uint64_t context) {
  Descriptor d = remote(Operation::CompareSwap, at, offset, 8, flags, context);
  d.operand = desired;
  d.compare = expected;
  return post(p, d);
}

int weft_bounded_add(weft_port* p, weft_memory at, uint64_t offset, int64_t limit, int64_t add,
                     unsigned flags, uint64_t context) {
  Descriptor d = remote(Operation::BoundedAdd, at, offset, 8, flags, context);
  d.operand = static_cast<std::uint64_t>(add);
  d.compare = static_cast<std::uint64_t>(limit);
  return post(p, d);
}

int weft_poll(weft_port* p, weft_event* out) {
  if (!out) return -EINVAL;
  weft::nic::Event e;
  int found = lib::take_event(p, e);
  if (found != 1) return found;
  *out = {static_cast<std::uint32_t>(e.kind),
          static_cast<std::uint32_t>(e.operation),
          static_cast<std::uint32_t>(e.status),
          e.tag,
          {e.node, e.port},
          e.length,
          e.context,
          e.data,
          e.time,
          e.kind == weft::nic::EventKind::Interrupt ? static_cast<std::uint32_t>(e.spare[1]) : 0};
  return 1;
}

int weft_receive(weft_port* p, void* buffer, size_t capacity, weft_message* out) {
  Thread* thread = lib::this_thread();
  if (!p || !out || !thread) return -EINVAL;
  Inside inside(p, *thread);
  weft::nic::Message* m = lib::next_message(p);
  if (!m || m->time > lib::now(*thread)) {
    if (!lib::found_nothing(*thread, p->index)) return 0;
    m = lib::next_message(p);
    if (!m || m->time > lib::now(*thread)) return 0;
  }
  lib::found_something();
  if (m->length > capacity) return -EMSGSIZE;
  *out = {{m->node, m->port}, m->tag, m->length, m->flags, m->sequence, m->time};
  if (m->length) memcpy(buffer, m->data, m->length);
  lib::message_taken(p);
  lib::move_on(*thread, p->header->costs.look + p->header->costs.receive);
  return 1;
}

int weft_wait_for(weft_port* p, int rank, int64_t timeout_ns) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -EINVAL;
  lib::enter(*thread);
  std::int64_t deadline = abi::kNoDeadline, clock = lib::now(*thread);
  if (timeout_ns >= 0 && timeout_ns < (abi::kNoDeadline - clock) / 1000) deadline = clock + timeout_ns * 1000;
  // What is in the rings but lies ahead of this clock has happened already for the simulator.
  std::int64_t first = abi::kNoDeadline;
  if (auto* m = lib::next_message(p)) first = m->time;
  if (auto* e = lib::next_event(p); e && e->time < first) first = e->time;
  int result = 0;
  if (first <= clock) {
    lib::found_something();
  } else if (first <= deadline && first <= thread->safe_until) {
    lib::jump_to(*thread, first);
    lib::found_something();
  } else {
    result = lib::ask(*thread, Call::Wait, p->index, deadline,
                      rank < 0 ? abi::kNoRank : static_cast<std::uint32_t>(rank));
    lib::found_something();
  }
  lib::leave();
  return result;
}

int weft_wait(weft_port* p, int64_t timeout_ns) { return weft_wait_for(p, -1, timeout_ns); }

int weft_wait_interrupt(weft_port* p, int64_t timeout_ns) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -EINVAL;
  std::int64_t before = lib::now(*thread);
  int result = weft_wait_for(p, -1, timeout_ns);
  if (result == 0 && lib::now(*thread) > before) lib::move_on(*thread, p->header->costs.interrupt);
  return result;
}

int weft_enable_interrupts(weft_port* p, unsigned causes) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  if (causes & ~unsigned{WEFT_CAUSE_ASKED | WEFT_CAUSE_QUEUE | WEFT_CAUSE_ERROR}) return -EINVAL;
  lib::enter(*thread);
  thread->argument[0] = causes;
  int result = lib::ask(*thread, Call::EnableInterrupts, p->index, abi::kNoDeadline, abi::kNoRank);
  lib::leave();
  return result;
}

void weft_pause(void) {
  Thread* thread = lib::this_thread();
  if (!thread) return;
  lib::Timed timed(*thread);
  lib::pause(*thread);
}

int64_t weft_now_ps(void) {
  Thread* thread = lib::this_thread();
  return thread ? lib::read_clock(*thread, __builtin_return_address(0)) : -ENODEV;
}

void weft_compute(int64_t nanoseconds) {
  Thread* thread = lib::this_thread();
  if (!thread || nanoseconds <= 0) return;
  lib::enter(*thread);
  constexpr std::int64_t kMost = abi::kLastClock / 1000;
  lib::compute_for(*thread, nanoseconds < kMost ? nanoseconds * 1000 : abi::kLastClock);
  lib::leave();
}

const char* weft_status_text(unsigned status) {
  static const char* const texts[] = {"ok",
                                      "no such operation or flag",
                                      "nobody is at that node",
                                      "the node has no such port open",
                                      "no such memory, or not of that port",
                                      "the memory may not be used so",
                                      "beyond the end of the memory",
                                      "too long, or empty",
                                      "the process has unmapped the memory",
                                      "the network has no way there",
                                      "no answer after all repetitions",
                                      "the port was closed",
                                      "no room",
                                      "busy",
                                      "done, with an error in the data",
                                      "control packets of one round are of different collectives"};
  return status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}
}
