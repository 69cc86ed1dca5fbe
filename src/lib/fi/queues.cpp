// Completion queues and counters.
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "abi/port_set.hpp"
#include "lib/clocks.hpp"
#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"
#include "lib/files.hpp"
#include "lib/turns.hpp"

namespace weft::fi {

namespace {

std::vector<Cq*> with_files;

/// Ready or not: what the file shows is what is there.
void show(Cq& cq, bool ready) {
  if (ready == cq.file_is_ready) return;
  cq.file_is_ready = ready;
  std::uint64_t one = 1;  // around libweft, which would wait in virtual time
  if (ready)
    syscall(SYS_write, cq.wait_file, &one, sizeof one);
  else
    syscall(SYS_read, cq.wait_file, &one, sizeof one);
}

/// The answer: the ports of those that are not ready. What lies at others nobody waits for here.
std::uint32_t show_all(const abi::Thread& thread) {
  std::uint32_t ports = abi::kPortSet;
  for (Cq* cq : with_files) {
    bool ready = !cq->entries.empty() || cq->signalled || has_arrivals(*cq->domain, lib::now(thread));
    show(*cq, ready);
    for (const Endpoint* endpoint : cq->domain->endpoints)
      if (!ready && endpoint->used) ports = abi::with_port(ports, endpoint->engine->port->index);
  }
  return ports;
}

/// Hands entries over in the form the queue was opened for; stops at one that failed.
ssize_t take(Cq& cq, abi::Thread& thread, void* out, std::size_t count, fi_addr_t* sources) {
  std::size_t taken = 0;
  auto* at = static_cast<char*>(out);
  while (taken < count && !cq.entries.empty() && cq.entries.front().error == 0) {
    const Completion& c = cq.entries.front();
    fi_cq_tagged_entry entry{c.context, c.flags, c.length, c.buffer, c.data, c.tag};
    std::size_t size = cq.format == FI_CQ_FORMAT_CONTEXT ? sizeof(fi_cq_entry)
                       : cq.format == FI_CQ_FORMAT_MSG   ? sizeof(fi_cq_msg_entry)
                       : cq.format == FI_CQ_FORMAT_DATA  ? sizeof(fi_cq_data_entry)
                                                         : sizeof(fi_cq_tagged_entry);
    memcpy(at, &entry, size);  // each form begins with the shorter one
    at += size;
    if (sources) sources[taken] = c.source;
    lib::jump_to(thread, c.time);  // another thread may have made it
    cq.entries.pop_front();
    ++taken;
  }
  if (taken) {
    lib::found_something();
    return static_cast<ssize_t>(taken);
  }
  return cq.entries.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

constexpr ssize_t kNothing = 0;  // from a look: no read of a queue gives it

/// What arrived is handed over one by one, as it is taken and paid for: whoever waits for the first goes on
/// before the last is looked at. MPI libraries look until there is nothing more, so after each there is
/// nothing for one look.
ssize_t look(Cq& cq, abi::Thread& l, void* out, std::size_t count, fi_addr_t* sources) {
  progress_others(*cq.domain, l);
  Entry entered(*cq.domain, l);
  if (!lib::outside() && std::exchange(cq.gave, false)) {
    lib::skipped_look();
    return -FI_EAGAIN;
  }
  // What it took may be what other threads wait for.
  if (progress_all(*cq.domain, l, &cq.entries) && lib::shares_open_mpi(l)) lib::found_something();
  ssize_t taken = take(cq, l, out, count, sources);
  cq.gave = taken > 0;
  if (taken != -FI_EAGAIN || lib::outside()) return taken;
  return kNothing;
}

ssize_t read_from(fid_cq* f, void* out, std::size_t count, fi_addr_t* sources) {
  auto& cq = *reinterpret_cast<Cq*>(f);
  abi::Thread* l = this_thread();
  if (!l || !is_used(*cq.domain)) return -FI_EAGAIN;
  lib::set_reading(*l, lib::shares_open_mpi(*l));
  ssize_t taken = look(cq, *l, out, count, sources);
  if (taken == kNothing) {
    cq.signalled = false;
    std::uint32_t awaited = awaited_rank(*cq.domain);
    if (!lib::waits_when_it_yields(*l, wait_port(), awaited) &&
        lib::look_again(*l, wait_port(), awaited, anything_under_way()))
      taken = look(cq, *l, out, count, sources);
  }
  if (taken == kNothing) taken = -FI_EAGAIN;
  if (taken == -FI_EAGAIN) lib::set_reading(*l, false);
  return taken;
}

ssize_t read(fid_cq* f, void* out, std::size_t count) { return read_from(f, out, count, nullptr); }

ssize_t wait_from(fid_cq* f, void* out, std::size_t count, fi_addr_t* sources, const void*, int timeout) {
  auto& cq = *reinterpret_cast<Cq*>(f);
  abi::Thread* l = this_thread();
  if (!l || !is_used(*cq.domain)) return -FI_EAGAIN;
  std::int64_t deadline = deadline_after(*l, timeout);
  for (;;) {
    progress_others(*cq.domain, *l);
    {
      Entry entered(*cq.domain, *l);
      if (cq.entries.empty()) progress_all(*cq.domain, *l);
      ssize_t taken = take(cq, *l, out, count, sources);
      if (taken != -FI_EAGAIN) return taken;
      if (cq.signalled.exchange(false)) return -FI_EAGAIN;
    }
    if (lib::now(*l) >= deadline) return -FI_EAGAIN;
    lib::wait_or_be_called(*l, wait_port(), deadline, awaited_rank(*cq.domain));
  }
}

ssize_t wait_read(fid_cq* f, void* out, std::size_t count, const void* condition, int timeout) {
  return wait_from(f, out, count, nullptr, condition, timeout);
}

ssize_t read_error(fid_cq* f, fi_cq_err_entry* out, std::uint64_t) {
  auto& cq = *reinterpret_cast<Cq*>(f);
  abi::Thread* l = this_thread();
  if (!l) return -FI_EAGAIN;
  Entry entered(*cq.domain, *l);
  if (cq.entries.empty() || cq.entries.front().error == 0) return -FI_EAGAIN;
  const Completion& c = cq.entries.front();
  out->op_context = c.context;
  out->flags = c.flags;
  out->len = c.length;
  out->buf = c.buffer;
  out->data = c.data;
  out->tag = c.tag;
  out->olen = c.truncated;
  out->err = c.error;
  out->prov_errno = c.error;
  out->err_data = nullptr;
  out->err_data_size = 0;
  cq.entries.pop_front();
  return 1;
}

int signal_queue(fid_cq* f) {
  auto& cq = *reinterpret_cast<Cq*>(f);
  cq.signalled = true;
  now_ready(cq);
  return 0;
}

const char* error_text(fid_cq*, int error, const void*, char* text, std::size_t length) {
  const char* words = fi_strerror(error);
  if (text && length) {
    strncpy(text, words, length - 1);
    text[length - 1] = 0;
  }
  return words;
}

int close_cq(fid* f) {
  auto* cq = reinterpret_cast<Cq*>(f);
  if (cq->wait_file >= 0) close(cq->wait_file);
  std::erase(with_files, cq);
  delete cq;
  return 0;
}

int control_cq(fid* f, int command, void* argument) {
  auto* cq = reinterpret_cast<Cq*>(f);
  if (command != FI_GETWAIT || cq->wait_file < 0) return -FI_ENOSYS;
  *static_cast<int*>(argument) = cq->wait_file;
  return 0;
}

fi_ops cq_object = {sizeof(fi_ops), close_cq, refused, control_cq, refused, refused, refused};
fi_ops_cq cq_calls = {sizeof(fi_ops_cq), read,      read_from,    read_error,
                      wait_read,         wait_from, signal_queue, error_text};

// Counters.

void advance(Cntr& counter) {
  abi::Thread* l = this_thread();
  if (!l || !is_used(*counter.domain)) return;
  progress_others(*counter.domain, *l);
  Entry entered(*counter.domain, *l);
  if (progress_all(*counter.domain, *l)) lib::found_something();
}

std::uint64_t read_counter(fid_cntr* f) {
  auto& counter = *reinterpret_cast<Cntr*>(f);
  std::uint64_t before = counter.value;
  advance(counter);
  abi::Thread* l = this_thread();
  if (counter.value == before && l && is_used(*counter.domain) && !lib::outside() &&
      lib::look_again(*l, wait_port(), abi::kNoRank))
    advance(counter);
  return counter.value;
}

std::uint64_t read_counter_errors(fid_cntr* f) { return reinterpret_cast<Cntr*>(f)->errors; }

int add(fid_cntr* f, std::uint64_t value) {
  reinterpret_cast<Cntr*>(f)->value += value;
  return 0;
}
int set(fid_cntr* f, std::uint64_t value) {
  reinterpret_cast<Cntr*>(f)->value = value;
  return 0;
}
int add_error(fid_cntr* f, std::uint64_t value) {
  reinterpret_cast<Cntr*>(f)->errors += value;
  return 0;
}
int set_error(fid_cntr* f, std::uint64_t value) {
  reinterpret_cast<Cntr*>(f)->errors = value;
  return 0;
}

int wait_counter(fid_cntr* f, std::uint64_t threshold, int timeout) {
  auto& counter = *reinterpret_cast<Cntr*>(f);
  abi::Thread* l = this_thread();
  if (!l) return -FI_EAVAIL;
  std::int64_t deadline = deadline_after(*l, timeout);
  std::uint64_t errors = counter.errors;
  for (;;) {
    advance(counter);
    if (counter.value >= threshold) return 0;
    if (counter.errors != errors) return -FI_EAVAIL;
    if (lib::now(*l) >= deadline) return -FI_ETIMEDOUT;
    lib::wait_or_be_called(*l, wait_port(), deadline, abi::kNoRank);
  }
}

int close_counter(fid* f) {
  delete reinterpret_cast<Cntr*>(f);
  return 0;
}

fi_ops counter_object = {sizeof(fi_ops), close_counter, refused, refused, refused, refused, refused};
fi_ops_cntr counter_calls = {sizeof(fi_ops_cntr), read_counter, read_counter_errors, add, set, wait_counter,
                             add_error,           set_error};

}  // namespace

/// Milliseconds from now, in virtual time; less than 0: never.
std::int64_t deadline_after(const abi::Thread& l, int milliseconds) {
  if (milliseconds < 0) return abi::kNoDeadline;
  return lib::saturated(lib::now(l), milliseconds / 1000, milliseconds % 1000 * (lib::kSecond / 1000));
}

void now_ready(Cq& cq) {
  if (cq.wait_file >= 0) show(cq, true);
}

int open_cq(fid_domain* domain, fi_cq_attr* attributes, fid_cq** out, void* context) {
  fi_wait_obj wait = attributes->wait_obj;
  if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD && wait != FI_WAIT_YIELD)
    return refuse(FI_ENOSYS, FI_LOG_CQ, "wait objects other than FI_WAIT_FD are not supported\n");
  auto* cq = new Cq{};
  cq->fid.fid = {FI_CLASS_CQ, context, &cq_object};
  cq->fid.ops = &cq_calls;
  cq->domain = reinterpret_cast<Domain*>(domain);
  cq->format = attributes->format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_TAGGED : attributes->format;
  if (wait == FI_WAIT_FD) {
    cq->wait_file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cq->wait_file < 0) {
      int error = errno;
      delete cq;
      return refuse(error, FI_LOG_CQ, "the system has no file for a wait object: %s\n", strerror(error));
    }
    with_files.push_back(cq);
    lib::set_refresh(show_all);
  }
  *out = &cq->fid;
  return 0;
}

int open_cntr(fid_domain* domain, fi_cntr_attr* attributes, fid_cntr** out, void* context) {
  if (attributes->events != FI_CNTR_EVENTS_COMP)
    return refuse(FI_ENOSYS, FI_LOG_CNTR, "counters count completions only\n");
  if (attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC)
    return refuse(FI_ENOSYS, FI_LOG_CNTR, "counters have no wait objects to hand out\n");
  auto* counter = new Cntr{};
  counter->fid.fid = {FI_CLASS_CNTR, context, &counter_object};
  counter->fid.ops = &counter_calls;
  counter->domain = reinterpret_cast<Domain*>(domain);
  *out = &counter->fid;
  return 0;
}

}  // namespace weft::fi
