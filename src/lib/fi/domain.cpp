// Domains, registered memory and address vectors.
#include <stdio.h>
#include <string.h>

#include "lib/fi/engine.hpp"
#include "lib/turns.hpp"

namespace weft::fi {

abi::Thread* this_thread() {
  if (!lib::take_over()) return nullptr;
  abi::Thread* mine = lib::this_thread();
  static bool told = false;
  if (!mine && !told) {
    told = true;
    fprintf(stderr, "weft: rank %d: only %u threads of a process may use the network\n", weft_rank(),
            abi::kThreads);
  }
  return mine;
}

void Lock::take(abi::Thread& l) {
  // Only a thread that waits for the simulator holds it for long; it goes on in virtual time.
  unsigned times = 0;
  while (held_.test_and_set(std::memory_order_acquire))
    if (!lib::outside()) lib::give_way(l, times);
}

namespace {

int close_domain(fid* f) {
  auto* domain = reinterpret_cast<Domain*>(f);
  if (!domain->endpoints.empty())
    return refuse(FI_EBUSY, FI_LOG_DOMAIN, "the domain still has an endpoint\n");
  if (domain->own_memory_port) weft_close(domain->memory_port);
  delete domain;
  return 0;
}

int no_scalable(fid_domain*, fi_info*, fid_ep**, void*) {
  return refuse(FI_ENOSYS, FI_LOG_DOMAIN, "scalable endpoints are not supported\n");
}
int no_poll_set(fid_domain*, fi_poll_attr*, fid_poll**) {
  return refuse(FI_ENOSYS, FI_LOG_DOMAIN, "poll sets are not supported: look at the queues themselves\n");
}
int no_shared_send(fid_domain*, fi_tx_attr*, fid_stx**, void*) {
  return refuse(FI_ENOSYS, FI_LOG_DOMAIN, "shared transmit contexts are not supported\n");
}
int no_shared_receive(fid_domain*, fi_rx_attr*, fid_ep**, void*) {
  return refuse(FI_ENOSYS, FI_LOG_DOMAIN, "shared receive contexts are not supported\n");
}

fi_ops domain_object = {sizeof(fi_ops), close_domain, refused, refused, refused, refused, refused};
fi_ops_domain domain_calls = {sizeof(fi_ops_domain), open_av,      open_cq,     open_endpoint,
                              no_scalable,           open_cntr,    no_poll_set, no_shared_send,
                              no_shared_receive,     query_atomic, refused,     refused};

// Address vectors: an address is its number, in a map as in a table.

int close_av(fid* f) {
  delete reinterpret_cast<Av*>(f);
  return 0;
}

int insert(fid_av* f, const void* addresses, std::size_t count, fi_addr_t* out, std::uint64_t flags,
           void* context) {
  auto* av = reinterpret_cast<Av*>(f);
  auto* names = static_cast<const Name*>(addresses);
  int good = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bool fine = names[i].magic == kNameMagic && names[i].address.port != kUnknownPort;
    if (!fine) FI_WARN(&provider, FI_LOG_AV, "address %zu is not one of this provider\n", i);
    if (flags & FI_SYNC_ERR) static_cast<int*>(context)[i] = fine ? 0 : FI_EINVAL;
    if (out) out[i] = fine ? av->names.size() : FI_ADDR_NOTAVAIL;
    if (!fine) continue;
    av->names.push_back(names[i]);
    ++good;
  }
  return good;
}

int no_service(fid_av*, const char*, const char*, fi_addr_t*, std::uint64_t, void*) {
  return refuse(FI_ENOSYS, FI_LOG_AV, "addresses have no names of hosts and services\n");
}
int no_symmetric(fid_av*, const char*, std::size_t, const char*, std::size_t, fi_addr_t*, std::uint64_t,
                 void*) {
  return refuse(FI_ENOSYS, FI_LOG_AV, "addresses have no names of hosts and services\n");
}

int remove(fid_av* f, fi_addr_t* addresses, std::size_t count, std::uint64_t) {
  auto* av = reinterpret_cast<Av*>(f);
  for (std::size_t i = 0; i < count; ++i)
    if (addresses[i] < av->names.size()) av->names[addresses[i]].magic = 0;
  return 0;
}

int look_up(fid_av* f, fi_addr_t address, void* out, std::size_t* length) {
  auto* av = reinterpret_cast<Av*>(f);
  if (address >= av->names.size() || av->names[address].magic != kNameMagic) return -FI_EINVAL;
  std::size_t room = *length;
  *length = sizeof(Name);
  memcpy(out, &av->names[address], room < sizeof(Name) ? room : sizeof(Name));
  return room < sizeof(Name) ? -FI_ETOOSMALL : 0;
}

const char* to_text(fid_av*, const void* address, char* text, std::size_t* length) {
  auto* name = static_cast<const Name*>(address);
  int needed =
      snprintf(text, *length, "fi_addr_weft://node%u/port%u", name->address.node, name->address.port);
  *length = static_cast<std::size_t>(needed) + 1;
  return text;
}

fi_ops av_object = {sizeof(fi_ops), close_av, refused, refused, refused, refused, refused};
fi_ops_av av_calls = {sizeof(fi_ops_av), insert, no_service, no_symmetric, remove, look_up, to_text, refused};

// Memory.

int close_memory(fid* f) {
  auto* mr = reinterpret_cast<Mr*>(f);
  Domain& domain = *mr->domain;
  abi::Thread* l = this_thread();
  if (mr->memory.key) domain.memories.erase(mr->memory.key);
  if (mr->memory.key && domain.memory_port && l && !lib::outside())
    weft_unregister(domain.memory_port, mr->memory.key);
  delete mr;
  return 0;
}

fi_ops memory_object = {sizeof(fi_ops), close_memory, refused, refused, refused, refused, refused};

int register_parts(fid* f, const iovec* parts, std::size_t count, std::uint64_t access, std::uint64_t offset,
                   std::uint64_t key, std::uint64_t flags, fid_mr** out, void* context) {
  if (count != 1)
    return refuse(FI_EINVAL, FI_LOG_MR, "memory of several parts cannot be registered at once\n");
  return register_memory(f, parts->iov_base, parts->iov_len, access, offset, key, flags, out, context);
}

int register_attributes(fid* f, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** out) {
  // Devices of the machine have no number among libfabric's: their memory is known by its address.
  if (attr->iface != FI_HMEM_SYSTEM)
    return refuse(FI_ENOSYS, FI_LOG_MR, "memory of real accelerators cannot be registered\n");
  return register_parts(f, attr->mr_iov, attr->iov_count, attr->access, attr->offset, attr->requested_key,
                        flags, out, attr->context);
}

}  // namespace

int register_memory(fid* f, const void* base, std::size_t length, std::uint64_t access, std::uint64_t,
                    std::uint64_t key, std::uint64_t flags, fid_mr** out, void* context) {
  if (f->fclass != FI_CLASS_DOMAIN) return -FI_EINVAL;
  if (flags) return refuse(FI_EBADFLAGS, FI_LOG_MR, "a flag of registration that is not supported\n");
  auto* domain = reinterpret_cast<Domain*>(f);
  bool remote = access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
  if (remote && !domain->memory_keys)
    return refuse(FI_ENOSYS, FI_LOG_MR, "remote access needs FI_MR_PROV_KEY\n");
  auto* mr = new Mr{};
  mr->fid.fid = {FI_CLASS_MR, context, &memory_object};
  mr->domain = domain;
  mr->base = const_cast<void*>(base);
  mr->length = length;
  mr->access = access;
  mr->fid.mem_desc = mr;
  mr->fid.key = key;
  abi::Thread* l = this_thread();
  // Memory for its own use is made known to the interface before there is a port only when it is used.
  weft_port* port = domain->memory_port;
  if (int result = remote ? memory_port(*domain, port) : 0; result != 0) {
    delete mr;
    return refuse(-result, FI_LOG_MR, "the interface has no port to register memory with: %s\n",
                  strerror(-result));
  }
  for (Endpoint* endpoint : domain->endpoints)
    if (remote && endpoint->engine) endpoint->engine->use();
  if (port && l && !lib::outside()) {
    unsigned rights = (access & FI_REMOTE_READ ? WEFT_REMOTE_READ | WEFT_REMOTE_ATOMIC : 0) |
                      (access & FI_REMOTE_WRITE ? WEFT_REMOTE_WRITE | WEFT_REMOTE_ATOMIC : 0);
    int result = weft_register_anywhere(port, mr->base, length, rights, &mr->memory);
    if (result != 0) {
      delete mr;
      return refuse(-result, FI_LOG_MR, "the interface refuses to register memory: %s\n", strerror(-result));
    }
    if (domain->memory_keys) mr->fid.key = mr->memory.key;
    domain->memories[mr->memory.key] = mr;
    ++port->header->sums.registrations;
  }
  *out = &mr->fid;
  return 0;
}

fi_ops_mr memory_operations = {sizeof(fi_ops_mr), register_memory, register_parts, register_attributes};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context) {
  auto* domain = new Domain{};
  domain->fid.fid = {FI_CLASS_DOMAIN, context, &domain_object};
  domain->fid.ops = &domain_calls;
  domain->fid.mr = &memory_operations;
  domain->fabric = reinterpret_cast<Fabric*>(fabric);
  domain->memory_keys = info->domain_attr && (info->domain_attr->mr_mode & FI_MR_PROV_KEY);
  *out = &domain->fid;
  return 0;
}

int open_av(fid_domain* domain, fi_av_attr* attributes, fid_av** out, void* context) {
  if (attributes->name) return refuse(FI_ENOSYS, FI_LOG_AV, "address vectors are not shared by name\n");
  if (attributes->flags & ~static_cast<std::uint64_t>(FI_SYMMETRIC))
    return refuse(FI_ENOSYS, FI_LOG_AV, "a flag of address vectors that is not supported\n");
  auto* av = new Av{};
  av->fid.fid = {FI_CLASS_AV, context, &av_object};
  av->fid.ops = &av_calls;
  av->domain = reinterpret_cast<Domain*>(domain);
  av->type = attributes->type == FI_AV_UNSPEC ? FI_AV_TABLE : attributes->type;
  attributes->type = av->type;
  av->names.reserve(attributes->count);
  *out = &av->fid;
  return 0;
}

}  // namespace weft::fi
