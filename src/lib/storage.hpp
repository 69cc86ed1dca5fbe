// Files of the machine's file system, as a process sees them.
//
// A path below the mount point never reaches the host's kernel as it is. A descriptor is one of the host's
// own, of the file that holds the data there, so that numbers never collide, offsets are shared as they
// should be, and maps and children find what they expect; what is read and written through it goes to the
// simulator, which lets it take its time. Who has no virtual time (a thread of the MPI library, a process
// that a rank has started and does not wait for) works on the host's files directly, for nothing.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "abi/storage.hpp"
#include "lib/rank_thread.hpp"

namespace weft::lib {

/// The thread in whose time a call takes place: its own, or that of a rank that waits for this process.
class StorageCaller {
 public:
  StorageCaller();
  ~StorageCaller();
  StorageCaller(const StorageCaller&) = delete;
  StorageCaller& operator=(const StorageCaller&) = delete;
  explicit operator bool() const { return thread_ != nullptr; }

  /// 0 or a negative errno; `answer` has two words, or is null.
  int ask(abi::FileCall call, std::uint32_t file, std::uint64_t address, std::uint64_t length,
          std::uint64_t offset, std::uint64_t* answer = nullptr);

 private:
  abi::Thread* thread_;
  bool borrowed_ = false;
};

/// Where a path leads.
class Where {
 public:
  Where(int folder, const char* path);
  explicit Where(const char* path) : Where(AT_FDCWD, path) {}

  bool inside() const { return inside_; }
  /// Below the mount point, without a slash in front; the mount point itself is "".
  const char* below() const { return text_ + start_; }
  /// For the host's own call where it is not inside.
  const char* path() const { return outside_; }
  /// The file that stands for it on the host.
  const char* host(char (&out)[abi::kLongestPath + 256]) const;

  struct Details {
    std::uint32_t flags = 0, mode = 0;
    std::int64_t value[4] = {};
    void* out = nullptr;
    std::uint64_t out_bytes = 0;
  };
  int ask(StorageCaller& caller, abi::FileCall call, const Details& details, const char* second = "",
          std::uint64_t* answer = nullptr) const;

 private:
  bool inside_ = false;
  unsigned start_ = 0;
  const char* outside_;
  char text_[abi::kLongestPath];
};

/// Is there a file system in this run?
const abi::Mount* mount();

// Descriptors.
inline constexpr int kMostDescriptors = 65'536;
extern std::uint32_t storage_table[kMostDescriptors];  // by descriptor: 0, or one of the file system's
inline bool is_storage(int file) {
  return static_cast<unsigned>(file) < kMostDescriptors && storage_table[file] != 0;
}
/// The simulator's number of the open file; false where it has none and cannot be given one.
bool storage_file(StorageCaller& caller, int descriptor, std::uint32_t& file);
int storage_open(const Where& where, int flags, mode_t mode);
/// As read and write and their like do, at an offset or, where it is -1, at the descriptor's own.
ssize_t storage_move(abi::FileCall call, int descriptor, const void* memory, std::size_t length,
                     off_t offset);
/// A call by descriptor that has no answer but how it went; kOnHost: it is for the host's own.
inline constexpr int kOnHost = 1;
int storage_ask(int descriptor, abi::FileCall call, std::uint64_t address, std::uint64_t length,
                std::uint64_t offset);
/// A descriptor is another one's copy, or gone.
void storage_copied(int from, int to);
void storage_closed(int descriptor);

/// -1 and errno of a negative result.
inline int failure(int result) {
  if (result >= 0) return result;
  errno = -result;
  return -1;
}

/// A stream on a path below the mount point, or on one of its descriptors.
FILE* storage_stream(const Where& where, const char* mode);

}  // namespace weft::lib
