// What libglex keeps of a device and an endpoint.
#pragma once

#include "abi/descriptor.hpp"
#include "lib/native/glex.h"
#include "lib/port.hpp"

struct glex_device {
  weft::abi::Header* header;
  unsigned endpoints;
};

struct glex_ep {
  static constexpr unsigned kErrors = 64;

  glex_device_handle_t device;
  weft_port* port;
  glex_ep_attr attributes;
  std::uint32_t probed_mps;
  // Events as clients see them, counted up; a slot is the count modulo `event_slots`.
  glex_event_t* events;
  std::uint32_t event_slots, events_written, events_discarded, probed_events;
  // What failed, for those who ask; the oldest goes where there are too many.
  glex_err_req errors[kErrors];
  std::uint32_t errors_written, errors_taken;
  bool sequence_open;  // of collective requests: its tail is to come
};

namespace weft::lib::glex {

inline constexpr int kCollectiveFlags = ~(GLEX_FLAG_COLL - 1);

/// What a request says of collectives.
struct Collective {
  int flag;
  std::uint32_t counter, set_num;
};
/// The same in the interface's words; what cannot be is refused.
glex_ret_t make_collective(glex_ep_handle_t ep, const Collective& request, nic::Descriptor& d);
void collective_posted(glex_ep_handle_t ep, int flag);

/// A memory's handle is its key, mixed with that of its endpoint: who does not name the endpoint's key names
/// no memory, and the interface refuses him. Twice is as it was.
inline std::uint64_t disguise(std::uint64_t key, std::uint32_t endpoint_key) {
  return key ^ endpoint_key * 0x9e3779b97f4a7c15ull;
}

}  // namespace weft::lib::glex
