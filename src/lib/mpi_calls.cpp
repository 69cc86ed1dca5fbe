// Watches the calls a program makes to MPI: what it is doing, for those who ask why nothing goes on, and a
// log of calls where the simulator wants one.
//
// Every word of an argument is passed through as it came. All arguments of these functions are integers or
// pointers, which travel in whole registers or whole slots of the stack, so one wrapper serves Open MPI,
// whose handles are pointers, and MPICH, whose handles are integers. Fortran's entry points call the PMPI_
// names, programs the MPI_ names; of calls within calls only the outermost counts.
#include "abi/mpi_calls.hpp"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/failures.hpp"
#include "lib/mpi_collectives.hpp"
#include "lib/mpi_communicators.hpp"
#include "lib/mpi_library.hpp"
#include "lib/mpi_shared_windows.hpp"
#include "lib/rank_thread.hpp"
#include "lib/timers.hpp"
#include "lib/turns.hpp"

namespace {

namespace abi = weft::abi;
namespace lib = weft::lib;
using abi::CallFacts;
using abi::MpiCall;
using lib::Word;

thread_local bool inside = false;
thread_local std::uint32_t collectives_called = 0;  // of those that a recording names
thread_local bool in_collective = false;

abi::CallLog* log_if_any() {
  static abi::CallLog* log = [] {
    abi::CallLog* none = nullptr;
    const char* text = getenv(abi::kCallsVariable);
    if (!text || !lib::run()) return none;
    int file = atoi(text);
    void* first = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    if (first == MAP_FAILED) return none;
    std::size_t bytes = abi::log_bytes(static_cast<abi::CallLog*>(first)->capacity);
    munmap(first, 4096);
    void* all = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return all == MAP_FAILED ? none : static_cast<abi::CallLog*>(all);
  }();
  return log;
}

void write(const abi::CallRecord& record) {
  abi::CallLog* log = log_if_any();
  std::uint64_t at = log->count.fetch_add(1, std::memory_order_relaxed);
  if (at < log->capacity) abi::records_of(log)[at] = record;
}

template <std::size_t N>
int argument(const Word (&words)[N], int place, int otherwise) {
  return place < 0 || place >= static_cast<int>(N) ? otherwise
                                                   : static_cast<int>(words[static_cast<std::size_t>(place)]);
}

/// What a call is about, from its arguments.
template <std::size_t N>
void describe(const CallFacts& facts, const Word (&words)[N], abi::CallRecord& record) {
  record.peer = facts.peer < 0 ? abi::kNoPeer : lib::mpi_peer(argument(words, facts.peer, 0));
  record.tag = argument(words, facts.tag, abi::kNoPeer);
  if (int count = argument(words, facts.count, 0); count > 0 && facts.type >= 0)
    record.bytes =
        static_cast<std::uint64_t>(count) * lib::type_bytes(words[static_cast<std::size_t>(facts.type)]);
  if (facts.communicator < 0) return;
  lib::Communicator c = lib::communicator(words[static_cast<std::size_t>(facts.communicator)]);
  record.communicator = c.number;
  record.members = c.members;
  if (record.peer >= 0) record.peer = lib::rank_in_world(c, record.peer);
  if (facts.kind == abi::CallKind::Collective) record.tag = c.rank;
}

/// Of a call that combines; its operation follows its datatype.
template <std::size_t N>
bool interfaces_combine(const CallFacts& facts, const Word (&words)[N]) {
  const auto operation = static_cast<std::size_t>(facts.type + 1);
  return facts.type >= 0 && operation < N && lib::interfaces_combine &&
         lib::interfaces_combine(words[operation - 1], words[operation]);
}

/// Around one call. Nobody asks what threads do that are not in virtual time.
class Watch {
 public:
  template <std::size_t N>
  Watch(MpiCall call, const Word (&words)[N]) {
    if (inside || !lib::segment() || !(thread_ = lib::thread_if_any())) return;
    inside = true;
    lib::enter(*thread_);
    record_.call = static_cast<std::uint16_t>(call);
    const CallFacts& facts = abi::call_facts(record_.call);
    if (!facts.only_looks) lib::begin_call();
    describe(facts, words, record_);
    if (abi::is_named(record_.call) && log_if_any()) {
      ++collectives_called;
      in_collective = true;
      const bool reduces = call == MpiCall::Reduce || call == MpiCall::Allreduce;
      if (reduces && interfaces_combine(facts, words)) record_.flags |= abi::kCombines;
      if (lib::collectives_open()) record_.flags |= abi::kBeside;
    }
    record_.begin = lib::now(*thread_);
    thread_->doing = abi::Doing::begun(record_.call, record_.begin, record_.peer, record_.tag);
    if (call == MpiCall::Win_allocate_shared) lib::segment()->shares.fetch_or(lib::kSharesMemory);
    if (call == MpiCall::Comm_free || call == MpiCall::Comm_disconnect) lib::forget_communicator(words[0]);
  }
  ~Watch() {
    if (!thread_) return;
    thread_->doing.returned();
    lib::set_reading(*thread_, false);
    inside = in_collective = false;
    if (log_if_any()) {
      record_.end = lib::now(*thread_);
      record_.thread = static_cast<std::uint8_t>(lib::index_of(*thread_));
      write(record_);
    }
    lib::leave();
    lib::check_timers(*thread_);
  }
  /// It is a call of the program, not one within another.
  bool counts() const { return thread_; }
  /// What the call returned; an operation that failed meanwhile must have been told by it.
  Word over(Word result) const {
    if (thread_ && lib::failure_noticed()) lib::end_if_untold(record_.call, static_cast<int>(result));
    return result;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  abi::Thread* thread_ = nullptr;
  abi::CallRecord record_{};
};

/// Of those the interface may run, those that make communicators for it, and those that free them; persistent
/// ones, which start later; and those that wait for requests.
constexpr bool is_collective(MpiCall call) {
  return (call >= MpiCall::Barrier && call <= MpiCall::Allreduce_init) || call == MpiCall::Intercomm_merge ||
         call == MpiCall::Comm_free || call == MpiCall::Comm_disconnect || call == MpiCall::Start ||
         call == MpiCall::Startall || call == MpiCall::Request_free || lib::finishes(call);
}

constexpr bool keeps_its_buffer(MpiCall call) {
  switch (call) {
    case MpiCall::Put:
    case MpiCall::Rput:
    case MpiCall::Accumulate:
    case MpiCall::Raccumulate:
    case MpiCall::Get_accumulate:
    case MpiCall::Send_init:
    case MpiCall::Ssend_init:
    case MpiCall::Rsend_init:
      return true;
    default:
      return false;
  }
}

/// Open MPI forgets, in sends that it starts later than it is told of them, where the first byte of a type
/// lies if that is not at its buffer's address, as for types of absolute addresses: other bytes would go. So
/// it is given an address and a type that begin with that byte.
class FirstByte {
 public:
  template <std::size_t N>
  FirstByte(MpiCall call, Word (&words)[N]) {
    if constexpr (N > 2) {
      if (keeps_its_buffer(call) && !lib::is_mpich()) type_ = lib::begin_with_first_byte(words[0], words[2]);
    }
  }
  ~FirstByte() {
    if (type_) lib::free_type(type_);
  }
  FirstByte(const FirstByte&) = delete;
  FirstByte& operator=(const FirstByte&) = delete;

 private:
  Word type_ = 0;
};

/// Around calls that begin collectives which go on after them, or end such. Who keeps no log need not know.
template <bool kConcerned>
class Follow {
 public:
  template <std::size_t N>
  Follow(MpiCall call, const Word (&words)[N], const Watch& watch)
      : call_(call), words_(kConcerned && watch.counts() && log_if_any() ? words : nullptr) {
    if constexpr (kConcerned)
      if (words_) lib::before_open_ones(call, words_);
  }
  ~Follow() {
    if constexpr (kConcerned)
      if (words_) lib::after_open_ones(call_, words_);
  }
  Follow(const Follow&) = delete;
  Follow& operator=(const Follow&) = delete;

 private:
  MpiCall call_;
  const Word* words_;
};

/// MPI_Abort of an MPICH comes back where its launcher does not kill it.
[[noreturn]] Word abort_for_good(Word communicator, Word code) {
  reinterpret_cast<Word (*)(Word, Word)>(lib::mpi_function("PMPI_Abort"))(communicator, code);
  _exit(static_cast<int>(code));
}

void* function_of(const char* name) {
  if (lib::is_mpich() && strstr(name, "MPI_Abort")) return reinterpret_cast<void*>(abort_for_good);
  if (strstr(name, "MPI_Comm_split_type")) return reinterpret_cast<void*>(lib::split_by_node);
  if (strstr(name, "MPI_Comm_spawn"))
    return strstr(name, "multiple") ? reinterpret_cast<void*>(lib::refuse_spawn_multiple)
                                    : reinterpret_cast<void*>(lib::refuse_spawn);
  if (strstr(name, "MPI_Win_allocate_shared")) return reinterpret_cast<void*>(lib::allocate_shared_window);
  if (strstr(name, "MPI_Win_shared_query")) return reinterpret_cast<void*>(lib::query_shared_window);
  if (strstr(name, "MPI_Win_get_attr")) return reinterpret_cast<void*>(lib::window_attribute);
  if (strstr(name, "MPI_Win_free")) return reinterpret_cast<void*>(lib::free_window);
  return lib::mpi_function(name);
}

}  // namespace

std::uint32_t lib::collective_number() { return in_collective ? collectives_called : 0; }

#define WORDS_1 Word a0
#define WORDS_2 WORDS_1, Word a1
#define WORDS_3 WORDS_2, Word a2
#define WORDS_4 WORDS_3, Word a3
#define WORDS_5 WORDS_4, Word a4
#define WORDS_6 WORDS_5, Word a5
#define WORDS_7 WORDS_6, Word a6
#define WORDS_8 WORDS_7, Word a7
#define WORDS_9 WORDS_8, Word a8
#define WORDS_10 WORDS_9, Word a9
#define WORDS_11 WORDS_10, Word a10
#define WORDS_12 WORDS_11, Word a11
#define NAMES_1 a0
#define NAMES_2 NAMES_1, a1
#define NAMES_3 NAMES_2, a2
#define NAMES_4 NAMES_3, a3
#define NAMES_5 NAMES_4, a4
#define NAMES_6 NAMES_5, a5
#define NAMES_7 NAMES_6, a6
#define NAMES_8 NAMES_7, a7
#define NAMES_9 NAMES_8, a8
#define NAMES_10 NAMES_9, a9
#define NAMES_11 NAMES_10, a10
#define NAMES_12 NAMES_11, a11

#define PASS_1 words[0]
#define PASS_2 PASS_1, words[1]
#define PASS_3 PASS_2, words[2]
#define PASS_4 PASS_3, words[3]
#define PASS_5 PASS_4, words[4]
#define PASS_6 PASS_5, words[5]
#define PASS_7 PASS_6, words[6]
#define PASS_8 PASS_7, words[7]
#define PASS_9 PASS_8, words[8]
#define PASS_10 PASS_9, words[9]
#define PASS_11 PASS_10, words[10]
#define PASS_12 PASS_11, words[11]

// They return int, as a word, which the caller reads the lower half of.
#define WEFT_WRAP(prefix, name, arguments)                                                \
  Word prefix##_##name(WORDS_##arguments) {                                               \
    static Word (*next)(WORDS_##arguments) = nullptr;                                     \
    if (!next) next = reinterpret_cast<decltype(next)>(function_of(#prefix "_" #name));   \
    Word words[] = {NAMES_##arguments};                                                   \
    Watch watch(MpiCall::name, words);                                                    \
    if constexpr (is_collective(MpiCall::name)) {                                         \
      if (lib::collective_service.call && watch.counts()) {                               \
        Word result = 0;                                                                  \
        if (lib::run_collective(MpiCall::name, words, result)) return watch.over(result); \
        result = next(PASS_##arguments);                                                  \
        lib::after_call(MpiCall::name, words, result);                                    \
        return watch.over(result);                                                        \
      }                                                                                   \
    }                                                                                     \
    FirstByte first(MpiCall::name, words);                                                \
    Follow<lib::concerns_open_ones(MpiCall::name)> open(MpiCall::name, words, watch);     \
    return watch.over(next(PASS_##arguments));                                            \
  }
#define WEFT_WRAP_BOTH(name, arguments, ...) \
  WEFT_WRAP(MPI, name, arguments)            \
  WEFT_WRAP(PMPI, name, arguments)

extern "C" {
WEFT_MPI_CALLS(WEFT_WRAP_BOTH)

// Persistent collectives of Open MPI 4, an extension there.
#define WEFT_WRAP_EXTENSION(name, arguments) \
  WEFT_WRAP(MPIX, name, arguments)           \
  WEFT_WRAP(PMPIX, name, arguments)
WEFT_WRAP_EXTENSION(Barrier_init, 3)
WEFT_WRAP_EXTENSION(Bcast_init, 7)
WEFT_WRAP_EXTENSION(Gather_init, 10)
WEFT_WRAP_EXTENSION(Reduce_init, 9)
WEFT_WRAP_EXTENSION(Allreduce_init, 8)

// A look at the clock on behalf of the place it is called from.
#define WEFT_WRAP_TIME(prefix)                                                             \
  double prefix##_Wtime() {                                                                \
    static double (*next)() = nullptr;                                                     \
    if (!next) next = reinterpret_cast<double (*)()>(lib::mpi_function(#prefix "_Wtime")); \
    if (lib::segment()) lib::look_for(__builtin_return_address(0));                        \
    return next();                                                                         \
  }
WEFT_WRAP_TIME(MPI)
WEFT_WRAP_TIME(PMPI)
}
