// Collective calls of a program, handed to the interface where it can run them.
#include "lib/offload/calls.hpp"

#include <stdio.h>
#include <unistd.h>

#include <bit>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "lib/mpi_collectives.hpp"
#include "lib/mpi_communicators.hpp"
#include "lib/mpi_start.hpp"
#include "lib/offload/group.hpp"
#include "lib/rank_thread.hpp"

namespace weft::offload {

using abi::Fallback;
using abi::MpiCall;
using abi::Offloaded;
using abi::Thread;

namespace {

/// A communicator that was looked at: it has a group, or a reason why not.
struct Known {
  std::unique_ptr<Group> group;
  Fallback why = Fallback::Communicator;
};
std::unordered_map<Word, Known>& known() {
  static std::unordered_map<Word, Known> all;
  return all;
}

const abi::CollectiveModel& model() { return lib::mpi_port()->header->mpi.collectives; }
abi::CollectiveSums& sums() { return lib::mpi_port()->header->sums.collectives; }

/// A call in one form, whichever it is.
struct Call {
  Offloaded what{};
  MpiCall base{};  // the blocking call of its kind
  Word communicator = 0, send = 0, receive = 0, send_type = 0, receive_type = 0, operation = 0;
  int send_count = 0, receive_count = 0, root = 0;
  Word* request = nullptr;  // where it does not wait
};

/// False: no call that interfaces run.
bool read(MpiCall call, const Word* a, Call& c) {
  auto number = [&](int i) { return static_cast<int>(a[i]); };
  auto request = [&](int i) { return reinterpret_cast<Word*>(a[i]); };
  switch (call) {
    case MpiCall::Ibarrier:
      c.request = request(1);
      [[fallthrough]];
    case MpiCall::Barrier:
      c.what = Offloaded::Barrier;
      c.base = MpiCall::Barrier;
      c.communicator = a[0];
      return true;
    case MpiCall::Ibcast:
      c.request = request(5);
      [[fallthrough]];
    case MpiCall::Bcast:
      c.what = Offloaded::Broadcast;
      c.base = MpiCall::Bcast;
      c.send = c.receive = a[0];
      c.send_count = c.receive_count = number(1);
      c.send_type = c.receive_type = a[2];
      c.root = number(3);
      c.communicator = a[4];
      return true;
    case MpiCall::Ireduce:
      c.request = request(7);
      [[fallthrough]];
    case MpiCall::Reduce:
      c.what = Offloaded::Reduce;
      c.base = MpiCall::Reduce;
      c.send = a[0];
      c.receive = a[1];
      c.send_count = c.receive_count = number(2);
      c.send_type = c.receive_type = a[3];
      c.operation = a[4];
      c.root = number(5);
      c.communicator = a[6];
      return true;
    case MpiCall::Iallreduce:
      c.request = request(6);
      [[fallthrough]];
    case MpiCall::Allreduce:
      c.what = Offloaded::AllReduce;
      c.base = MpiCall::Allreduce;
      c.send = a[0];
      c.receive = a[1];
      c.send_count = c.receive_count = number(2);
      c.send_type = c.receive_type = a[3];
      c.operation = a[4];
      c.communicator = a[5];
      return true;
    case MpiCall::Igather:
      c.request = request(8);
      [[fallthrough]];
    case MpiCall::Gather:
      c.what = Offloaded::Gather;
      c.base = MpiCall::Gather;
      c.send = a[0];
      c.send_count = number(1);
      c.send_type = a[2];
      c.receive = a[3];
      c.receive_count = number(4);
      c.receive_type = a[5];
      c.root = number(6);
      c.communicator = a[7];
      return true;
    default:
      return false;
  }
}

std::size_t bytes_of(int count, Word type) { return static_cast<std::size_t>(count) * lib::type_bytes(type); }

/// The processor copies what it gives to the interface and takes from it.
void pay_copy(Thread& thread, std::size_t bytes) {
  const std::int64_t rate = model().copy_bits_per_second;
  if (bytes && rate > 0)
    lib::move_on(thread,
                 static_cast<std::int64_t>(static_cast<__int128>(bytes) * 8 * 1'000'000'000'000 / rate));
}

std::vector<std::uint8_t> packed(Word buffer, int count, Word type, Word communicator) {
  std::vector<std::uint8_t> out(bytes_of(count, type));
  if (out.empty()) return out;
  if (is_plain(type)) {
    std::memcpy(out.data(), reinterpret_cast<const void*>(buffer), out.size());
    return out;
  }
  int position = 0;
  call("PMPI_Pack", buffer, Word{count}, type, out.data(), static_cast<Word>(out.size()), &position,
       communicator);
  return out;
}

void unpack(const std::uint8_t* data, std::size_t bytes, Word buffer, int count, Word type,
            Word communicator) {
  if (!bytes) return;
  if (is_plain(type)) {
    std::memcpy(reinterpret_cast<void*>(buffer), data, bytes);
    return;
  }
  int position = 0;
  call("PMPI_Unpack", data, static_cast<Word>(bytes), &position, buffer, Word{count}, type, communicator);
}

/// Puts the result where the program wants it; once.
void hand_over(Operation& o, const Group& group) {
  if (o.unpacked) return;
  o.unpacked = true;
  if (!(o.hears || o.for_many) || !o.buffer || o.result.empty()) return;
  if (Thread* thread = lib::thread_if_any()) pay_copy(*thread, o.result.size());
  if (!o.gathers) return unpack(o.result.data(), o.result.size(), o.buffer, o.count, o.type, o.communicator);
  const std::size_t block = o.result.size() / static_cast<std::size_t>(group.size());
  std::size_t at = 0;
  for (std::uint32_t rank : group.gathered_order()) {
    unpack(o.result.data() + at, block, o.buffer + static_cast<Word>(rank) * o.stride, o.count, o.type,
           o.communicator);
    at += block;
  }
}

/// A collective that the program waits for later, behind a generalised request of the library.
struct Deferred {
  Operation operation;
  Group* group;
  Word handle = 0;  // of its request
};

int query(void* extra, void* status) {
  auto* deferred = static_cast<Deferred*>(extra);
  hand_over(deferred->operation, *deferred->group);
  call("PMPI_Status_set_elements", status, lib::mpi_byte(), Word{0});
  call("PMPI_Status_set_cancelled", status, Word{0});
  return 0;
}
/// Requests that are ours, by the library's handle.
std::unordered_set<Word>& deferred_requests() {
  static std::unordered_set<Word> all;
  return all;
}
int forget(void* extra) {
  auto* deferred = static_cast<Deferred*>(extra);
  deferred_requests().erase(deferred->handle);
  delete deferred;
  return 0;
}

/// MPICH 4.0 ends the program where generalised requests are waited for together with others: one after the
/// other is the same to a program.
bool wait_all(const Word* arguments, Word& result) {
  if (deferred_requests().empty() || !lib::is_mpich()) return false;
  constexpr Word kIgnored = 1, kStatusBytes = 20;  // MPI_STATUSES_IGNORE; a status of MPICH
  const auto count = static_cast<int>(arguments[0]);
  auto* requests = reinterpret_cast<std::int32_t*>(arguments[1]);
  bool ours = false;
  for (int i = 0; i < count; ++i) ours |= deferred_requests().contains(lib::mpi_handle(requests[i]));
  if (!ours) return false;
  result = 0;
  for (int i = 0; i < count; ++i) {
    const Word status = arguments[2] == kIgnored ? kIgnored : arguments[2] + i * kStatusBytes;
    if (const int error = call("PMPI_Wait", requests + i, status); error && !result) result = error;
  }
  return true;
}
int cancel(void*, int) { return 0; }

void made(Word communicator) {
  Thread* thread = lib::thread_if_any();
  const Word handle = lib::mpi_handle(communicator);
  if (!thread || !lib::mpi_port()) return;
  Known& entry = known()[handle];
  entry = {};
  int two_sides = 0, rank = 0, size = 0;
  call("PMPI_Comm_test_inter", handle, &two_sides);
  if (two_sides) return;
  call("PMPI_Comm_rank", handle, &rank);
  call("PMPI_Comm_size", handle, &size);
  entry.why = Fallback::Alone;
  if (size < 2) return;
  entry.group = std::make_unique<Group>(handle, lib::mpi_port(), rank, size);
  entry.why = Fallback::NoTrigger;
  if (!entry.group->join(*thread)) entry.group.reset();
}

/// A communicator that came about without a call in which all its members could have met, as by
/// MPI_Comm_idup, is met in the first collective that may wait for all of them: a blocking one. All members
/// call that one. Until then, those that do not wait are the library's.
Known* known_by(const Call& c) {
  const Word handle = lib::mpi_handle(c.communicator);
  auto found = known().find(handle);
  if (found != known().end()) return &found->second;
  if (c.request) return nullptr;
  made(handle);
  found = known().find(handle);
  return found == known().end() ? nullptr : &found->second;
}

/// A persistent collective. Members match by what they have prepared, not by what they start: so each has a
/// group, and sequences, of its own.
struct Persistent {
  Offloaded what{};
  Call call;
  std::unique_ptr<Group> group;
  Word stands_in = 0;  // the request of the start under way
};
std::unordered_map<Word, Persistent>& persistent() {
  static std::unordered_map<Word, Persistent> all;
  return all;
}

/// The call that starts at once what another prepares.
MpiCall started_call(MpiCall prepares) {
  switch (prepares) {
    case MpiCall::Barrier_init:
      return MpiCall::Barrier;
    case MpiCall::Bcast_init:
      return MpiCall::Bcast;
    case MpiCall::Reduce_init:
      return MpiCall::Reduce;
    case MpiCall::Allreduce_init:
      return MpiCall::Allreduce;
    default:
      return MpiCall::Gather;
  }
}

/// A broadcast that is long enough to be sent once, for all.
bool is_block(const Call& c, const Group& group, std::size_t bytes) {
  return c.what == Offloaded::Broadcast && group.multicasts() && bytes >= model().multicast_from;
}

/// Whether the interface runs it; all members come to the same answer.
bool can_run(const Call& c, const Group& group, std::size_t bytes, nic::RoundKind& kind, Fallback& why) {
  const auto what = static_cast<unsigned>(c.what);
  const unsigned ranks = std::min<unsigned>(std::bit_width(static_cast<unsigned>(group.size()) - 1u),
                                            abi::CollectiveModel::kRankClasses - 1);
  const std::uint32_t most = model().most[what][ranks];
  if (c.what == Offloaded::Reduce || c.what == Offloaded::AllReduce) {
    kind.combine = combine_of(c.operation);
    kind.type = type_facts(c.send_type).element;
    why = Fallback::NoUnits;
    if (!model().units) return false;
    why = Fallback::Operation;
    if (kind.combine == nic::Combine::None) return false;
    why = Fallback::Type;
    if (!units_have(c.send_type, c.operation)) return false;
  }
  if (c.what == Offloaded::Gather) kind.combine = nic::Combine::Concatenate;
  if (is_block(c, group, bytes)) return true;
  why = Fallback::TooLong;
  if (c.what == Offloaded::Gather && bytes * static_cast<std::size_t>(group.size()) > group.piece())
    return false;
  const std::size_t pieces = (bytes + group.piece() - 1) / group.piece();
  if (c.what != Offloaded::AllReduce && pieces > model().rounds / 2) return false;
  if (bytes < most) return true;
  why = model().by_table ? Fallback::Table : Fallback::TooLong;
  return false;
}

/// Arguments the library complains about are its own.
bool makes_sense(const Call& c, const Group& group) {
  if (c.what == Offloaded::Barrier) return true;
  const bool roots = c.what != Offloaded::AllReduce;
  if (roots && (c.root < 0 || c.root >= group.size())) return false;
  const bool at_root = roots && c.root == group.rank();
  const bool gives = c.what != Offloaded::Broadcast || at_root;
  const bool gets = c.what == Offloaded::AllReduce || (c.what == Offloaded::Broadcast ? !at_root : at_root);
  const bool own_is_sent = gives && !is_in_place(c.send);
  if (own_is_sent && (c.send_count < 0 || lib::mpi_null(c.send_type))) return false;
  if (gets && (c.receive_count < 0 || lib::mpi_null(c.receive_type) || is_in_place(c.receive))) return false;
  if (own_is_sent && c.send_count > 0 && !c.send && is_plain(c.send_type)) return false;
  return true;
}

/// A block goes from memory to memory; what does not lie in one piece is put together first.
void begin_block(Thread& thread, const Call& c, Group& group, std::size_t bytes, Operation& o) {
  const bool at_root = c.root == group.rank();
  o.for_many = o.posts = true;
  o.hears = at_root;
  o.stream = Stream::Inward;
  o.rounds = 2;
  o.block_bytes = bytes;
  o.buffer = 0;
  if (is_plain(c.send_type)) {
    o.block = reinterpret_cast<std::uint8_t*>(c.send);
  } else if (at_root) {
    o.data = packed(c.send, c.send_count, c.send_type, c.communicator);
    pay_copy(thread, bytes);
    o.block = o.data.data();
  } else {
    o.result.resize(bytes);
    o.block = o.result.data();
    o.buffer = c.receive;
  }
  weft_memory memory{};
  if (weft_register_anywhere(lib::mpi_port(), o.block, bytes, nic::kRemoteRead, &memory) != 0) {
    fprintf(stderr, "weft: rank %u: a broadcast of %zu bytes: its memory cannot be registered\n",
            lib::mpi_port()->header->rank, bytes);
    _exit(1);
  }
  o.block_key = memory.key;
  lib::move_on(thread, lib::mpi_port()->header->mpi.send_cost);
  group.begin(thread, o);
}

void begin(Thread& thread, const Call& c, Group& group, std::size_t bytes, const nic::RoundKind& kind,
           Operation& o) {
  const bool at_root = c.root == group.rank();
  o.what = c.what;
  o.kind = kind;
  o.kind.call = static_cast<std::uint16_t>(c.base);
  o.kind.root =
      c.what == Offloaded::Barrier || c.what == Offloaded::AllReduce ? 0 : static_cast<std::uint32_t>(c.root);
  o.communicator = c.communicator;
  o.piece = group.piece();
  if (nic::needs_units(kind.combine)) o.piece -= o.piece % nic::element_bytes(kind.type);
  o.rounds = static_cast<std::uint32_t>(bytes ? (bytes + o.piece - 1) / o.piece : 1);
  o.buffer = c.receive;
  o.type = c.receive_type;
  o.count = c.receive_count;
  if (is_block(c, group, bytes)) return begin_block(thread, c, group, bytes, o);
  Word from = c.send;
  int count = c.send_count;
  Word type = c.send_type;
  switch (c.what) {
    case Offloaded::Barrier:
    case Offloaded::AllReduce:
      o.stream = Stream::Both;
      o.posts = o.hears = true;
      if (is_in_place(from)) from = c.receive;
      break;
    case Offloaded::Broadcast:
      o.stream = Stream::Outward;
      o.posts = at_root;
      o.hears = !at_root;
      break;
    case Offloaded::Reduce:
      o.stream = Stream::Inward;
      o.posts = true;
      o.hears = at_root;
      if (is_in_place(from)) from = c.receive;
      break;
    case Offloaded::Gather:
      o.stream = Stream::Inward;
      o.posts = true;
      o.hears = o.gathers = at_root;
      if (at_root) {
        std::int64_t lower = 0, extent = 0;
        call("PMPI_Type_get_extent", c.receive_type, &lower, &extent);
        o.stride = extent * c.receive_count;
        if (is_in_place(from)) {
          from = c.receive + static_cast<Word>(o.stride) * group.rank();
          count = c.receive_count;
          type = c.receive_type;
        }
      }
      break;
  }
  const abi::MpiModel& costs = lib::mpi_port()->header->mpi;
  lib::move_on(thread, costs.send_cost);
  if (o.posts && bytes) {
    o.data = packed(from, count, type, c.communicator);
    pay_copy(thread, bytes);
  }
  group.begin(thread, o);
}

/// What a member gives is as long as what the root takes from it, in bytes.
std::size_t bytes_of(const Call& c, const Group& group) {
  const bool by_receive = c.what == Offloaded::Gather && c.root == group.rank() && is_in_place(c.send);
  return c.what == Offloaded::Barrier ? 0
         : by_receive                 ? bytes_of(c.receive_count, c.receive_type)
                                      : bytes_of(c.send_count, c.send_type);
}

/// Begins a collective that the program waits for later; the request that stands for it.
Word defer(Thread& thread, const Call& c, Group& group, std::size_t bytes, const nic::RoundKind& kind) {
  auto* deferred = new Deferred{{}, &group, 0};
  Word request = 0;
  call("PMPI_Grequest_start", query, forget, cancel, deferred, &request);
  deferred->operation.request = deferred->handle = lib::mpi_handle(request);
  deferred_requests().insert(deferred->handle);
  begin(thread, c, group, bytes, kind, deferred->operation);
  return request;
}

void count(Offloaded kind, const Group& group) {
  const auto what = static_cast<unsigned>(kind);
  ++sums().offloaded[what];
  if (!model().reduction || (kind != Offloaded::Barrier && kind != Offloaded::AllReduce)) return;
  ++(group.in_routers() ? sums().in_routers[what]
                        : sums().not_in_routers[static_cast<unsigned>(group.why_not_in_routers())]);
}

bool carry_out(MpiCall name, const Word* arguments, Word& result) {
  Call c;
  Thread* thread = lib::thread_if_any();
  if (!thread) return false;
  if (!read(name, arguments, c)) {
    if (abi::call_facts(static_cast<std::size_t>(name)).communicator >= 0 &&
        name <= MpiCall::Neighbor_alltoallv)
      ++sums().other;
    return false;
  }
  if (lib::mpi_null(c.communicator)) return false;  // the library complains
  const auto what = static_cast<unsigned>(c.what);
  const Known* entry = known_by(c);
  Group* group = entry ? entry->group.get() : nullptr;
  if (!group) {
    ++sums().fallen_back[what][static_cast<unsigned>(entry ? entry->why : Fallback::NotMet)];
    return false;
  }
  if (!makes_sense(c, *group)) return false;
  const std::size_t bytes = bytes_of(c, *group);
  nic::RoundKind kind;
  Fallback why{};
  if (!can_run(c, *group, bytes, kind, why)) {
    ++sums().fallen_back[what][static_cast<unsigned>(why)];
    return false;
  }
  count(c.what, *group);
  result = 0;
  if (!c.request) {
    Operation o;
    begin(*thread, c, *group, bytes, kind, o);
    while (!o.done) progress();
    lib::move_on(*thread, o.hears ? lib::mpi_port()->header->mpi.receive_cost : 0);
    hand_over(o, *group);
    return true;
  }
  const Word request = defer(*thread, c, *group, bytes, kind);
  if (lib::is_mpich())
    *reinterpret_cast<std::int32_t*>(c.request) = static_cast<std::int32_t>(request);
  else
    *c.request = request;
  return true;
}

/// All members come here with the same call, so they may meet.
void prepared(MpiCall name, const Word* arguments, Word request) {
  Persistent& entry = persistent()[request] = {};
  Thread* thread = lib::thread_if_any();
  if (!read(started_call(name), arguments, entry.call)) return;
  entry.what = entry.call.what;
  int two_sides = 0, rank = 0, size = 0;
  const Word handle = lib::mpi_handle(entry.call.communicator);
  call("PMPI_Comm_test_inter", handle, &two_sides);
  if (two_sides || !thread || !lib::mpi_port()) return;
  call("PMPI_Comm_rank", handle, &rank);
  call("PMPI_Comm_size", handle, &size);
  if (size < 2) return;
  entry.group = std::make_unique<Group>(handle, lib::mpi_port(), rank, size);
  if (!entry.group->join(*thread)) entry.group.reset();
}

bool started(Word request) {
  if (persistent().empty()) return false;
  const auto found = persistent().find(request);
  if (found == persistent().end()) return false;
  Persistent& entry = found->second;
  Thread* thread = lib::thread_if_any();
  const auto what = static_cast<unsigned>(entry.what);
  if (!entry.group || !thread || !makes_sense(entry.call, *entry.group)) {
    ++sums().fallen_back[what][static_cast<unsigned>(Fallback::Persistent)];
    return false;
  }
  const std::size_t bytes = bytes_of(entry.call, *entry.group);
  nic::RoundKind kind;
  Fallback why{};
  if (!can_run(entry.call, *entry.group, bytes, kind, why)) {
    ++sums().fallen_back[what][static_cast<unsigned>(why)];
    return false;
  }
  count(entry.what, *entry.group);
  entry.stands_in = defer(*thread, entry.call, *entry.group, bytes, kind);
  return true;
}

Word stands_for(Word request) {
  if (persistent().empty()) return 0;
  const auto found = persistent().find(request);
  return found == persistent().end() ? 0 : found->second.stands_in;
}

void ended(Word request) {
  if (const auto found = persistent().find(request); found != persistent().end()) found->second.stands_in = 0;
}

/// Not all members give it back at one time, so nobody waits for others here: its sequences stay armed.
void released(Word request) {
  const auto found = persistent().find(request);
  if (found == persistent().end()) return;
  static_cast<void>(found->second.group.release());
  persistent().erase(found);
}

void freed(Word communicator) {
  auto found = known().find(lib::mpi_handle(communicator));
  if (found == known().end()) return;
  Thread* thread = lib::thread_if_any();
  std::unique_ptr<Group> group = std::move(found->second.group);
  known().erase(found);
  if (!group) return;
  // What is still under way ends behind the program's back; the group stays for it.
  if (!group->idle() || !thread)
    static_cast<void>(group.release());
  else
    group->leave(*thread);
}

}  // namespace

void offer_collectives() {
  lib::interfaces_combine = units_have;
  if (!lib::segment() || !lib::segment()->mpi.collectives.on) return;
  lib::collective_service = {carry_out, made,       freed, prepared, started,
                             released,  stands_for, ended, wait_all};
}

}  // namespace weft::offload
