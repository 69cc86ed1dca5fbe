#include "host/open_files.hpp"

namespace weft::host {

std::uint32_t OpenFiles::add(storage::Inode& inode, int flags, std::uint32_t user, pid_t process) {
  std::uint32_t number = size();
  if (free_.empty()) {
    files_.push_back(nullptr);
  } else {
    number = free_.back();
    free_.pop_back();
  }
  files_[number] = std::make_unique<OpenFile>();
  files_[number]->inode = &inode;
  files_[number]->flags = flags;
  files_[number]->rank = user;
  files_[number]->process = process;
  return number;
}

void OpenFiles::remove(std::uint32_t number) {
  files_[number] = nullptr;
  free_.push_back(number);
}

}  // namespace weft::host
