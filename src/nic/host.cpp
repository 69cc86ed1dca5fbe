#include "nic/host.hpp"

namespace weft::nic {

const char* Breakdown::name(int part) {
  static constexpr const char* names[] = {"host bus",     "queue",      "nic",       "wire",
                                          "remote queue", "remote nic", "remote bus"};
  return names[part];
}

}  // namespace weft::nic
