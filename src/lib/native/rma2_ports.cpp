// The functions of rma2.h for ports, connections and registered memory.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/native/rma2_state.hpp"

namespace nic = weft::nic;
namespace lib = weft::lib;
using lib::rma2::kPage;

namespace {

constexpr int kDescriptors = 32;

/// Locks lie in memory of the process, where the interface's unit works on them.
RMA2_ERROR make_locks(RMA2_Port port) {
  constexpr std::size_t kBytes = std::size_t{lib::rma2::kLocks} * 8;
  void* locks = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (locks == MAP_FAILED) return RMA2_ERR_NO_MEM;
  port->locks = locks;
  weft_memory memory;
  if (weft_register_anywhere(port->port, locks, kBytes, nic::kRemoteAtomic | nic::kIsLocks, &memory) != 0)
    return RMA2_ERR_NO_MEM;
  port->locks_key = memory.key;
  return RMA2_SUCCESS;
}

void give_back(RMA2_Port port) {
  if (port->port) weft_close(port->port);
  if (port->locks) munmap(port->locks, std::size_t{lib::rma2::kLocks} * 8);
  while (RMA2_Descriptor* first = port->free_descriptors) {
    port->free_descriptors = reinterpret_cast<RMA2_Descriptor*>(first->list.next);
    free(first);
  }
  free(port->queue);
  free(port);
}

RMA2_ERROR fill_pool(RMA2_Port port) {
  for (int i = 0; i < kDescriptors; ++i) {
    auto* d = static_cast<RMA2_Descriptor*>(aligned_alloc(64, sizeof(RMA2_Descriptor)));
    if (!d) return RMA2_ERR_NO_DESC_MEM;
    rma2_desc_free(port, d);
  }
  return RMA2_SUCCESS;
}

RMA2_ERROR resize_queue(RMA2_Port port, std::uint32_t bytes) {
  auto* queue = static_cast<RMA2_Notification*>(calloc(bytes, 1));
  if (!queue) return RMA2_ERR_NO_MEM;
  free(port->queue);
  port->queue = queue;
  port->slots = bytes / sizeof(RMA2_Notification);
  port->taken = port->written = 0;
  return RMA2_SUCCESS;
}

std::uintptr_t first_page(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{kPage - 1};
}

}  // namespace

extern "C" {

const RMA2_Class RMA2_CLASS_ANY = 0xff;
const RMA2_Nodeid RMA2_NODEID_ANY = 0xffff;
const RMA2_VPID RMA2_VPID_ANY = 0xffff;
const uint32_t RMA2_LOCK_ANY = 0xffffffff;
const RMA2_NLA RMA2_ANY_NLA = ~RMA2_NLA{0};
const int RMA2_DEFAULT_FLAG = 0;
const int RMA2_BLOCK_FLAG = 1;
const int RMA2_MATCH_LAST_NLA_FLAG = 2;

RMA2_ERROR rma2_open(RMA2_Port* out) {
  if (!out) return RMA2_ERR_WRONG_ARG;
  auto* port = static_cast<RMA2_Port>(calloc(1, sizeof(RMA2_Endpoint)));
  if (!port) return RMA2_ERR_NO_MEM;
  port->replay = RMA2_REPLAY_ALL;
  port->segment_bytes = lib::rma2::kQueueBytes;
  RMA2_ERROR error = RMA2_SUCCESS;
  switch (weft_open(&port->port)) {
    case 0:
      break;
    case -ENOSPC:
      error = RMA2_ERR_PORTS_USED;
      break;
    case -ENOMEM:
      error = RMA2_ERR_NO_MEM;
      break;
    default:
      error = RMA2_ERR_FD;
  }
  if (error == RMA2_SUCCESS && (port->port->self.port > 255 || port->port->self.node > 0xfffd))
    error = RMA2_ERR_PORTS_USED;  // notifications have no room for such a number
  if (error == RMA2_SUCCESS) error = resize_queue(port, lib::rma2::kQueueBytes);
  if (error == RMA2_SUCCESS) error = fill_pool(port);
  if (error == RMA2_SUCCESS) error = make_locks(port);
  if (error != RMA2_SUCCESS) {
    give_back(port);
    return error;
  }
  *out = port;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_close(RMA2_Port port) {
  if (!port) return RMA2_ERR_INV_PORT;
  give_back(port);  // what was posted is done before
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_connect(RMA2_Port port, RMA2_Nodeid node, RMA2_VPID vpid, RMA2_Connection_Options options,
                        RMA2_Handle* out) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!out) return RMA2_ERR_WRONG_ARG;
  if (static_cast<unsigned>(options) > 31) return RMA2_ERR_INV_VALUE;
  auto* handle = static_cast<RMA2_Handle>(calloc(1, sizeof(RMA2_Connection)));
  if (!handle) return RMA2_ERR_NO_MEM;
  *handle = {node, vpid, static_cast<unsigned>(options)};
  *out = handle;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_disconnect(RMA2_Port port, RMA2_Handle handle) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!handle) return RMA2_ERR_INV_HANDLE;
  free(handle);
  return RMA2_SUCCESS;
}

RMA2_Nodeid rma2_handle_get_node(RMA2_Handle handle) { return handle->node; }
RMA2_VPID rma2_handle_get_vpid(RMA2_Handle handle) { return handle->vpid; }
RMA2_Nodeid rma2_get_nodeid(RMA2_Port port) { return static_cast<RMA2_Nodeid>(port->port->self.node); }
RMA2_VPID rma2_get_vpid(RMA2_Port port) { return static_cast<RMA2_VPID>(port->port->self.port); }
uint32_t rma2_get_node_num(RMA2_Port port) { return port->port->header->nodes; }
uint32_t rma2_get_proc_num(RMA2_Port port) { return port->port->header->ranks; }

RMA2_ERROR rma2_register_nomalloc(RMA2_Port port, void* address, size_t size, RMA2_Region* region) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!address || !size || !region) return RMA2_ERR_WRONG_ARG;
  const std::uintptr_t begin = first_page(address),
                       last = reinterpret_cast<std::uintptr_t>(address) + size - 1;
  if (last < begin) return RMA2_ERR_INV_VALUE;
  const std::size_t bytes = (last | (kPage - 1)) + 1 - begin;
  if (bytes >> nic::kLogicalBits) return RMA2_ERR_INV_VALUE;
  weft_memory memory;
  constexpr unsigned kRights = nic::kRemoteRead | nic::kRemoteWrite | nic::kRemoteAtomic | nic::kHasLogical;
  int result = weft_register_anywhere(port->port, reinterpret_cast<void*>(begin), bytes, kRights, &memory);
  if (result != 0) return result == -ENOSPC ? RMA2_ERR_NO_MEM : RMA2_ERR_MAP;
  *region = {};
  region->start = reinterpret_cast<void*>(begin);
  region->nla = nic::logical_address(memory.key, 0);
  region->count = static_cast<std::uint32_t>(bytes / kPage);
  region->offset = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address) - begin);
  region->end = reinterpret_cast<void*>(begin + bytes);
  region->size = bytes;
  region->refcount = 1;
  region->endpoint = port;
  region->parent = reinterpret_cast<void*>(memory.key);  // the interface's own name for it
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_unregister_nofree(RMA2_Port port, RMA2_Region* region) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (!region) return RMA2_ERR_WRONG_ARG;
  int result = weft_unregister(port->port, reinterpret_cast<std::uint64_t>(region->parent));
  return result == 0 ? RMA2_SUCCESS : RMA2_ERR_INV_VALUE;
}

RMA2_ERROR rma2_register(RMA2_Port port, void* address, size_t size, RMA2_Region** out) {
  if (!out) return RMA2_ERR_WRONG_ARG;
  auto* region = static_cast<RMA2_Region*>(calloc(1, sizeof(RMA2_Region)));
  if (!region) return RMA2_ERR_NO_MEM;
  RMA2_ERROR error = rma2_register_nomalloc(port, address, size, region);
  if (error == RMA2_SUCCESS) {
    *out = region;
  } else {
    free(region);
  }
  return error;
}

RMA2_ERROR rma2_unregister(RMA2_Port port, RMA2_Region* region) {
  RMA2_ERROR error = rma2_unregister_nofree(port, region);
  if (error == RMA2_SUCCESS) free(region);
  return error;
}

// A library that keeps registrations puts its own in place of these.
RMA2_ERROR rma2_register_cached(RMA2_Port port, void* address, size_t size, RMA2_Region** region)
    __attribute__((weak, alias("rma2_register")));
RMA2_ERROR rma2_unregister_cached(RMA2_Port port, RMA2_Region* region)
    __attribute__((weak, alias("rma2_unregister")));

RMA2_ERROR rma2_get_nla(RMA2_Region* region, size_t offset, RMA2_NLA* nla) {
  if (!region || !nla) return RMA2_ERR_WRONG_ARG;
  *nla = region->nla + region->offset + offset;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_get_va(RMA2_Region* region, size_t offset, void** address) {
  if (!region || !address) return RMA2_ERR_WRONG_ARG;
  *address = static_cast<char*>(region->start) + region->offset + offset;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_get_size(RMA2_Region* region, size_t* size) {
  if (!region || !size) return RMA2_ERR_WRONG_ARG;
  *size = region->size;
  return RMA2_SUCCESS;
}

RMA2_ERROR rma2_get_page_count(RMA2_Region* region, size_t* pages) {
  if (!region || !pages) return RMA2_ERR_WRONG_ARG;
  *pages = region->count;
  return RMA2_SUCCESS;
}

int rma2_get_region_contained(RMA2_Region* region, void* address, size_t size) {
  const char *begin = static_cast<char*>(address), *end = begin + size;
  return region && begin >= static_cast<char*>(region->start) && end <= static_cast<char*>(region->end);
}

int rma2_get_region_overlap(RMA2_Region* region, void* address, size_t size) {
  const char *begin = static_cast<char*>(address), *end = begin + size;
  return region && begin < static_cast<char*>(region->end) && end > static_cast<char*>(region->start);
}

int rma2_get_region_equal(RMA2_Region* region, void* address, size_t size) {
  if (!region || !size) return 0;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  return first_page(address) == reinterpret_cast<std::uintptr_t>(region->start) &&
         ((begin + size - 1) | (kPage - 1)) + 1 == reinterpret_cast<std::uintptr_t>(region->end);
}

uint32_t rma2_get_queue_size(RMA2_Port port) {
  return port ? port->slots * static_cast<std::uint32_t>(sizeof(RMA2_Notification)) : 0;
}

RMA2_ERROR rma2_set_queue_size(RMA2_Port port, uint32_t bytes) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (bytes < kPage || bytes % sizeof(RMA2_Notification)) return RMA2_ERR_INV_VALUE;
  if (port->written != port->taken) return RMA2_ERR_NOT_FREE;
  return resize_queue(port, bytes);
}

uint32_t rma2_get_queue_segment_size(RMA2_Port port) { return port ? port->segment_bytes : 0; }

RMA2_ERROR rma2_set_queue_segment_size(RMA2_Port port, uint32_t bytes) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (bytes < kPage || bytes % kPage) return RMA2_ERR_INV_VALUE;
  port->segment_bytes = bytes;
  return RMA2_SUCCESS;
}

// The interface's queue takes what is posted or lets the processor wait, so nothing is kept for later.
RMA2_ERROR rma2_replay_buffer_drain(RMA2_Port port) { return port ? RMA2_SUCCESS : RMA2_ERR_INV_PORT; }

RMA2_ERROR rma2_set_replay_mode(RMA2_Port port, RMA2_Replay_Buffer_Mode mode) {
  if (!port) return RMA2_ERR_INV_PORT;
  if (static_cast<unsigned>(mode) > RMA2_REPLAY_ALL) return RMA2_ERR_INV_VALUE;
  port->replay = mode;
  return RMA2_SUCCESS;
}

RMA2_Replay_Buffer_Mode rma2_get_replay_buffer_mode(RMA2_Port port) { return port->replay; }
}
