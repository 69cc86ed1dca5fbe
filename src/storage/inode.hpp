// A file as the simulator knows it, beside what the host's own has.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::storage {

/// Seconds since 1970, and nanoseconds.
struct FileTime {
  std::int64_t seconds = 0, nanoseconds = 0;
};

struct Inode {
  std::uint64_t number = 0;  // as programs see it
  ino_t host = 0;            // its number there
  FileTime accessed, modified, changed;
  int data = -1;  // the simulator's own descriptor, while somebody has it open
  std::uint32_t opens = 0, opening = 0;
  bool linked = true, stamped = true;             // it has a name; the host's times are these
  std::int32_t mode = -1;                         // that it is to have, where it has another for a moment
  std::string spare;                              // a name it was given because it had lost its own
  std::uint32_t hidden = 0;                       // names that a power cut would give back
  std::uint64_t reserved_end = 0;                 // of data that is being written behind its end
  std::uint32_t first_blocks = 0;                 // of the first stripe unit, the only one of small files
  std::map<std::uint64_t, std::uint32_t> blocks;  // of the others
  struct Opener {
    std::uint32_t node;
    int opens, writers;
  };
  std::vector<Opener> openers;                // nodes that have it open, where nodes keep data of files
  std::uint64_t version = 0;                  // of its data
  std::vector<std::uint64_t> taken, flushed;  // by server: pieces it took, and those known to be durable
};

}  // namespace weft::storage
