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
