// Endpoints: what they are bound to, and their start and end.
#include <string.h>

#include <algorithm>

#include "abi/port_set.hpp"
#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"
#include "lib/mpi_start.hpp"
#include "lib/mpi_windows.hpp"
#include "lib/offload/calls.hpp"
#include "lib/offload/group.hpp"

namespace weft::fi {

namespace {

std::vector<Endpoint*> enabled;  // and used; an MPI library may have one for messages and one for windows
bool mpi_port_is_taken = false;

void serve() {
  abi::Thread* l = this_thread();
  if (!l) return;
  for (Endpoint* endpoint : enabled) {
    Entry entered(*endpoint->domain, *l);
    endpoint->engine->progress(*l);
    endpoint->engine->drain(*l);
  }
}

/// Windows by RDMA have an endpoint of their own, whose work is the interface's anyway.
void work_until(abi::Thread& thread, std::int64_t time) {
  if (enabled.empty()) return;
  Endpoint& first = *enabled.front();
  first.domain->lock.take(thread);
  first.engine->work_until(thread, time);
  first.domain->lock.give();
}

std::size_t one_sided_count() {
  std::size_t count = 0;
  for (const Endpoint* endpoint : enabled)
    if (endpoint->caps & FI_RMA)
      count += endpoint->engine->one_sided_under_way() +
               (endpoint->send_cq ? endpoint->send_cq->entries.size() : 0);
  return count;
}

/// A port that was opened for memory is the first endpoint's.
int port_for_endpoint(Domain& domain, weft_port*& port, bool& own) {
  if (!domain.memory_port_is_fresh) return open_port(port, own);
  port = domain.memory_port;
  own = domain.own_memory_port;
  domain.memory_port_is_fresh = domain.own_memory_port = false;
  return 0;
}

int enable(Endpoint& endpoint) {
  if (endpoint.engine) return 0;
  if (!endpoint.av) return refuse(FI_ENOAV, FI_LOG_EP_CTRL, "the endpoint has no address vector\n");
  weft_port* port = nullptr;
  bool own = false;
  Domain& domain = *endpoint.domain;
  if (int result = port_for_endpoint(domain, port, own); result != 0)
    return refuse(-result, FI_LOG_EP_CTRL, "the interface has no port: %s\n", strerror(-result));
  if (!domain.memory_port) domain.memory_port = port;
  endpoint.engine = new Engine(endpoint, port, own);
  // One that MPI opens beside its first is for windows. Most programs have none: nothing can arrive there,
  // and it is not worth a look, before memory was registered with it or something was posted.
  if (!own || !lib::mpi_port() || !domain.memories.empty()) endpoint.engine->use();
  lib::set_mpi_service(serve);
  offload::offer_collectives();
  if (endpoint.engine->model.progress == 0) lib::set_background(work_until);
  lib::set_one_sided_count(one_sided_count);
  return 0;
}

int bind_cq(Endpoint& endpoint, Cq* cq, std::uint64_t flags) {
  bool selective = flags & FI_SELECTIVE_COMPLETION;
  if (flags & FI_TRANSMIT) {
    endpoint.send_cq = cq;
    endpoint.selective_send = selective;
  }
  if (flags & FI_RECV) {
    endpoint.receive_cq = cq;
    endpoint.selective_receive = selective;
  }
  return 0;
}

int bind_counter(Endpoint& endpoint, Cntr* counter, std::uint64_t flags) {
  if ((flags & (FI_REMOTE_READ | FI_REMOTE_WRITE)) && !(endpoint.caps & FI_RMA_EVENT))
    return refuse(FI_EINVAL, FI_LOG_EP_CTRL,
                  "what others read and write here is counted where FI_RMA_EVENT was asked for\n");
  if (flags & FI_REMOTE_READ) endpoint.remote_read_counter = counter;
  if (flags & FI_REMOTE_WRITE) endpoint.remote_write_counter = counter;
  if (flags & FI_SEND) endpoint.send_counter = counter;
  if (flags & FI_RECV) endpoint.receive_counter = counter;
  if (flags & FI_READ) endpoint.read_counter = counter;
  if (flags & FI_WRITE) endpoint.write_counter = counter;
  return 0;
}

int bind(fid* f, fid* other, std::uint64_t flags) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  switch (other->fclass) {
    case FI_CLASS_AV:
      endpoint.av = reinterpret_cast<Av*>(other);
      return 0;
    case FI_CLASS_CQ:
      return bind_cq(endpoint, reinterpret_cast<Cq*>(other), flags);
    case FI_CLASS_CNTR:
      return bind_counter(endpoint, reinterpret_cast<Cntr*>(other), flags);
    case FI_CLASS_EQ:
      return 0;
    default:
      return refuse(FI_EINVAL, FI_LOG_EP_CTRL, "an endpoint cannot be bound to that\n");
  }
}

int control(fid* f, int command, void* argument) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  switch (command) {
    case FI_ENABLE:
      return enable(endpoint);
    case FI_GETOPSFLAG:
      *static_cast<std::uint64_t*>(argument) =
          *static_cast<std::uint64_t*>(argument) & FI_RECV ? endpoint.receive_flags : endpoint.send_flags;
      return 0;
    case FI_SETOPSFLAG: {
      std::uint64_t flags = *static_cast<std::uint64_t*>(argument);
      if (flags & FI_TRANSMIT) endpoint.send_flags = flags & ~(FI_TRANSMIT | FI_RECV);
      if (flags & FI_RECV) endpoint.receive_flags = flags & ~(FI_TRANSMIT | FI_RECV);
      return 0;
    }
    default:
      return -FI_ENOSYS;
  }
}

int close_endpoint(fid* f) {
  auto* endpoint = reinterpret_cast<Endpoint*>(f);
  Domain& domain = *endpoint->domain;
  std::erase(domain.endpoints, endpoint);
  std::erase(enabled, endpoint);
  if (Engine* engine = endpoint->engine; engine && engine->port == domain.memory_port) {
    if (domain.memories.empty() && domain.endpoints.empty())
      domain.memory_port = nullptr;
    else  // memory stays registered, and others have been told where
      domain.own_memory_port = engine->give_up_port();
  }
  if (endpoint->engine && endpoint->engine->port == lib::mpi_port()) mpi_port_is_taken = false;
  delete endpoint->engine;
  delete endpoint;
  return 0;
}

ssize_t cancel(fid_t f, void* context) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  abi::Thread* l = this_thread();
  if (!l || !endpoint.engine) return -FI_ENOENT;
  Entry entered(*endpoint.domain, *l);
  return endpoint.engine->cancel(context);
}

int get_option(fid_t f, int level, int name, void* value, std::size_t* length) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (*length < sizeof(std::size_t)) return -FI_ETOOSMALL;
  *static_cast<std::size_t*>(value) = endpoint.least_multi_receive;
  *length = sizeof(std::size_t);
  return 0;
}

int set_option(fid_t f, int level, int name, const void* value, std::size_t length) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV || length < sizeof(std::size_t))
    return -FI_ENOPROTOOPT;
  endpoint.least_multi_receive = *static_cast<const std::size_t*>(value);
  return 0;
}

int get_name(fid_t f, void* out, std::size_t* length) {
  auto& endpoint = *reinterpret_cast<Endpoint*>(f);
  if (!endpoint.engine) return refuse(FI_EOPBADSTATE, FI_LOG_EP_CTRL, "the endpoint is not enabled\n");
  std::size_t room = *length;
  *length = sizeof(Name);
  if (room < sizeof(Name)) return -FI_ETOOSMALL;
  Name name = endpoint.engine->name();
  memcpy(out, &name, sizeof name);
  return 0;
}

fi_ops endpoint_object = {sizeof(fi_ops), close_endpoint, bind, control, refused, refused, refused};
fi_ops_ep endpoint_calls = {sizeof(fi_ops_ep), cancel,  get_option, set_option,
                            refused,           refused, refused,    refused};
fi_ops_cm connection_calls = {sizeof(fi_ops_cm), refused, get_name, refused, refused,
                              refused,           refused, refused,  refused, refused};

}  // namespace

fi_ops_collective collective_operations = {sizeof(fi_ops_collective),
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused,
                                           refused};

/// The port MPI was given belongs to the first endpoint; others have their own. While MPI starts, opening one
/// takes no time, as nothing does then.
int open_port(weft_port*& port, bool& own) {
  weft_port* given = lib::mpi_port();
  own = !given || mpi_port_is_taken || !enabled.empty();
  if (own) return given ? weft_open_for_mpi(&port) : weft_open(&port);
  mpi_port_is_taken = true;
  port = given;
  return 0;
}

int memory_port(Domain& domain, weft_port*& port) {
  if (!domain.memory_port) {
    if (int result = open_port(domain.memory_port, domain.own_memory_port); result != 0) return result;
    domain.memory_port_is_fresh = true;
  }
  port = domain.memory_port;
  return 0;
}

void progress_others(const Domain& mine, abi::Thread& thread) {
  for (Endpoint* endpoint : enabled) {
    if (endpoint->domain == &mine) continue;
    Entry entered(*endpoint->domain, thread);
    endpoint->engine->progress(thread);
  }
}

bool progress_all(Domain& mine, abi::Thread& thread, const Completions* until) {
  bool any = false;
  for (Endpoint* endpoint : mine.endpoints)
    if (endpoint->used) any |= endpoint->engine->progress(thread, until);
  return any;
}

bool is_used(const Domain& domain) {
  return std::any_of(domain.endpoints.begin(), domain.endpoints.end(),
                     [](const Endpoint* endpoint) { return endpoint->used; });
}

bool has_arrivals(const Domain& domain, std::int64_t now) {
  return std::any_of(domain.endpoints.begin(), domain.endpoints.end(), [&](const Endpoint* endpoint) {
    if (!endpoint->used) return false;
    const nic::Message* m = lib::next_message(endpoint->engine->port);
    const nic::Event* e = lib::next_event(endpoint->engine->port);
    return (m && m->time <= now) || (e && e->time <= now);
  });
}

std::uint32_t wait_port() {
  if (enabled.size() == 1) return enabled.front()->engine->port->index;
  std::uint32_t set = abi::kPortSet;
  for (const Endpoint* endpoint : enabled) set = abi::with_port(set, endpoint->engine->port->index);
  return set;
}

std::uint32_t awaited_rank(const Domain& domain) {
  return domain.endpoints.size() == 1 ? domain.endpoints.front()->engine->awaited_rank() : abi::kNoRank;
}

bool anything_under_way() {
  return offload::under_way() || std::any_of(enabled.begin(), enabled.end(), [](const Endpoint* endpoint) {
           return endpoint->engine->under_way();
         });
}

void Engine::begin_use() {
  endpoint.used = true;
  enabled.push_back(&endpoint);
}

int open_endpoint(fid_domain* f, fi_info* info, fid_ep** out, void* context) {
  auto* domain = reinterpret_cast<Domain*>(f);
  auto* endpoint = new Endpoint{};
  endpoint->fid.fid = {FI_CLASS_EP, context, &endpoint_object};
  endpoint->fid.ops = &endpoint_calls;
  endpoint->fid.cm = &connection_calls;
  endpoint->fid.msg = &message_operations;
  endpoint->fid.tagged = &tagged_operations;
  endpoint->fid.rma = &rma_operations;
  endpoint->fid.atomic = &atomic_operations;
  endpoint->fid.collective = &collective_operations;
  endpoint->domain = domain;
  endpoint->caps = info->caps;
  endpoint->send_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
  endpoint->most_inject = info->tx_attr ? info->tx_attr->inject_size : 0;
  endpoint->receive_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
  domain->endpoints.push_back(endpoint);
  *out = &endpoint->fid;
  return 0;
}

}  // namespace weft::fi
