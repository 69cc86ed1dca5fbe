// Locks of files are the host's, each owner's on an open file description of its own. A rank's owners are its
// processes.
#pragma once

#include <functional>
#include <map>
#include <utility>

#include "host/storage_request.hpp"

namespace weft::host {

class FileLocks {
 public:
  FileLocks() = default;
  ~FileLocks();
  FileLocks(const FileLocks&) = delete;
  FileLocks& operator=(const FileLocks&) = delete;

  /// Told where some of a file's may have come free.
  std::function<void(const storage::Inode&)> on_free;

  // 0 or a negative errno; -EINPROGRESS: whoever asks must wait.
  std::int32_t lock(const FileRequest& request, OpenFile& file, std::uint64_t size);
  std::int32_t lock_whole(const FileRequest& request, OpenFile& file);
  /// Closing any of an owner's descriptors of a file ends all of its locks there. Were there any?
  bool closed(const OpenFile& file, std::uint64_t owner);
  /// Owners from a number to before another are gone, with their locks. Were there any?
  bool gone(std::uint64_t first, std::uint64_t end);

 private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> locks_;  // by owner and file: a description
};

}  // namespace weft::host
