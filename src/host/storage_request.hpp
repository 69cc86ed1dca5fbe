// Calls for files as ranks make them (abi/storage.hpp), and the files they have open.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "abi/storage.hpp"
#include "host/request.hpp"
#include "host/scheduler.hpp"
#include "storage/extents.hpp"
#include "storage/tree.hpp"

namespace weft::host {

/// As a program has it open.
struct OpenFile {
  storage::Inode* inode = nullptr;
  int flags = 0;
  std::uint32_t rank = 0;
  pid_t process = 0;    // that has opened it
  int whole_lock = -1;  // a description of its own, for flock
  std::vector<storage::Tree::Entry> entries;
  bool listed = false;
};
/// A call of a thread, from when it is read until it is answered.
struct FileRequest {
  FileCall call{};
  std::uint32_t file = 0;
  pid_t process = 0;        // whose memory is meant; 0: the simulator's own, for those who ask from here
  std::uint64_t owner = 0;  // of locks
  std::uint64_t address = 0, length = 0, offset = 0;
  std::vector<iovec> parts;  // of the process's memory
  PathCall path{};
  std::string first, second;
  std::uint64_t answer[2] = {};
  bool confined = false;             // no symbolic link is followed: who asks is not trusted with the host
  struct stat* facts = nullptr;      // of what a call that names one path has made
  storage::Inode* opens = nullptr;   // a file that the program opens after this call
  std::vector<std::uint64_t> syncs;  // by server: pieces that are durable after this call
  std::uint64_t syncs_changes = 0;   // and changes of metadata
  // Where nodes keep data of files.
  enum class Stage { Works, Flushes, Tells };
  struct Flush {
    std::uint64_t file;
    std::vector<storage::Extents::Range> ranges;
  };
  Stage stage = Stage::Works;
  std::vector<Flush> flushes;                    // before it begins
  bool kept = false;                             // its data is in the node's memory in the end
  std::vector<storage::Extents::Range> fetches;  // into it
};

/// What the service calls an operation of a thread.
inline std::uint64_t token_of(ThreadRef t) { return std::uint64_t{t.rank} << 8 | t.thread; }
inline ThreadRef thread_of(std::uint64_t token) {
  return {static_cast<std::uint32_t>(token >> 8), static_cast<std::uint32_t>(token & 255)};
}

/// What a thread asks for; a negative errno where it cannot be read.
std::int32_t read_request(const Request& request, bool file_is_known, FileRequest& out);

// Data between the process's memory, from some of its bytes on, and ours; false where it cannot be reached.
bool copy_from(const FileRequest& request, std::uint64_t skip, std::span<char> to);
bool copy_to(const FileRequest& request, std::uint64_t skip, std::span<const char> from);
/// Who is not trusted with the host's files is led nowhere by a symbolic link: 0 or a negative errno.
std::int32_t refuse_path(const FileRequest& request, storage::Tree& tree);

/// From memory of who asks: 0, or -EFAULT.
std::int32_t fetch(const FileRequest& request, std::uint64_t address, void* to, std::uint64_t bytes);
/// 0, or -EFAULT.
std::int32_t put(const FileRequest& request, std::uint64_t address, const void* from, std::uint64_t bytes);

}  // namespace weft::host
