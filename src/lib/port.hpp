// A port as the library sees it.
#pragma once

#include <pthread.h>

#include "lib/lane.hpp"
#include "lib/registration_cache.hpp"
#include "lib/weft.h"

struct weft_port {
  weft::host::Header* header;
  weft::host::PortArea* area;
  std::uint32_t index;
  weft_address self;
  std::uint32_t domain;
  pthread_mutex_t lock;
  weft::lib::RegistrationCache registrations;
};

namespace weft::lib {

/// The oldest entry of a ring, or null; its time may lie ahead of the reader's clock.
inline nic::Message* next_message(weft_port* p) {
  std::uint32_t taken = p->area->messages_taken.load(std::memory_order_relaxed);
  if (p->area->messages.load(std::memory_order_acquire) == taken) return nullptr;
  return &host::messages_of(p->area, *p->header)[taken % p->header->limits.message_slots];
}

inline nic::Event* next_event(weft_port* p) {
  std::uint32_t taken = p->area->events_taken.load(std::memory_order_relaxed);
  if (p->area->events.load(std::memory_order_acquire) == taken) return nullptr;
  return &host::events_of(p->area, *p->header)[taken % p->header->limits.event_slots];
}

/// Hands the entry's place back.
inline void message_taken(weft_port* p) {
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
inline void post_now(weft_port* p, host::Lane& lane, nic::Descriptor& d) {
  move_on(lane, p->header->costs.post);
  d.posted = now(lane);
  std::uint32_t posted = p->area->posted.load(std::memory_order_relaxed);
  host::submissions_of(p->area)[posted % p->header->limits.queue_slots] = d;
  p->area->posted.store(posted + 1, std::memory_order_release);
}

/// The port's lock, and the time computed before it.
class Inside {
 public:
  Inside(weft_port* port, host::Lane& lane) : port_(port) {
    enter(lane);
    pthread_mutex_lock(&port->lock);
  }
  ~Inside() {
    pthread_mutex_unlock(&port_->lock);
    leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  weft_port* port_;
};

}  // namespace weft::lib
