// What a rank asks of the machine's file system (Call::Storage): arguments in its record, and for calls that
// name files by path a PathCall in its memory with the paths behind it.
//
//   by file: argument 0: FileCall | file << 32; 1: address; 2: length; 3: offset or another number
//   by path: argument 0: FileCall; 1: address of a PathCall; 2: its bytes, with the paths
//
// Paths are below the mount point and have no "." or ".."; the mount point itself is "".
#pragma once

#include <cstdint>

namespace weft::abi {

enum class FileCall : std::uint32_t {
  // By file.
  Read = 0,    // -> bytes
  Write,       // -> bytes, offset behind them
  ReadParts,   // address and number of iovecs; else as Read
  WriteParts,
  Sync,
  Status,      // into a struct stat at the address
  Close,       // 3: 1 where it is the process's last descriptor of this open file
  Truncate,    // 3: size
  Allocate,    // 2: length, 3: offset
  List,        // entries of a directory from number 3 on, into 2 bytes at the address -> bytes, entries
  SetMode,     // 3: mode
  SetOwner,    // 3: user << 32 | group
  SetTimes,    // timespec[2] at the address
  Lock,        // struct flock at the address, 2: fcntl's command
  LockWhole,   // 3: flock's operation
  Touch,       // a mapping of 2 bytes from 3 on is read, or where the address is not 0 written back
  Adopt,       // 3: a descriptor of the process that another one has opened -> file
  LastByFile = Adopt,
  // By path.
  Open,        // flags, mode; the file's name on the host into `out` -> file
  StatusAt,    // flags; struct stat into `out`
  Access,      // flags, mode
  MakeFolder,  // mode
  Remove,      // flags
  Rename,      // flags; second path
  Link,        // second path
  SymbolicLink,  // second path: what it is to say
  ReadLink,    // into `out` -> bytes
  SetModeAt,   // mode
  SetOwnerAt,  // flags; value: user, group
  SetTimesAt,  // flags; value: seconds and nanoseconds of both
  TruncateAt,  // value: size
  Space,       // struct statfs into `out`
  Last = Space,
};

struct PathCall {
  std::uint32_t flags, mode;
  std::int64_t value[4];
  std::uint64_t out, out_bytes;
  std::uint32_t first, second;  // bytes of the paths that follow, without ends
};

inline constexpr std::uint32_t kLongestPath = 4096;
inline constexpr std::uint64_t kAtEnd = ~std::uint64_t{0};  // offset of a write that appends
inline constexpr std::uint64_t kMostAtOnce = 64u << 20;     // bytes of a read or write; more are several

/// Where programs see it, in the header of a segment.
struct Mount {
  std::uint32_t length;  // of the path; 0: there is no file system
  char path[124];        // such as /weft
  char root[256];        // folder of the host with its files; empty until somebody uses it
};

/// An entry of a directory, as List writes it; entries follow each other.
struct FolderEntry {
  std::uint64_t number;  // of the file
  std::uint16_t bytes;   // of this entry with its name
  std::uint8_t type;     // DT_REG, ...
  char name[5];          // and more, with an end
};

}  // namespace weft::abi
