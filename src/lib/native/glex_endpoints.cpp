// The functions of glex.h for devices, endpoints and memory, and the text of errors.
#include <errno.h>
#include <stdlib.h>

#include "lib/native/glex_state.hpp"

namespace nic = weft::nic;
namespace abi = weft::abi;
namespace lib = weft::lib;
using lib::glex::disguise;

namespace {

constexpr std::uint32_t kImmediateMp = 112, kImmediateRdma = 96;

std::uint32_t least(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint32_t>(a < b ? a : b); }

bool opens(const glex_ep_attr& wanted, const abi::Limits& limits) {
  return wanted.type <= GLEX_EP_TYPE_MANAGEMENT && wanted.mpq_type <= GLEX_MPQ_TYPE_IOMMU &&
         wanted.eq_type <= GLEX_EQ_TYPE_IOMMU && wanted.dq_capacity <= limits.queue_slots &&
         wanted.mpq_capacity <= limits.message_slots && wanted.eq_capacity <= limits.event_slots;
}

int open_port(const glex_ep_attr& wanted, const abi::Limits& limits, weft_port** port) {
  if (wanted.type == GLEX_EP_TYPE_MANAGEMENT) return weft_open_kernel(port);
  if (wanted.type == GLEX_EP_TYPE_NORMAL) return weft_open_memory_queue(port);
  if (wanted.mpq_capacity)
    return weft_open_mailbox(port, std::size_t{wanted.mpq_capacity} * limits.message_limit);
  return weft_open(port);
}

}  // namespace

extern "C" {

glex_ret_t glex_num_of_device(uint32_t* count) {
  if (!count) return GLEX_INVALID_PARAM;
  *count = lib::run() ? 1 : 0;
  return GLEX_SUCCESS;
}

glex_ret_t glex_open_device(uint32_t id, glex_device_handle_t* device) {
  if (!device || id != 0) return GLEX_INVALID_PARAM;
  if (!lib::run()) return GLEX_SYS_ERR;
  *device = static_cast<glex_device_handle_t>(calloc(1, sizeof(struct glex_device)));
  if (!*device) return GLEX_SYS_ERR;
  (*device)->header = lib::run();
  return GLEX_SUCCESS;
}

glex_ret_t glex_close_device(glex_device_handle_t device) {
  if (!device) return GLEX_INVALID_PARAM;
  if (device->endpoints) return GLEX_BUSY;
  free(device);
  return GLEX_SUCCESS;
}

glex_ret_t glex_query_device(glex_device_handle_t device, struct glex_device_attr* out) {
  if (!device || !out) return GLEX_INVALID_PARAM;
  const abi::Limits& l = device->header->limits;
  *out = {};
  out->nic_id = device->header->node;
  out->max_fast_ep_num = out->max_ep_num = out->max_emulate_ep_num = abi::kPortsPerProcess;
  out->mmt_units = static_cast<std::uint32_t>(nic::kRegions);
  out->att_units = static_cast<std::uint32_t>(nic::kRegions);
  out->max_imm_mp_data_len = out->max_mp_data_len = least(l.message_limit, kImmediateMp);
  out->max_imm_rdma_data_len = least(l.immediate_limit, kImmediateRdma);
  out->max_rdma_data_len = least(l.rdma_limit, 0xffffffff);
  out->def_ep_dq_capacity = out->max_ep_dq_capacity = l.queue_slots;
  out->def_ep_eq_capacity = out->max_ep_eq_capacity = out->max_ep_hc_eq_capacity = l.event_slots;
  out->def_ep_mpq_capacity = out->max_ep_mpq_capacity = out->max_ep_hc_mpq_capacity = l.message_slots;
  return GLEX_SUCCESS;
}

glex_ret_t glex_create_ep(glex_device_handle_t device, struct glex_ep_attr* wanted, glex_ep_handle_t* out) {
  if (!device || !wanted || !out || !opens(*wanted, device->header->limits)) return GLEX_INVALID_PARAM;
  auto* ep = static_cast<glex_ep_handle_t>(calloc(1, sizeof(struct glex_ep)));
  if (!ep) return GLEX_SYS_ERR;
  const abi::Limits& limits = device->header->limits;
  ep->event_slots = wanted->eq_capacity ? wanted->eq_capacity : limits.event_slots;
  ep->events = static_cast<glex_event_t*>(calloc(ep->event_slots, sizeof(glex_event_t)));
  int result = ep->events ? open_port(*wanted, limits, &ep->port) : -ENOMEM;
  // Numbers are the interface's to give.
  if (result == 0 && wanted->num != GLEX_ANY_EP_NUM && wanted->num != ep->port->self.port) {
    weft_close(ep->port);
    result = -ENOSPC;
  }
  if (result != 0) {
    free(ep->events);
    free(ep);
    return result == -ENOMEM ? GLEX_SYS_ERR : GLEX_NO_EP_RESOURCE;
  }
  ep->device = device;
  ep->attributes = *wanted;
  ep->attributes.num = ep->port->self.port;
  ep->attributes.dq_capacity = limits.queue_slots;
  ep->attributes.mpq_capacity = ep->port->message_slots;
  ep->attributes.eq_capacity = ep->event_slots;
  ++device->endpoints;
  *out = ep;
  return GLEX_SUCCESS;
}

glex_ret_t glex_destroy_ep(glex_ep_handle_t ep) {
  if (!ep) return GLEX_INVALID_PARAM;
  weft_close(ep->port);
  --ep->device->endpoints;
  free(ep->events);
  free(ep);
  return GLEX_SUCCESS;
}

glex_ret_t glex_query_ep(glex_ep_handle_t ep, struct glex_ep_attr* out) {
  if (!ep || !out) return GLEX_INVALID_PARAM;
  *out = ep->attributes;
  return GLEX_SUCCESS;
}

glex_ret_t glex_get_ep_addr(glex_ep_handle_t ep, glex_ep_addr_t* address) {
  if (!ep) return GLEX_INVALID_PARAM;
  return glex_compose_ep_addr(ep->port->self.node, ep->port->self.port, ep->attributes.type, address);
}

glex_ret_t glex_compose_ep_addr(uint32_t nic_id, uint32_t num, enum glex_ep_type type,
                                glex_ep_addr_t* address) {
  if (!address || num > 0xffff || type > GLEX_EP_TYPE_MANAGEMENT) return GLEX_INVALID_PARAM;
  address->v = 0;
  address->s.nic_id = nic_id;
  address->s.ep_num = static_cast<std::uint16_t>(num);
  return GLEX_SUCCESS;
}

glex_ret_t glex_decompose_ep_addr(glex_ep_addr_t address, enum glex_ep_type type, uint32_t* nic_id,
                                  uint32_t* num) {
  if (!nic_id || !num || type > GLEX_EP_TYPE_MANAGEMENT) return GLEX_INVALID_PARAM;
  *nic_id = address.s.nic_id;
  *num = address.s.ep_num;
  return GLEX_SUCCESS;
}

glex_ret_t glex_register_mem(glex_ep_handle_t ep, void* address, uint64_t len, int32_t flag,
                             glex_mem_handle_t* handle) {
  constexpr int kAll = GLEX_MEM_READ | GLEX_MEM_WRITE | GLEX_MEM_IOMMU;
  if (!ep || !address || !len || !handle || (flag & ~kAll)) return GLEX_INVALID_PARAM;
  unsigned rights = 0;
  if (flag & GLEX_MEM_READ) rights |= WEFT_REMOTE_READ;
  if (flag & GLEX_MEM_WRITE) rights |= WEFT_REMOTE_WRITE;
  weft_memory memory;
  int result = weft_register_anywhere(ep->port, address, len, rights, &memory);
  if (result != 0) return result == -ENOSPC ? GLEX_NO_MEM_RESOURCE : GLEX_INVALID_PARAM;
  handle->v = disguise(memory.key, ep->attributes.key);
  return GLEX_SUCCESS;
}

glex_ret_t glex_deregister_mem(glex_ep_handle_t ep, glex_mem_handle_t handle) {
  if (!ep) return GLEX_INVALID_PARAM;
  return weft_unregister(ep->port, disguise(handle.v, ep->attributes.key)) == 0 ? GLEX_SUCCESS
                                                                                : GLEX_INVALID_PARAM;
}

const char* glex_error_str(glex_ret_t error) {
  static const char* const kTexts[] = {
      "successful", "system error", "invalid parameter", "no endpoint resource", "no memory resource", "busy",
      "no MP",      "no event",     "interrupted",       "access error",         "not implemented",
  };
  return static_cast<unsigned>(error) < sizeof kTexts / sizeof *kTexts ? kTexts[error] : "unknown error";
}

const char* glex_error_req_status_str(enum glex_err_status status) {
  static const char* const kTexts[] = {
      "format",
      "source host dead",
      "destination host dead",
      "PCIe read",
      "address translation table",
      "memory management table",
      "source endpoint stopped",
      "destination endpoint stopped",
      "destination MP queue full",
      "destination event queue full",
      "connection: too many repetitions",
      "connection: RDMA get",
      "connection: refused",
      "connection: data error",
  };
  return static_cast<unsigned>(status) < sizeof kTexts / sizeof *kTexts ? kTexts[status] : "unknown status";
}

const char* glex_error_req_opcode_str(enum glex_err_op op) {
  static const char* const kTexts[] = {"immediate MP", "MP", "immediate RDMA put", "RDMA put", "RDMA get"};
  return static_cast<unsigned>(op) < sizeof kTexts / sizeof *kTexts ? kTexts[op] : "unknown operation";
}
}
