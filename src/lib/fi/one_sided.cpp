// libfabric's calls for remote memory and atomics, brought into the engine's form.
#include "lib/fi/atomic_values.hpp"
#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"

namespace weft::fi {

namespace {

constexpr std::uint64_t kNoFlags = ~0ull;

/// Everything of a call but its data.
Engine::Remote remote(const Endpoint& endpoint, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                      std::uint64_t kind, void* context, std::uint64_t flags, bool quiet, void* descriptor,
                      const Buffer& local) {
  Engine::Remote out{};
  out.has_data = flags != kNoFlags && (flags & FI_REMOTE_CQ_DATA);
  if (flags == kNoFlags) flags = endpoint.send_flags;
  bool wanted = !quiet && endpoint.send_cq && (!endpoint.selective_send || (flags & FI_COMPLETION));
  out.destination = to;
  out.address = address;
  out.key = key;
  out.completion = wanted ? kind : 0;
  out.quiet = quiet;
  out.inject = quiet || (flags & FI_INJECT);
  out.fence = flags & FI_FENCE;
  out.context = context;
  // Memory the application registered is known to the interface; an address within it is enough.
  if (auto* mr = static_cast<Mr*>(descriptor);
      mr && mr->memory.key && local.parts == 1 && endpoint.engine->port == endpoint.domain->memory_port) {
    out.local_key = mr->memory.key;
    out.local_offset =
        static_cast<std::uint64_t>(static_cast<char*>(local.part[0].iov_base) - static_cast<char*>(mr->base));
  }
  return out;
}

template <class Do>
ssize_t enter(fid_ep* ep, Do work) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(ep);
  abi::Thread* l = this_thread();
  if (!l || !endpoint.engine) return -FI_EOPBADSTATE;
  if (!(endpoint.caps & (FI_RMA | FI_ATOMIC))) return -FI_EOPNOTSUPP;
  if (lib::outside()) weft_outside_end();
  Entry entered(*endpoint.domain, *l);
  endpoint.engine->use();
  return work(endpoint, *l);
}

void* first(void** descriptors) { return descriptors ? descriptors[0] : nullptr; }

ssize_t get(fid_ep* ep, const Buffer& into, void* desc, fi_addr_t from, std::uint64_t address,
            std::uint64_t key, void* context, std::uint64_t flags) {
  return enter(ep, [&](Endpoint& e, abi::Thread& l) {
    return e.engine->get(l, into,
                         remote(e, from, address, key, FI_RMA | FI_READ, context, flags, false, desc, into));
  });
}

ssize_t put(fid_ep* ep, const Buffer& from, void* desc, fi_addr_t to, std::uint64_t address,
            std::uint64_t key, void* context, std::uint64_t flags, bool quiet, bool has_data,
            std::uint64_t data) {
  return enter(ep, [&](Endpoint& e, abi::Thread& l) {
    Engine::Remote where = remote(e, to, address, key, FI_RMA | FI_WRITE, context, flags, quiet, desc, from);
    if (where.inject && from.length > e.most_inject) return ssize_t{too_long_to_inject(e, from.length)};
    where.has_data |= has_data;
    where.data = data;
    return e.engine->put(l, from, where);
  });
}

ssize_t read(fid_ep* ep, void* buf, std::size_t len, void* desc, fi_addr_t from, std::uint64_t address,
             std::uint64_t key, void* context) {
  return get(ep, Buffer(buf, len), desc, from, address, key, context, kNoFlags);
}
ssize_t readv(fid_ep* ep, const iovec* v, void** desc, std::size_t count, fi_addr_t from,
              std::uint64_t address, std::uint64_t key, void* context) {
  if (count > kMostParts) return -FI_EINVAL;
  return get(ep, Buffer(v, count), first(desc), from, address, key, context, kNoFlags);
}
ssize_t readmsg(fid_ep* ep, const fi_msg_rma* m, std::uint64_t flags) {
  if (m->iov_count > kMostParts || m->rma_iov_count != 1) return -FI_EINVAL;
  return get(ep, Buffer(m->msg_iov, m->iov_count), first(m->desc), m->addr, m->rma_iov->addr, m->rma_iov->key,
             m->context, flags);
}
ssize_t write(fid_ep* ep, const void* buf, std::size_t len, void* desc, fi_addr_t to, std::uint64_t address,
              std::uint64_t key, void* context) {
  return put(ep, Buffer(buf, len), desc, to, address, key, context, kNoFlags, false, false, 0);
}
ssize_t writev(fid_ep* ep, const iovec* v, void** desc, std::size_t count, fi_addr_t to,
               std::uint64_t address, std::uint64_t key, void* context) {
  if (count > kMostParts) return -FI_EINVAL;
  return put(ep, Buffer(v, count), first(desc), to, address, key, context, kNoFlags, false, false, 0);
}
ssize_t writemsg(fid_ep* ep, const fi_msg_rma* m, std::uint64_t flags) {
  if (m->iov_count > kMostParts || m->rma_iov_count != 1) return -FI_EINVAL;
  return put(ep, Buffer(m->msg_iov, m->iov_count), first(m->desc), m->addr, m->rma_iov->addr, m->rma_iov->key,
             m->context, flags, false, false, m->data);
}
ssize_t inject(fid_ep* ep, const void* buf, std::size_t len, fi_addr_t to, std::uint64_t address,
               std::uint64_t key) {
  return put(ep, Buffer(buf, len), nullptr, to, address, key, nullptr, kNoFlags, true, false, 0);
}
ssize_t writedata(fid_ep* ep, const void* buf, std::size_t len, void* desc, std::uint64_t data, fi_addr_t to,
                  std::uint64_t address, std::uint64_t key, void* context) {
  return put(ep, Buffer(buf, len), desc, to, address, key, context, kNoFlags, false, true, data);
}
ssize_t injectdata(fid_ep* ep, const void* buf, std::size_t len, std::uint64_t data, fi_addr_t to,
                   std::uint64_t address, std::uint64_t key) {
  return put(ep, Buffer(buf, len), nullptr, to, address, key, nullptr, kNoFlags, true, true, data);
}

// Atomics. Vectors are of one part: a call names one place.

struct Place {
  fi_addr_t to;
  std::uint64_t address, key;
};

ssize_t atomic(fid_ep* ep, const void* operand, const void* compare, void* result, std::size_t count,
               Place at, fi_datatype type, fi_op operation, void* context, std::uint64_t flags, bool quiet) {
  std::size_t size = value_size(type);
  bool swap = compare != nullptr, fetch = result != nullptr;
  if (!size || !count || !known_operation(type, operation, fetch, swap)) return -FI_EOPNOTSUPP;
  std::uint64_t kind = FI_ATOMIC | (fetch ? FI_READ : FI_WRITE);
  return enter(ep, [&](Endpoint& e, abi::Thread& l) {
    Engine::AtomicCall call{type, operation, count, operand, compare, result};
    Engine::Remote where =
        remote(e, at.to, at.address, at.key, kind, context, flags, quiet, nullptr, Buffer());
    where.fetches = fetch;
    return e.engine->atomic(l, call, where);
  });
}

bool single(std::size_t count) { return count == 1; }

ssize_t a_write(fid_ep* ep, const void* buf, std::size_t count, void*, fi_addr_t to, std::uint64_t address,
                std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  return atomic(ep, buf, nullptr, nullptr, count, {to, address, key}, type, op, context, kNoFlags, false);
}
ssize_t a_writev(fid_ep* ep, const fi_ioc* v, void**, std::size_t parts, fi_addr_t to, std::uint64_t address,
                 std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  if (!single(parts)) return -FI_EINVAL;
  return atomic(ep, v->addr, nullptr, nullptr, v->count, {to, address, key}, type, op, context, kNoFlags,
                false);
}
ssize_t a_writemsg(fid_ep* ep, const fi_msg_atomic* m, std::uint64_t flags) {
  if (!single(m->iov_count) || !single(m->rma_iov_count)) return -FI_EINVAL;
  return atomic(ep, m->msg_iov->addr, nullptr, nullptr, m->msg_iov->count,
                {m->addr, m->rma_iov->addr, m->rma_iov->key}, m->datatype, m->op, m->context, flags, false);
}
ssize_t a_inject(fid_ep* ep, const void* buf, std::size_t count, fi_addr_t to, std::uint64_t address,
                 std::uint64_t key, fi_datatype type, fi_op op) {
  return atomic(ep, buf, nullptr, nullptr, count, {to, address, key}, type, op, nullptr, kNoFlags, true);
}
ssize_t a_fetch(fid_ep* ep, const void* buf, std::size_t count, void*, void* result, void*, fi_addr_t to,
                std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  return atomic(ep, buf, nullptr, result, count, {to, address, key}, type, op, context, kNoFlags, false);
}
ssize_t a_fetchv(fid_ep* ep, const fi_ioc* v, void**, std::size_t parts, fi_ioc* result, void**,
                 std::size_t results, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                 fi_datatype type, fi_op op, void* context) {
  if (!single(parts) || !single(results)) return -FI_EINVAL;
  return atomic(ep, v->addr, nullptr, result->addr, v->count, {to, address, key}, type, op, context, kNoFlags,
                false);
}
ssize_t a_fetchmsg(fid_ep* ep, const fi_msg_atomic* m, fi_ioc* result, void**, std::size_t results,
                   std::uint64_t flags) {
  if (!single(results) || !single(m->rma_iov_count) || m->iov_count > 1) return -FI_EINVAL;
  const void* operand = m->iov_count ? m->msg_iov->addr : nullptr;  // a read has none
  return atomic(ep, operand, nullptr, result->addr, result->count,
                {m->addr, m->rma_iov->addr, m->rma_iov->key}, m->datatype, m->op, m->context, flags, false);
}
ssize_t a_compare(fid_ep* ep, const void* buf, std::size_t count, void*, const void* compare, void*,
                  void* result, void*, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                  fi_datatype type, fi_op op, void* context) {
  return atomic(ep, buf, compare, result, count, {to, address, key}, type, op, context, kNoFlags, false);
}
ssize_t a_comparev(fid_ep* ep, const fi_ioc* v, void**, std::size_t parts, const fi_ioc* compare, void**,
                   std::size_t compares, fi_ioc* result, void**, std::size_t results, fi_addr_t to,
                   std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) {
  if (!single(parts) || !single(compares) || !single(results)) return -FI_EINVAL;
  return atomic(ep, v->addr, compare->addr, result->addr, v->count, {to, address, key}, type, op, context,
                kNoFlags, false);
}
ssize_t a_comparemsg(fid_ep* ep, const fi_msg_atomic* m, const fi_ioc* compare, void**, std::size_t compares,
                     fi_ioc* result, void**, std::size_t results, std::uint64_t flags) {
  if (!single(m->iov_count) || !single(compares) || !single(results) || !single(m->rma_iov_count))
    return -FI_EINVAL;
  return atomic(ep, m->msg_iov->addr, compare->addr, result->addr, m->msg_iov->count,
                {m->addr, m->rma_iov->addr, m->rma_iov->key}, m->datatype, m->op, m->context, flags, false);
}

int valid(fi_datatype type, fi_op op, bool fetch, bool swap, std::size_t* count) {
  if (!value_size(type) || !known_operation(type, op, fetch, swap)) return -FI_EOPNOTSUPP;
  if (count) *count = 4096 / value_size(type);
  return 0;
}
int valid_write(fid_ep*, fi_datatype type, fi_op op, std::size_t* count) {
  return valid(type, op, false, false, count);
}
int valid_fetch(fid_ep*, fi_datatype type, fi_op op, std::size_t* count) {
  return valid(type, op, true, false, count);
}
int valid_compare(fid_ep*, fi_datatype type, fi_op op, std::size_t* count) {
  return valid(type, op, true, true, count);
}

}  // namespace

int query_atomic(fid_domain*, fi_datatype type, fi_op op, fi_atomic_attr* attributes, std::uint64_t flags) {
  std::size_t count = 0;
  int result =
      valid(type, op, flags & (FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC), flags & FI_COMPARE_ATOMIC, &count);
  if (attributes) *attributes = {count, value_size(type)};
  return result;
}

fi_ops_rma rma_operations = {sizeof(fi_ops_rma), read,   readv,     readmsg,   write, writev,
                             writemsg,           inject, writedata, injectdata};
fi_ops_atomic atomic_operations = {sizeof(fi_ops_atomic),
                                   a_write,
                                   a_writev,
                                   a_writemsg,
                                   a_inject,
                                   a_fetch,
                                   a_fetchv,
                                   a_fetchmsg,
                                   a_compare,
                                   a_comparev,
                                   a_comparemsg,
                                   valid_write,
                                   valid_fetch,
                                   valid_compare};

}  // namespace weft::fi
