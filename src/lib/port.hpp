// A port as the library sees it.
#pragma once

#include <pthread.h>

#include "lib/rank_thread.hpp"
#include "lib/weft.h"
#include "mpi/registration_cache.hpp"

struct weft_port {
  weft::abi::Header* header;
  weft::abi::PortArea* area;
  std::uint32_t index;
  std::uint32_t message_slots;  // of its ring
  weft_address self;
  std::uint32_t domain;
  pthread_mutex_t lock;
  weft::mpi::RegistrationCache registrations;
};

namespace weft::lib {

/// The slot of a ring where the next message comes.
inline nic::Message* message_slot(weft_port* p) {
  std::uint32_t taken = p->area->messages_taken.load(std::memory_order_relaxed);
  return &abi::messages_of(p->area, *p->header)[taken % p->message_slots];
}

/// The oldest entry of a ring, or null; its time may lie ahead of the reader's clock. Only the slot's own
/// first word is looked at: while nothing comes, it stays in the reader's cache.
inline nic::Message* next_message(weft_port* p) {
  nic::Message* slot = message_slot(p);
  return std::atomic_ref(slot->time).load(std::memory_order_acquire) ? slot : nullptr;
}

inline nic::Event* next_event(weft_port* p) {
  std::uint32_t taken = p->area->events_taken.load(std::memory_order_relaxed);
  if (p->area->events.load(std::memory_order_acquire) == taken) return nullptr;
  return &abi::events_of(p->area, *p->header)[taken % p->header->limits.event_slots];
}

/// Clears the slot for its next message and hands it back.
inline void message_taken(weft_port* p) {
  message_slot(p)->time = 0;
  p->area->messages_taken.store(p->area->messages_taken.load(std::memory_order_relaxed) + 1,
                                std::memory_order_release);
}
inline void event_taken(weft_port* p) {
  p->area->events_taken.store(p->area->events_taken.load(std::memory_order_relaxed) + 1,
                              std::memory_order_release);
}

inline bool queue_full(weft_port* p) {
  return p->area->posted.load(std::memory_order_relaxed) -
             p->area->accepted.load(std::memory_order_acquire) >=
         p->header->limits.queue_slots;
}

/// Posts where there is room.
inline void post_now(weft_port* p, abi::Thread& thread, nic::Descriptor& d) {
  move_on(thread, p->header->costs.post);
  d.posted = now(thread);
  std::uint32_t posted = p->area->posted.load(std::memory_order_relaxed);
  abi::submissions_of(p->area)[posted % p->header->limits.queue_slots] = d;
  p->area->posted.store(posted + 1, std::memory_order_release);
  // Until it can have been noticed the rings are as the simulator knew they would be.
  const std::int64_t noticed = d.posted + p->header->costs.write_latency;
  if (noticed < thread.safe_until) thread.safe_until = noticed;
}

/// The time computed before a call, and the start of the time after it.
class Timed {
 public:
  explicit Timed(abi::Thread& thread) { enter(thread); }
  ~Timed() { leave(); }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;
};

class Locked {
 public:
  explicit Locked(weft_port* port) : port_(port) { pthread_mutex_lock(&port->lock); }
  ~Locked() { pthread_mutex_unlock(&port_->lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  weft_port* port_;
};

/// The port's lock, and the time computed before it.
class Inside {
 public:
  Inside(weft_port* port, abi::Thread& thread) : timed_(thread), locked_(port) {}

 private:
  Timed timed_;
  Locked locked_;
};

/// Posts a descriptor: 0, or -EAGAIN where the queue is full; as weft_put does.
int post(weft_port* p, nic::Descriptor& d);
/// The same, and waits for room.
int post_when_room(weft_port* p, nic::Descriptor& d);
/// 1 and the next event taken, as it lies in memory, or 0: there is none.
int take_event(weft_port* p, nic::Event& event);

}  // namespace weft::lib
