// Registrations a port remembers, so that memory registered before is found without the system.
//
// An entry counts its users. Without users it is kept until its room is needed; the one unused for longest
// goes first. Entries in use stay: their users have their keys.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace weft::mpi {

/// Where the interface sees memory.
struct Place {
  std::uint64_t simulated;
  std::uint64_t number;  // no other memory ever has it
};

struct Registration {
  Place place;
  std::uint64_t length, key;  // key 0: no entry
  std::uint32_t rights, users;
  std::uint64_t last_use;
};

class RegistrationCache {
 public:
  bool make_room(std::uint32_t entries) {
    entries_ = entries ? static_cast<Registration*>(calloc(entries, sizeof(Registration))) : nullptr;
    room_ = entries;
    uses_ = 0;
    return !entries || entries_;
  }
  void give_room() { free(entries_); }
  bool on() const { return room_ != 0; }

  /// Counts a user more where it finds it. What nobody uses may also serve memory that has its simulated
  /// address now, since the other was given back; the caller tells by its number, and moves it.
  Registration* take(Place place, std::uint64_t length, std::uint32_t rights, bool may_move) {
    for (std::uint32_t i = 0; i < room_; ++i) {
      Registration& r = entries_[i];
      if (!r.key || r.length != length || r.rights != rights) continue;
      if (r.place.number != place.number && (!may_move || r.users || r.place.simulated != place.simulated))
        continue;
      ++r.users;
      r.last_use = ++uses_;
      return &r;
    }
    return nullptr;
  }

  Registration* find(std::uint64_t key) {
    for (std::uint32_t i = 0; key && i < room_; ++i)
      if (entries_[i].key == key) return &entries_[i];
    return nullptr;
  }

  /// Forgets the entry unused for longest; its key, or 0 where all have users.
  std::uint64_t drop_idle() {
    Registration* oldest = nullptr;
    for (std::uint32_t i = 0; i < room_; ++i) {
      Registration& r = entries_[i];
      if (r.key && !r.users && (!oldest || r.last_use < oldest->last_use)) oldest = &r;
    }
    if (!oldest) return 0;
    std::uint64_t key = oldest->key;
    oldest->key = 0;
    return key;
  }

  /// Remembers a new registration with one user. Returns the key that had to go for it, or 0. Where all
  /// entries have users it is not remembered.
  std::uint64_t add(Place place, std::uint64_t length, std::uint32_t rights, std::uint64_t key) {
    Registration* slot = empty();
    std::uint64_t dropped = 0;
    if (!slot && (dropped = drop_idle())) slot = empty();
    if (slot) *slot = {place, length, key, rights, 1, ++uses_};
    return dropped;
  }

 private:
  Registration* empty() {
    for (std::uint32_t i = 0; i < room_; ++i)
      if (!entries_[i].key) return &entries_[i];
    return nullptr;
  }

  Registration* entries_;
  std::uint32_t room_;
  std::uint64_t uses_;
};

}  // namespace weft::mpi
