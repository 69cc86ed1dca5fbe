// What the provider offers: the answer to fi_getinfo.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "abi/mpi_wire.hpp"
#include "lib/fi/objects.hpp"

namespace weft::fi {

namespace {

constexpr std::uint64_t kMessages = FI_MSG | FI_TAGGED;
constexpr std::uint64_t kRemoteMemory = FI_RMA | FI_ATOMIC;
constexpr std::uint64_t kDirections =
    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t kExtras =
    FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_RMA_EVENT | FI_HMEM;
constexpr std::uint64_t kAll = kMessages | kRemoteMemory | kDirections | kExtras;
constexpr std::uint64_t kOrders = FI_ORDER_SAS;
constexpr std::uint64_t kAtomicOrders =
    FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW;
constexpr std::uint64_t kOperationFlags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
                                          FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MULTI_RECV;
constexpr std::size_t kMostInject = 4096;

/// Keys of the provider's choosing are needed for remote memory: an interface's keys cannot be guessed.
bool gives_keys(std::uint32_t version, const fi_info* hints) {
  if (!hints || !hints->domain_attr) return true;
  int mode = hints->domain_attr->mr_mode;
  return FI_VERSION_GE(version, FI_VERSION(1, 5)) && (mode & FI_MR_PROV_KEY);
}

/// Null, or what cannot be done.
const char* objection(std::uint32_t version, const fi_info* hints) {
  if (!hints) return nullptr;
  if (hints->caps & ~kAll) return "a capability it does not have";
  if ((hints->caps & kRemoteMemory) && !gives_keys(version, hints))
    return "remote memory without FI_MR_PROV_KEY: keys are given out by the interface";
  if (const fi_ep_attr* ep = hints->ep_attr) {
    if (ep->type != FI_EP_UNSPEC && ep->type != FI_EP_RDM && ep->type != FI_EP_DGRAM)
      return "endpoints with connections (FI_EP_MSG)";
    if (ep->protocol != FI_PROTO_UNSPEC) return "a protocol by name";
    if (ep->tx_ctx_cnt > 1 || ep->rx_ctx_cnt > 1) return "scalable endpoints";
    if (ep->max_msg_size > UINT32_MAX) return "messages of 4 GiB or more";
  }
  std::uint64_t orders = kOrders | (hints->caps & FI_ATOMIC ? 0 : kAtomicOrders);
  if (const fi_tx_attr* tx = hints->tx_attr) {
    if (tx->msg_order & ~orders & ~kAtomicOrders) return "an order of operations other than FI_ORDER_SAS";
    if (tx->inject_size > kMostInject) return "more than 4096 B of data to inject";
    if (tx->op_flags & ~kOperationFlags) return "a flag of sends it does not have";
  }
  if (const fi_rx_attr* rx = hints->rx_attr) {
    if (rx->msg_order & ~orders & ~kAtomicOrders) return "an order of receives other than FI_ORDER_SAS";
    if (rx->op_flags & ~kOperationFlags) return "a flag of receives it does not have";
    if (rx->total_buffered_recv) return "a bound on buffered receives";
  }
  if (const fi_domain_attr* domain = hints->domain_attr) {
    if (domain->cq_data_size > 4) return "more than 4 B of completion data";
    if (domain->data_progress == FI_PROGRESS_AUTO) return "progress without calls (FI_PROGRESS_AUTO)";
    if (domain->name && strcmp(domain->name, "weft") != 0) return "another domain by name";
  }
  if (hints->fabric_attr && hints->fabric_attr->name && strcmp(hints->fabric_attr->name, "weft") != 0)
    return "another fabric by name";
  if (hints->addr_format != FI_FORMAT_UNSPEC) return "an address format of others";
  return nullptr;
}

void offer_queues(fi_info* info, const fi_info* hints, const abi::Header& header) {
  fi_tx_attr& tx = *info->tx_attr;
  tx.caps = info->caps;
  tx.op_flags = hints && hints->tx_attr ? hints->tx_attr->op_flags : 0;
  std::uint64_t asked = hints && hints->tx_attr ? hints->tx_attr->msg_order : 0;
  tx.msg_order = kOrders | (asked & kAtomicOrders);
  tx.comp_order = FI_ORDER_NONE;
  tx.inject_size = std::min<std::uint64_t>(std::max<std::uint64_t>(header.mpi.eager_limit, 64), kMostInject);
  tx.size = 1024;
  tx.iov_limit = 8;
  tx.rma_iov_limit = 1;

  fi_rx_attr& rx = *info->rx_attr;
  rx.caps = info->caps;
  rx.op_flags = hints && hints->rx_attr ? hints->rx_attr->op_flags : 0;
  asked = hints && hints->rx_attr ? hints->rx_attr->msg_order : 0;
  rx.msg_order = kOrders | (asked & kAtomicOrders);
  rx.comp_order = FI_ORDER_NONE;
  rx.size = 65'536;
  rx.iov_limit = 8;
}

void offer_endpoint(fi_info* info, const fi_info* hints) {
  fi_ep_attr& ep = *info->ep_attr;
  // Datagrams that always arrive, in order, are datagrams.
  ep.type = hints && hints->ep_attr && hints->ep_attr->type == FI_EP_DGRAM ? FI_EP_DGRAM : FI_EP_RDM;
  ep.protocol = FI_PROTO_UNSPEC;
  ep.protocol_version = 1;
  ep.max_msg_size = UINT32_MAX;
  ep.max_order_raw_size = ep.max_order_war_size = ep.max_order_waw_size = 0;
  ep.mem_tag_format = hints && hints->ep_attr && hints->ep_attr->mem_tag_format
                          ? hints->ep_attr->mem_tag_format
                          : 0xaaaaaaaaaaaaaaaaull;  // all bits, in the form libfabric writes that
  ep.tx_ctx_cnt = ep.rx_ctx_cnt = 1;
}

void offer_domain(fi_info* info, const fi_info* hints, bool keys) {
  fi_domain_attr& domain = *info->domain_attr;
  domain.name = strdup("weft");
  domain.threading = hints && hints->domain_attr && hints->domain_attr->threading != FI_THREAD_UNSPEC
                         ? hints->domain_attr->threading
                         : FI_THREAD_SAFE;
  domain.control_progress = domain.data_progress = FI_PROGRESS_MANUAL;
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = hints && hints->domain_attr && hints->domain_attr->av_type != FI_AV_UNSPEC
                       ? hints->domain_attr->av_type
                       : FI_AV_TABLE;
  domain.mr_mode = (info->caps & kRemoteMemory) && keys ? FI_MR_PROV_KEY | FI_MR_ALLOCATED : 0;
  // Memory of devices is known by its address, registered or not; who says so registers it all the same.
  if ((info->caps & FI_HMEM) && hints && hints->domain_attr)
    domain.mr_mode |= hints->domain_attr->mr_mode & FI_MR_HMEM;
  domain.mr_key_size = 8;
  domain.cq_data_size = 4;
  domain.cq_cnt = domain.cntr_cnt = 64;
  domain.ep_cnt = domain.tx_ctx_cnt = domain.rx_ctx_cnt = abi::kPortsPerProcess;
  domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
  domain.mr_iov_limit = 1;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
  domain.mr_cnt = 65'536;
  domain.tclass = FI_TC_UNSPEC;
}

fi_info* offer(std::uint32_t version, const fi_info* hints, const abi::Header& header) {
  fi_info* info = fi_allocinfo();
  if (!info) return nullptr;
  bool keys = gives_keys(version, hints);
  // Events at targets cost the target's processor something: only for those who ask.
  std::uint64_t all = (keys ? kAll : kAll & ~kRemoteMemory) & ~(FI_RMA_EVENT | FI_HMEM);
  info->caps = hints && hints->caps ? hints->caps | (FI_LOCAL_COMM | FI_REMOTE_COMM) : all;
  // A primary capability without directions means all of them.
  if (!(info->caps & (FI_SEND | FI_RECV)) && (info->caps & kMessages)) info->caps |= FI_SEND | FI_RECV;
  if (!(info->caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)) && (info->caps & kRemoteMemory))
    info->caps |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  info->mode = 0;
  info->addr_format = FI_FORMAT_UNSPEC;
  // Where an endpoint will be: its port is known once it is enabled.
  Name here{};
  here.magic = kNameMagic;
  here.address = {header.node, kUnknownPort};
  here.memory_port = kUnknownPort;
  here.rank = header.rank;
  info->src_addr = malloc(sizeof here);
  if (info->src_addr) memcpy(info->src_addr, &here, sizeof here);
  info->src_addrlen = info->src_addr ? sizeof here : 0;

  offer_queues(info, hints, header);
  offer_endpoint(info, hints);
  offer_domain(info, hints, keys);
  fi_fabric_attr& fabric = *info->fabric_attr;
  fabric.name = strdup("weft");
  fabric.prov_version = provider.version;
  fabric.api_version = version;
  return info;
}

int get_info(std::uint32_t version, const char*, const char*, std::uint64_t flags, const fi_info* hints,
             fi_info** out) {
  constexpr std::uint64_t kCoreProvidersOnly = 1ull << 59;  // a provider above looks for one below
  if (flags & kCoreProvidersOnly) return -FI_ENODATA;
  abi::Header* header = lib::run();
  if (!header) return refuse(FI_ENODATA, FI_LOG_CORE, "this process was not started by `weft run`\n");
  if (header->limits.message_limit < abi::kLeastMessage)
    return refuse(FI_ENODATA, FI_LOG_CORE, "nic.message_limit is less than %u bytes\n", abi::kLeastMessage);
  if (const char* why = objection(version, hints))
    return refuse(FI_ENODATA, FI_LOG_CORE, "cannot serve what is asked for: %s\n", why);
  *out = offer(version, hints, *header);
  return *out ? 0 : -FI_ENOMEM;
}

int close_fabric(fid* f) {
  delete reinterpret_cast<Fabric*>(f);
  return 0;
}

int no_passive(fid_fabric*, fi_info*, fid_pep**, void*) {
  return refuse(FI_ENOSYS, FI_LOG_FABRIC,
                "endpoints that listen are not supported: FI_EP_RDM has no connections\n");
}
int no_wait_set(fid_fabric*, fi_wait_attr*, fid_wait**) {
  return refuse(FI_ENOSYS, FI_LOG_FABRIC, "wait sets are not supported: wait for a queue (fi_cq_sread)\n");
}

/// May the caller sleep on these? Not while there is something to read, or to be taken from the rings.
int try_wait(fid_fabric*, fid** objects, int count) {
  abi::Thread* l = this_thread();
  for (int i = 0; l && i < count; ++i) {
    if (objects[i]->fclass != FI_CLASS_CQ) continue;
    auto& cq = *reinterpret_cast<Cq*>(objects[i]);
    if (!cq.entries.empty() || cq.signalled || has_arrivals(*cq.domain, lib::now(*l))) return -FI_EAGAIN;
  }
  return 0;
}

fi_ops fabric_object = {sizeof(fi_ops), close_fabric, refused, refused, refused, refused, refused};
fi_ops_fabric fabric_calls = {sizeof(fi_ops_fabric), open_domain, no_passive, open_eq,
                              no_wait_set,           try_wait,    refused};

int open_fabric(fi_fabric_attr*, fid_fabric** out, void* context) {
  auto* fabric = new Fabric{};
  fabric->fid.fid = {FI_CLASS_FABRIC, context, &fabric_object};
  fabric->fid.ops = &fabric_calls;
  fabric->fid.api_version = FI_VERSION(1, 17);
  *out = &fabric->fid;
  return 0;
}

void clean_up() {}

}  // namespace

int refuse(int error, fi_log_subsys subsystem, const char* why, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, why);
  vsnprintf(text, sizeof text, why, arguments);
  va_end(arguments);
  FI_WARN(&provider, subsystem, "%s", text);
  return -error;
}

fi_provider provider = {FI_VERSION(0, 1), FI_VERSION(1, 17), {}, "weft", get_info, open_fabric, clean_up};

}  // namespace weft::fi

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
  return &weft::fi::provider;
}
