// The functions of glex.h that post requests, and those that see what has come of them.
#include <errno.h>
#include <string.h>

#include "lib/native/glex_state.hpp"

namespace nic = weft::nic;
namespace abi = weft::abi;
namespace lib = weft::lib;
using lib::glex::Collective;
using lib::glex::disguise;

namespace {

nic::Descriptor start(nic::Operation operation, glex_ep_addr_t to, std::uint64_t length, int flag) {
  nic::Descriptor d;
  d.operation = operation;
  d.node = to.s.nic_id;
  d.port = to.s.ep_num;
  d.length = length;
  if (flag & GLEX_FLAG_FENCE) d.flags |= nic::kFence;
  if (flag & GLEX_FLAG_REMOTE_INTR) d.flags |= nic::kInterrupt;
  if (!(flag & GLEX_FLAG_NO_CONNECTION)) d.flags |= nic::kReliable;
  return d;
}

glex_ret_t post(glex_ep_handle_t ep, nic::Descriptor& d, const Collective& collective) {
  if (collective.flag & lib::glex::kCollectiveFlags)
    if (glex_ret_t result = lib::glex::make_collective(ep, collective, d); result != GLEX_SUCCESS)
      return result;
  switch (lib::post(ep->port, d)) {
    case 0:
      lib::glex::collective_posted(ep, collective.flag);
      return GLEX_SUCCESS;
    case -EAGAIN:
    case -ETIMEDOUT:
      return GLEX_BUSY;
    default:
      return GLEX_SYS_ERR;
  }
}

/// Posts a list up to the first that cannot be.
template <class Request, class Post>
glex_ret_t post_all(glex_ep_handle_t ep, Request* requests, Request** bad, Post post_one) {
  if (!ep || !requests) return GLEX_INVALID_PARAM;
  for (Request* r = requests; r; r = r->next)
    if (glex_ret_t result = post_one(*r); result != GLEX_SUCCESS) {
      if (bad) *bad = r;
      return result;
    }
  return GLEX_SUCCESS;
}

/// An event that a client asked for; the second cookie tells an entry from none.
bool names_event(const glex_event_t& event) { return event.cookie_1 != 0; }

void set_remote_event(nic::Descriptor& d, const glex_event_t& event) {
  d.flags |= nic::kNotifyRemote;
  d.operand = event.cookie_0;
  d.compare = event.cookie_1;
}

glex_err_status status_of(nic::Status status) {
  switch (status) {
    case nic::Status::BadNode:
    case nic::Status::Unreachable:
      return GLEX_ERR_STATUS_DEST_HOST_DEAD;
    case nic::Status::NoPort:
      return GLEX_ERR_STATUS_DEST_VP_STOP;
    case nic::Status::BadKey:
    case nic::Status::NoRight:
      return GLEX_ERR_STATUS_MMT;
    case nic::Status::BadRange:
      return GLEX_ERR_STATUS_ATT;
    case nic::Status::BadMemory:
      return GLEX_ERR_STATUS_PCIE_READ;
    case nic::Status::TimedOut:
      return GLEX_ERR_STATUS_CONNECTION_MAX_RETRY;
    case nic::Status::Closed:
      return GLEX_ERR_STATUS_SRC_VP_STOP;
    case nic::Status::NoRoom:
      return GLEX_ERR_STATUS_DEST_MPQ_FULL;
    case nic::Status::Busy:
      return GLEX_ERR_STATUS_CONNECTION_NACK;
    case nic::Status::Damaged:
      return GLEX_ERR_STATUS_CONNECTION_ECC;
    default:
      return GLEX_ERR_STATUS_FORMAT;
  }
}

void keep_error(glex_ep_handle_t ep, const nic::Event& e) {
  if (ep->errors_written - ep->errors_taken == glex_ep::kErrors) ++ep->errors_taken;
  glex_err_req& out = ep->errors[ep->errors_written++ % glex_ep::kErrors];
  out = {};
  switch (e.operation) {
    case nic::Operation::Message:
      out.op = GLEX_ERR_OP_IMM_MP;
      break;
    case nic::Operation::Get:
      out.op = GLEX_ERR_OP_RDMA_GET;
      break;
    case nic::Operation::ImmediatePut:
      out.op = GLEX_ERR_OP_IMM_RDMA_PUT;
      break;
    default:
      out.op = GLEX_ERR_OP_RDMA_PUT;
  }
  out.status = status_of(e.status);
  out.rmt_nic_id = e.node;
  out.rmt_ep_num = e.port;
  out.data0 = e.length;
  out.data1 = e.context;
}

/// Takes one entry of the interface's queue: into the client's, or among errors. False: there is none.
bool take_one(glex_ep_handle_t ep) {
  if (ep->events_written - ep->events_discarded == ep->event_slots) return false;
  nic::Event e;
  if (lib::take_event(ep->port, e) != 1) return false;
  glex_event_t& out = ep->events[ep->events_written % ep->event_slots];
  switch (e.kind) {
    case nic::EventKind::Failed:
      keep_error(ep, e);
      return true;
    case nic::EventKind::Local:
    case nic::EventKind::Done:
      out.cookie_0 = e.context;
      out.cookie_1 = e.spare[1];
      break;
    case nic::EventKind::Arrived:
    case nic::EventKind::Responded:
      out.cookie_0 = e.data;
      out.cookie_1 = e.spare[0];
      break;
    default:
      return true;
  }
  ++ep->events_written;
  return true;
}

/// Is there an event that was not probed yet?
bool has_event(glex_ep_handle_t ep) {
  while (ep->events_written - ep->events_discarded == ep->probed_events)
    if (!take_one(ep)) return false;
  return true;
}

/// The first MP that was not probed yet, in the ring where the interface put it.
nic::Message* next_mp(glex_ep_handle_t ep, abi::Thread& thread) {
  weft_port* p = ep->port;
  if (ep->probed_mps >= p->message_slots) return nullptr;
  std::uint32_t at = p->area->messages_taken.load(std::memory_order_relaxed) + ep->probed_mps;
  nic::Message* m = &abi::messages_of(p->area, *p->header)[at % p->message_slots];
  std::int64_t time = std::atomic_ref(m->time).load(std::memory_order_acquire);
  return time && time <= lib::now(thread) ? m : nullptr;
}

bool has_mp(glex_ep_handle_t ep) {
  abi::Thread* thread = lib::this_thread();
  lib::Inside inside(ep->port, *thread);
  if (next_mp(ep, *thread)) return true;
  return lib::found_nothing(*thread, ep->port->index) && next_mp(ep, *thread);
}

/// Looks until there is something or the time is over.
template <class There>
bool comes(glex_ep_handle_t ep, std::int32_t timeout, There there) {
  constexpr std::int64_t kMillisecond = 1'000'000'000;
  abi::Thread* thread = lib::this_thread();
  if (!thread) return false;
  const std::int64_t until = timeout < 0 ? abi::kNoDeadline : lib::now(*thread) + timeout * kMillisecond;
  for (;;) {
    if (there(ep)) return true;
    const std::int64_t left = until - lib::now(*thread);
    if (timeout == 0 || left <= 0) return false;
    // While there is something of the other kind, or something probed, no wait would last.
    if (ep->probed_mps || lib::next_message(ep->port) || lib::next_event(ep->port)) continue;
    weft_wait(ep->port, timeout < 0 ? -1 : (left + 999) / 1000);
  }
}

/// The next MP, and it counts as probed.
void show_mp(glex_ep_handle_t ep, glex_ep_addr_t* source, void** data, std::uint32_t* len) {
  abi::Thread* thread = lib::this_thread();
  lib::Inside inside(ep->port, *thread);
  nic::Message* m = next_mp(ep, *thread);
  lib::found_something();
  lib::move_on(*thread, ep->port->header->costs.look + ep->port->header->costs.receive);
  if (source) glex_compose_ep_addr(m->node, m->port, GLEX_EP_TYPE_FAST, source);
  if (data) *data = m->data;
  if (len) *len = m->length;
  ++ep->probed_mps;
}

glex_ret_t show_event(glex_ep_handle_t ep, glex_event_t** event) {
  *event = &ep->events[(ep->events_discarded + ep->probed_events) % ep->event_slots];
  ++ep->probed_events;
  return GLEX_SUCCESS;
}

}  // namespace

extern "C" {

glex_ret_t glex_send_imm_mp(glex_ep_handle_t ep, struct glex_imm_mp_req* requests,
                            struct glex_imm_mp_req** bad) {
  return post_all(ep, requests, bad, [&](const glex_imm_mp_req& r) {
    glex_device_attr limits;
    glex_query_device(ep->device, &limits);
    if (r.len > limits.max_imm_mp_data_len || (r.len && !r.data)) return GLEX_INVALID_PARAM;
    nic::Descriptor d = start(nic::Operation::Message, r.rmt_ep_addr, r.len, r.flag);
    if (r.len) memcpy(d.data, r.data, r.len);
    return post(ep, d, {r.flag, r.coll_counter, 0});
  });
}

glex_ret_t glex_imm_rdma(glex_ep_handle_t ep, struct glex_imm_rdma_req* requests,
                         struct glex_imm_rdma_req** bad) {
  return post_all(ep, requests, bad, [&](const glex_imm_rdma_req& r) {
    glex_device_attr limits;
    glex_query_device(ep->device, &limits);
    if (!r.len || r.len > limits.max_imm_rdma_data_len || !r.data) return GLEX_INVALID_PARAM;
    const bool remote = r.flag & GLEX_FLAG_REMOTE_EVT;
    if (remote && !names_event(r.rmt_evt)) return GLEX_INVALID_PARAM;
    nic::Descriptor d = start(nic::Operation::ImmediatePut, r.rmt_ep_addr, r.len, r.flag);
    memcpy(d.data, r.data, r.len);
    d.remote_key = disguise(r.rmt_mh.v, r.rmt_key);
    d.remote_offset = r.rmt_offset;
    if (remote) set_remote_event(d, r.rmt_evt);
    return post(ep, d, {r.flag, r.coll_counter, 0});
  });
}

glex_ret_t glex_rdma(glex_ep_handle_t ep, struct glex_rdma_req* requests, struct glex_rdma_req** bad) {
  return post_all(ep, requests, bad, [&](const glex_rdma_req& r) {
    const bool get = r.type == GLEX_RDMA_TYPE_GET;
    const bool local = r.flag & GLEX_FLAG_LOCAL_EVT, remote = r.flag & GLEX_FLAG_REMOTE_EVT;
    if (!r.len || r.len > ep->port->header->limits.rdma_limit || (!get && r.type != GLEX_RDMA_TYPE_PUT))
      return GLEX_INVALID_PARAM;
    if ((local && !names_event(r.local_evt)) || (remote && !names_event(r.rmt_evt)))
      return GLEX_INVALID_PARAM;
    nic::Descriptor d = start(get ? nic::Operation::Get : nic::Operation::Put, r.rmt_ep_addr, r.len, r.flag);
    d.local_key = disguise(r.local_mh.v, ep->attributes.key);
    d.local_offset = r.local_offset;
    d.remote_key = disguise(r.rmt_mh.v, r.rmt_key);
    d.remote_offset = r.rmt_offset;
    if (remote) set_remote_event(d, r.rmt_evt);
    if (local) {
      d.flags |= get ? nic::kNotifyDone : nic::kNotifyLocal;
      d.context = r.local_evt.cookie_0;
      d.spare[0] = r.local_evt.cookie_1;
    }
    return post(ep, d, {r.flag, r.coll_counter, r.coll_set_num});
  });
}

glex_ret_t glex_receive_mp(glex_ep_handle_t ep, int32_t timeout, glex_ep_addr_t* source, void* data,
                           uint32_t* len) {
  if (!ep || !data) return GLEX_INVALID_PARAM;
  if (ep->probed_mps) return GLEX_BUSY;  // those come first, and are still looked at
  void* at = nullptr;
  std::uint32_t bytes = 0;
  glex_ret_t result = glex_probe_first_mp(ep, timeout, source, &at, &bytes);
  if (result != GLEX_SUCCESS) return result;
  if (bytes) memcpy(data, at, bytes);
  if (len) *len = bytes;
  return glex_discard_probed_mp(ep);
}

glex_ret_t glex_probe_first_mp(glex_ep_handle_t ep, int32_t timeout, glex_ep_addr_t* source, void** data,
                               uint32_t* len) {
  if (!ep) return GLEX_INVALID_PARAM;
  ep->probed_mps = 0;
  if (!comes(ep, timeout, has_mp)) return GLEX_NO_MP;
  show_mp(ep, source, data, len);
  return GLEX_SUCCESS;
}

glex_ret_t glex_probe_next_mp(glex_ep_handle_t ep, glex_ep_addr_t* source, void** data, uint32_t* len) {
  if (!ep) return GLEX_INVALID_PARAM;
  if (!has_mp(ep)) return GLEX_NO_MP;
  show_mp(ep, source, data, len);
  return GLEX_SUCCESS;
}

glex_ret_t glex_discard_probed_mp(glex_ep_handle_t ep) {
  if (!ep) return GLEX_INVALID_PARAM;
  lib::Locked locked(ep->port);
  for (; ep->probed_mps; --ep->probed_mps) lib::message_taken(ep->port);
  return GLEX_SUCCESS;
}

glex_ret_t glex_probe_first_event(glex_ep_handle_t ep, int32_t timeout, glex_event_t** event) {
  if (!ep || !event) return GLEX_INVALID_PARAM;
  ep->probed_events = 0;
  return comes(ep, timeout, has_event) ? show_event(ep, event) : GLEX_NO_EVENT;
}

glex_ret_t glex_probe_next_event(glex_ep_handle_t ep, glex_event_t** event) {
  if (!ep || !event) return GLEX_INVALID_PARAM;
  return has_event(ep) ? show_event(ep, event) : GLEX_NO_EVENT;
}

glex_ret_t glex_discard_probed_event(glex_ep_handle_t ep) {
  if (!ep) return GLEX_INVALID_PARAM;
  ep->events_discarded += ep->probed_events;
  ep->probed_events = 0;
  return GLEX_SUCCESS;
}

glex_ret_t glex_poll_error_req(glex_ep_handle_t ep, uint32_t* num, struct glex_err_req* list) {
  if (!ep || !num || (*num && !list)) return GLEX_INVALID_PARAM;
  while (take_one(ep)) {
  }
  std::uint32_t count = 0;
  while (count < *num && ep->errors_taken != ep->errors_written)
    list[count++] = ep->errors[ep->errors_taken++ % glex_ep::kErrors];
  *num = count;
  return GLEX_SUCCESS;
}
}
