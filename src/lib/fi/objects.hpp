// The objects of libfabric that the provider hands out. Each begins with libfabric's own structure, so that a
// pointer to the one is a pointer to the other.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "lib/rank_thread.hpp"
#include "lib/weft.h"
#include "mpi/fifo.hpp"

namespace weft::fi {

extern fi_provider provider;

/// Says in libfabric's log why something is refused; returns the error, negative.
__attribute__((format(printf, 3, 4))) int refuse(int error, fi_log_subsys subsystem, const char* why, ...);

/// What an endpoint's name holds: enough to reach it, and whose it is. At most 32 bytes, the shortest small
/// message, by which programs may tell it.
struct Name {
  std::uint32_t magic;
  weft_address address;
  std::uint32_t rank;
  std::uint32_t memory_port;  // of its node: where its domain's memory is registered
  std::uint16_t generation;   // tells it from endpoints that had its port before
  std::uint16_t hears_of;     // kHearsOfWrites, kHearsOfReads
};
inline constexpr std::uint32_t kNameMagic = 0x69666577;  // "wefi"
inline constexpr std::uint32_t kUnknownPort = 0xffffffff;
inline constexpr std::uint16_t kHearsOfWrites = 1, kHearsOfReads = 2;  // by others, of its memory

struct Fabric {
  fid_fabric fid;
};

struct Endpoint;
struct Engine;

/// Threads of a process take turns. One that waits for the simulator may hold this: others wait for it in
/// virtual time, where it goes on.
class Lock {
 public:
  void take(abi::Thread& thread);
  void give() { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_;
};

struct Domain {
  fid_domain fid;
  Fabric* fabric;
  bool memory_keys;  // the application asked for keys of the provider's choosing
  std::vector<Endpoint*> endpoints;
  Lock lock;
  // An interface's keys belong to a port. Memory is registered with one for the whole domain: that of its
  // first endpoint, or one that is opened for memory and is the first endpoint's later.
  weft_port* memory_port = nullptr;
  bool own_memory_port = false;       // it is to be closed with the domain: no endpoint has it
  bool memory_port_is_fresh = false;  // no endpoint has had it
  std::unordered_map<std::uint64_t, struct Mr*> memories;  // by key
};

struct Mr {
  fid_mr fid;
  Domain* domain;
  void* base;
  std::size_t length;
  std::uint64_t access;
  weft_memory memory{};  // key 0: not registered with an interface yet
};

struct Av {
  fid_av fid;
  Domain* domain;
  fi_av_type type;
  std::vector<Name> names;
};

struct Completion {
  void* context;
  std::uint64_t flags;
  std::size_t length;
  void* buffer;
  std::uint64_t data, tag, source;
  int error;              // 0, or why it failed
  std::size_t truncated;  // bytes that did not fit
  std::int64_t time;
};

using Completions = mpi::Fifo<Completion>;

struct Cq {
  fid_cq fid;
  Domain* domain;
  fi_cq_format format;
  int wait_file = -1;  // ready when there is something to read, or to take from the rings
  bool file_is_ready = false;
  std::atomic<bool> signalled{false};
  Completions entries;
  bool gave = false;  // something at the last look
};

struct Cntr {
  fid_cntr fid;
  Domain* domain;
  std::atomic<std::uint64_t> value{0}, errors{0};
};

struct Endpoint {
  fid_ep fid;
  Domain* domain;
  Av* av = nullptr;
  Cq *send_cq = nullptr, *receive_cq = nullptr;
  bool selective_send = false, selective_receive = false;
  Cntr *send_counter = nullptr, *receive_counter = nullptr, *read_counter = nullptr, *write_counter = nullptr;
  Cntr *remote_read_counter = nullptr, *remote_write_counter = nullptr;
  std::uint64_t caps, send_flags, receive_flags;
  std::size_t most_inject = 0;  // bytes
  std::size_t least_multi_receive = 64;
  Engine* engine = nullptr;  // once it is enabled
  bool used = false;         // looked at whenever something is waited for
};

/// Stands for every operation that is not there: callers do not look whether there is one.
struct Refused {
  template <class Result, class... Arguments>
  using Operation = Result (*)(Arguments...);
  template <class Result, class... Arguments>
  constexpr operator Operation<Result, Arguments...>() const {
    return [](Arguments...) -> Result { return -FI_ENOSYS; };
  }
};
inline constexpr Refused refused;

inline int too_long_to_inject(const Endpoint& endpoint, std::size_t length) {
  return refuse(FI_EMSGSIZE, FI_LOG_EP_DATA, "%zu bytes to inject, and %zu are the most\n", length,
                endpoint.most_inject);
}

/// Takes what has arrived for endpoints of the process's other domains: whoever waits at one waits for all of
/// them.
void progress_others(const Domain& mine, abi::Thread& thread);
/// Takes what has arrived for the domain's endpoints; with `until`, only until there is something in it.
bool progress_all(Domain& mine, abi::Thread& thread, const Completions* until = nullptr);
/// Is one of the domain's endpoints looked at when something is waited for?
bool is_used(const Domain& domain);
/// Is there something in their rings that is to be seen by now?
bool has_arrivals(const Domain& domain, std::int64_t now);
/// Where to wait for what may concern any endpoint of the process.
std::uint32_t wait_port();
/// A rank whose message the domain waits for, if it waits for one rank alone.
std::uint32_t awaited_rank(const Domain& domain);
/// Is something posted or begun at any endpoint?
bool anything_under_way();

/// The port where the domain's memory is registered; one is opened where there is none.
int memory_port(Domain& domain, weft_port*& port);
/// Opens a port for an endpoint or for memory.
int open_port(weft_port*& port, bool& own);

/// Milliseconds from now, in virtual time; less than 0: never.
std::int64_t deadline_after(const abi::Thread& l, int milliseconds);

/// Something has been put into the queue: its file is ready.
void now_ready(Cq& cq);

// Operations of each object, by file.
int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
int open_av(fid_domain* domain, fi_av_attr* attributes, fid_av** av, void* context);
int open_cq(fid_domain* domain, fi_cq_attr* attributes, fid_cq** cq, void* context);
int open_cntr(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** counter, void* context);
int open_eq(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** eq, void* context);
int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);
int register_memory(fid* domain, const void* base, std::size_t length, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** mr, void* context);
extern fi_ops_mr memory_operations;
int query_atomic(fid_domain* domain, fi_datatype type, fi_op operation, fi_atomic_attr* attributes,
                 std::uint64_t flags);

extern fi_ops_msg message_operations;
extern fi_ops_tagged tagged_operations;
extern fi_ops_rma rma_operations;
extern fi_ops_atomic atomic_operations;
extern fi_ops_collective collective_operations;

/// The calling thread; null outside of a run.
abi::Thread* this_thread();

}  // namespace weft::fi
