// A call of the application into the provider: the time it computed before is charged, and threads take
// turns.
#pragma once

#include "lib/fi/objects.hpp"

namespace weft::fi {

class Entry {
 public:
  Entry(Domain& domain, host::Lane& lane) : domain_(domain) {
    lib::enter(lane);
    domain.lock.take(lane);
  }
  ~Entry() {
    domain_.lock.give();
    lib::leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  Domain& domain_;
};

}  // namespace weft::fi
