// Files that users of the file system have open, by number; a number that is free is taken again.
#pragma once

#include <memory>
#include <vector>

#include "host/storage_request.hpp"

namespace weft::host {

class OpenFiles {
 public:
  /// Nothing where there is none of that number.
  OpenFile* find(std::uint32_t number) { return number < files_.size() ? files_[number].get() : nullptr; }
  std::uint32_t add(storage::Inode& inode, int flags, std::uint32_t user, pid_t process);
  void remove(std::uint32_t number);

  /// Numbers there are, and some that are free.
  std::uint32_t size() const { return static_cast<std::uint32_t>(files_.size()); }
  auto begin() const { return files_.begin(); }
  auto end() const { return files_.end(); }

 private:
  std::vector<std::unique_ptr<OpenFile>> files_;
  std::vector<std::uint32_t> free_;
};

}  // namespace weft::host
