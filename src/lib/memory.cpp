// The functions of weft.h for memory: registration, its cache, protection domains.
//
// The port's lock is never held while the simulator is asked: a thread that waits for the lock would keep
// virtual time from moving on.
#include <errno.h>

#include "lib/places.hpp"
#include "lib/port.hpp"

using weft::abi::Call;
using weft::abi::Thread;
namespace abi = weft::abi;
using weft::lib::Locked;
using weft::lib::Timed;
namespace lib = weft::lib;
namespace mpi = weft::mpi;

namespace {

int ask(weft_port* p, Thread& thread, Call call) {
  return lib::ask(thread, call, p->index, abi::kNoDeadline, abi::kNoRank);
}

int ask(weft_port* p, Thread& thread, Call call, std::uint64_t argument) {
  thread.argument[0] = argument;
  return ask(p, thread, call);
}

int ask_to_register(weft_port* p, Thread& thread, Call call, const void* base, size_t length, unsigned rights,
                    std::uint64_t simulated = 0) {
  thread.argument[1] = length;
  thread.argument[2] = rights;
  thread.argument[3] = simulated;
  return ask(p, thread, call, reinterpret_cast<std::uint64_t>(base));
}

int register_cached(weft_port* p, void* base, size_t length, unsigned rights, weft_memory* memory,
                    bool anywhere) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  if (!memory) return -EINVAL;
  Timed timed(*thread);
  lib::Place place = lib::place_of(base, length, p->header->limits.page);
  std::uint64_t simulated = anywhere ? place.simulated : 0;
  if (p->registrations.on()) {
    bool moved = false;
    {
      Locked locked(p);
      lib::move_on(*thread, p->header->costs.registration_hit);
      mpi::Registration* r = p->registrations.take(place, length, rights, anywhere);
      if (r) {
        moved = r->place.number != place.number;
        r->place = place;
      }
      *memory = {p->self, r ? r->key : 0};
    }
    if (moved) {
      thread->argument[1] = reinterpret_cast<std::uint64_t>(base);
      return ask(p, *thread, Call::MoveMemory, memory->key);
    }
    if (memory->key) return 0;
  }
  int result = ask_to_register(p, *thread, Call::Register, base, length, rights, simulated);
  while (result == -ENOSPC) {  // what is only kept for later makes room
    std::uint64_t idle;
    {
      Locked locked(p);
      idle = p->registrations.drop_idle();
    }
    if (!idle) break;
    ask(p, *thread, Call::Unregister, idle);
    result = ask_to_register(p, *thread, Call::Register, base, length, rights, simulated);
  }
  if (result != 0) return result;
  *memory = {p->self, thread->answer[0]};
  if (p->registrations.on()) {
    std::uint64_t dropped;
    {
      Locked locked(p);
      dropped = p->registrations.add(place, length, rights, memory->key);
    }
    if (dropped) ask(p, *thread, Call::Unregister, dropped);
  }
  return 0;
}

}  // namespace

extern "C" {

int weft_register(weft_port* p, void* base, size_t length, unsigned rights, weft_memory* memory) {
  return register_cached(p, base, length, rights, memory, false);
}

int weft_register_anywhere(weft_port* p, void* base, size_t length, unsigned rights, weft_memory* memory) {
  return register_cached(p, base, length, rights, memory, true);
}

int weft_unregister(weft_port* p, uint64_t key) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  Timed timed(*thread);
  {
    Locked locked(p);
    if (mpi::Registration* r = p->registrations.find(key)) {
      lib::move_on(*thread, p->header->costs.registration_hit);
      if (r->users > 1) {
        --r->users;
        return 0;
      }
      r->key = 0;
    }
  }
  return ask(p, *thread, Call::Unregister, key);
}

int weft_release(weft_port* p, uint64_t key) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  Timed timed(*thread);
  {
    Locked locked(p);
    if (mpi::Registration* r = p->registrations.find(key)) {
      lib::move_on(*thread, p->header->costs.registration_hit);
      if (!r->users) return -ENOENT;
      --r->users;
      return 0;
    }
  }
  return ask(p, *thread, Call::Unregister, key);
}

int weft_join_domain(weft_port* p, uint32_t domain) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  Timed timed(*thread);
  int result = ask(p, *thread, Call::Join, domain);
  if (result == 0) p->domain = domain;
  return result;
}

int weft_register_global(weft_port* p, void* base, size_t length, unsigned rights, weft_memory* memory) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  if (!memory) return -EINVAL;
  Timed timed(*thread);
  int result = ask_to_register(p, *thread, Call::RegisterGlobal, base, length, rights);
  if (result == 0) *memory = {{p->self.node, p->domain}, thread->answer[0]};
  return result;
}

int weft_unregister_global(weft_port* p, uint64_t key) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  Timed timed(*thread);
  return ask(p, *thread, Call::UnregisterGlobal, key);
}

int weft_move_global(weft_port* p, uint64_t key, void* base) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  Timed timed(*thread);
  thread->argument[1] = reinterpret_cast<std::uint64_t>(base);
  return ask(p, *thread, Call::MoveGlobal, key);
}

int weft_physical(weft_port* p, uint64_t key, uint64_t offset, uint64_t* address) {
  Thread* thread = lib::this_thread();
  if (!p || !thread) return -ENODEV;
  if (!address) return -EINVAL;
  Timed timed(*thread);
  thread->argument[1] = offset;
  int result = ask(p, *thread, Call::Physical, key);
  if (result == 0) *address = thread->answer[0];
  return result;
}
}
