#include "lib/mpi_collectives.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

namespace weft::lib {

CollectiveService collective_service;
bool (*interfaces_combine)(Word datatype, Word operation) = nullptr;

namespace {

/// A handle that an argument points to.
Word handle_at(Word address) {
  if (!address) return 0;
  return is_mpich() ? mpi_handle(*reinterpret_cast<const std::int32_t*>(address))
                    : *reinterpret_cast<const Word*>(address);
}

bool is_null_request(Word handle) {
  constexpr Word kMpichNull = 0x2c000000;  // by its ABI
  static void* open_mpi = dlsym(RTLD_DEFAULT, "ompi_request_null");
  return handle == (is_mpich() ? kMpichNull : reinterpret_cast<Word>(open_mpi));
}

Word handle_size() { return is_mpich() ? sizeof(std::int32_t) : sizeof(Word); }

void set_handle(Word address, Word handle) {
  if (is_mpich())
    *reinterpret_cast<std::int32_t*>(address) = static_cast<std::int32_t>(handle);
  else
    *reinterpret_cast<Word*>(address) = handle;
}

/// The requests that a call starts or waits for.
struct Requests {
  Word first = 0;
  int count = 0;
};

Requests requests_of(abi::MpiCall call, const Word* arguments) {
  switch (call) {
    case abi::MpiCall::Start:
    case abi::MpiCall::Wait:
    case abi::MpiCall::Test:
      return {arguments[0], arguments[0] ? 1 : 0};
    default:
      return {arguments[1], arguments[1] ? static_cast<int>(arguments[0]) : 0};
  }
}

bool starts(abi::MpiCall call) { return call == abi::MpiCall::Start || call == abi::MpiCall::Startall; }

/// Persistent requests whose collectives interfaces run stay with the program; while it waits for one,
/// another request of the library stands in its place.
struct Lent {
  Word place, request;
};

/// Grows to the most it ever held and stays there: this library has nothing of the C++ library, which every
/// process would load.
struct LentList {
  Lent* first = nullptr;
  int count = 0, room = 0;

  void push(Lent one) {
    if (count == room) {
      room = 2 * room + 16;
      first = static_cast<Lent*>(realloc(first, static_cast<std::size_t>(room) * sizeof(Lent)));
      if (!first) abort();
    }
    first[count++] = one;
  }
  const Lent* begin() const { return first; }
  const Lent* end() const { return first + count; }
};
thread_local LentList lent;

void lend(const Requests& requests) {
  lent.count = 0;
  for (int i = 0; i < requests.count; ++i) {
    const Word place = requests.first + i * handle_size(), request = handle_at(place);
    const Word stand_in = collective_service.stands_for(request);
    if (!stand_in) continue;
    lent.push({place, request});
    set_handle(place, stand_in);
  }
}

void take_back() {
  for (const Lent& one : lent) {
    if (is_null_request(handle_at(one.place))) collective_service.ended(one.request);
    set_handle(one.place, one.request);
  }
  lent.count = 0;
}

/// Those of several that interfaces run are started here, and each of the others by the library.
bool start(const Requests& requests, Word& result) {
  lent.count = 0;
  for (int i = 0; i < requests.count; ++i) {
    const Word place = requests.first + i * handle_size(), request = handle_at(place);
    if (!collective_service.started(request)) lent.push({place, request});
  }
  if (lent.count == requests.count) return false;
  result = 0;
  for (int i = 0; i < lent.count && !result; ++i)
    result = reinterpret_cast<Word (*)(Word)>(mpi_function("PMPI_Start"))(lent.first[i].place);
  lent.count = 0;
  return true;
}

}  // namespace

namespace {

pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
LentList open_ones;  // their requests; the places are not used
bool open_for_good = false;
thread_local LentList ending;  // of those, what the call under way may end

bool is_open(Word request) {
  for (const Lent& one : open_ones)
    if (one.request == request) return true;
  return false;
}

void close(Word request) {
  for (int i = 0; i < open_ones.count; ++i)
    if (open_ones.first[i].request == request) {
      open_ones.first[i] = open_ones.first[--open_ones.count];
      return;
    }
}

}  // namespace

void before_open_ones(abi::MpiCall call, const Word* arguments) {
  pthread_mutex_lock(&open_lock);
  ending.count = 0;
  if (finishes(call) && open_ones.count) {
    const Requests requests = requests_of(call, arguments);
    for (int i = 0; i < requests.count; ++i) {
      const Word place = requests.first + i * handle_size(), request = handle_at(place);
      if (is_open(request)) ending.push({place, request});
    }
  }
  // Nobody hears of the end of a request that is given back.
  if (call == abi::MpiCall::Request_free && is_open(handle_at(arguments[0]))) open_for_good = true;
  if (prepared_request(call) >= 0) open_for_good = true;
  pthread_mutex_unlock(&open_lock);
}

void after_open_ones(abi::MpiCall call, const Word* arguments) {
  pthread_mutex_lock(&open_lock);
  for (const Lent& one : ending)
    if (is_null_request(handle_at(one.place))) close(one.request);
  ending.count = 0;
  if (goes_on(call))
    if (const Word request =
            handle_at(arguments[abi::call_facts(static_cast<std::size_t>(call)).arguments - 1]);
        request && !is_null_request(request) && !is_open(request))
      open_ones.push({0, request});
  pthread_mutex_unlock(&open_lock);
}

bool collectives_open() {
  pthread_mutex_lock(&open_lock);
  const bool open = open_for_good || open_ones.count > 0;
  pthread_mutex_unlock(&open_lock);
  return open;
}

bool run_collective(abi::MpiCall call, const Word* arguments, Word& result) {
  if (starts(call)) return start(requests_of(call, arguments), result);
  if (finishes(call)) {
    lend(requests_of(call, arguments));
    if (call != abi::MpiCall::Waitall || !collective_service.wait_all(arguments, result)) return false;
    take_back();
    return true;
  }
  if (call == abi::MpiCall::Request_free) {
    collective_service.released(handle_at(arguments[0]));
    return false;
  }
  if (call == abi::MpiCall::Comm_free || call == abi::MpiCall::Comm_disconnect) {
    if (Word handle = handle_at(arguments[0]); collective_service.freed && !mpi_null(handle))
      collective_service.freed(handle);
    return false;
  }
  return collective_service.call(call, arguments, result);
}

void after_call(abi::MpiCall call, const Word* arguments, Word result) {
  if (finishes(call)) return take_back();
  const int place = made_communicator(call);
  if (static_cast<int>(result) != 0) return;
  if (const int request = prepared_request(call); request >= 0)
    collective_service.prepared(call, arguments, handle_at(arguments[request]));
  if (place < 0) return;
  Word handle = handle_at(arguments[place]);
  if (handle && !mpi_null(handle)) collective_service.made(handle);
}

}  // namespace weft::lib
