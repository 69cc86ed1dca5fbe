#include "lib/storage.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/children.hpp"

namespace weft::lib {

using abi::FileCall;

constinit std::uint32_t storage_table[kMostDescriptors];

namespace {

constexpr std::uint32_t kInherited = 0x80000000;  // of the process that started this one, which closes it
constexpr std::uint32_t kUnknown = 0x7fffffff;    // opened before this program was started
int highest = -1;                                 // descriptor of the table
int cwd_inside = -1;                              // -1: not known

/// What of the kernel's name for a file is below the folder with the data; null: it is not there.
const char* below_root(const char* path) {
  const char* root = mount()->root;
  const size_t length = strlen(root);
  if (!length || strncmp(path, root, length) != 0 || (path[length] && path[length] != '/')) return nullptr;
  return path + length + (path[length] == '/');
}

/// The name of what a link of /proc leads to, below the mount point; null: it is elsewhere.
const char* below_link(const char* link, char (&out)[abi::kLongestPath]) {
  if (!mount()->root[0]) return nullptr;
  const ssize_t length = syscall(SYS_readlink, link, out, sizeof out - 1);
  if (length <= 0) return nullptr;
  out[length] = 0;
  return below_root(out);
}

bool in_this_process() { return static_cast<int>(syscall(SYS_getpid)) == attachment.process; }

void in_child() {
  for (int i = 0; i <= highest; ++i)
    if (storage_table[i]) storage_table[i] |= kInherited;
}

/// A program that was started with files of the file system open, as by a shell.
__attribute__((constructor(1100))) void find_open_files() {
  const abi::Mount* m = mount();
  if (!m) return;
  pthread_atfork(nullptr, nullptr, in_child);
  if (!m->root[0]) return;
  constexpr int kLooked = 256;
  char link[32], path[abi::kLongestPath];
  for (int i = 0; i < kLooked; ++i) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", i);
    if (!below_link(link, path)) continue;
    storage_table[i] = kUnknown | kInherited;
    highest = i;
  }
}

/// Adds a path to an absolute one, without ".", ".." and needless slashes. False: it is too long.
bool append(char (&text)[abi::kLongestPath], size_t& length, const char* path) {
  while (*path) {
    while (*path == '/') ++path;
    const char* end = strchrnul(path, '/');
    const auto bytes = static_cast<size_t>(end - path);
    if (bytes == 2 && path[0] == '.' && path[1] == '.') {
      while (length && text[length - 1] != '/') --length;
      if (length) --length;
    } else if (bytes && !(bytes == 1 && path[0] == '.')) {
      if (length + bytes + 2 > sizeof text) return false;
      text[length++] = '/';
      memcpy(text + length, path, bytes);
      length += bytes;
    }
    path = end;
  }
  text[length] = 0;
  return true;
}

bool is_below(const char* path, const abi::Mount& m) {
  return strncmp(path, m.path, m.length) == 0 && (path[m.length] == 0 || path[m.length] == '/');
}

}  // namespace

const abi::Mount* mount() {
  const abi::Header* header = attachment.header;
  return header && header->mount.length ? &header->mount : nullptr;
}

void working_folder_changed() { cwd_inside = -1; }

bool working_folder(char (&out)[abi::kLongestPath], const char*& below) {
  if (!mount() || !mount()->root[0] || cwd_inside == 0) return false;
  below = below_link("/proc/self/cwd", out);
  cwd_inside = below != nullptr;
  return below != nullptr;
}

// --- Who asks.

StorageCaller::StorageCaller() : thread_(virtual_thread()) {
  if (thread_) enter(*thread_);
  if (thread_ || !is_child()) return;
  // The rank may not be waiting yet, or another process of it has its turn.
  static int patience = 200;
  for (int tries = 0; tries < patience; ++tries) {
    thread_ = borrow_thread();
    if (thread_) {
      borrowed_ = true;
      patience = 200;
      return;
    }
    timespec moment{0, 100'000};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
  patience = 1;
}

StorageCaller::~StorageCaller() {
  if (!thread_) return;
  borrowed_ ? give_thread_back() : leave();
}

int StorageCaller::ask(FileCall call, std::uint32_t file, std::uint64_t address, std::uint64_t length,
                       std::uint64_t offset, std::uint64_t* answer) {
  thread_->argument[0] = static_cast<std::uint64_t>(call) | std::uint64_t{file} << 32;
  thread_->argument[1] = address;
  thread_->argument[2] = length;
  thread_->argument[3] = offset;
  const int result =
      lib::ask(*thread_, abi::Call::Storage, abi::kNoPort, abi::kNoDeadline, abi::kNoRank);
  if (answer) {
    answer[0] = thread_->answer[0];
    answer[1] = thread_->answer[1];
  }
  return result;
}

// --- Paths.

Where::Where(int folder, const char* path) : outside_(path) {
  const abi::Mount* m = mount();
  if (!m || !path || !*path) return;
  size_t length = 0;
  if (*path != '/') {
    const char* below = nullptr;
    char where[abi::kLongestPath];
    if (folder == AT_FDCWD) {
      if (!working_folder(where, below)) return;
    } else {
      if (!is_storage(folder)) return;
      char link[32];
      snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
      below = below_link(link, where);
      if (!below) return;
    }
    memcpy(text_, m->path, m->length);
    length = m->length;
    text_[length] = 0;
    if (!append(text_, length, below)) return;
  } else if (!is_below(path, *m)) {
    return;
  }
  if (!append(text_, length, path)) return;
  if (length == 0) {
    text_[0] = '/';
    text_[1] = 0;
  }
  inside_ = is_below(text_, *m);
  start_ = m->length + (inside_ && text_[m->length] == '/');
  if (!inside_) outside_ = text_;
}

const char* Where::host(char (&out)[abi::kLongestPath + 256]) const {
  snprintf(out, sizeof out, "%s/%s", mount()->root, below());
  return out;
}

int Where::ask(StorageCaller& caller, FileCall call, const Details& details, const char* second,
               std::uint64_t* answer) const {
  struct {
    abi::PathCall head;
    char text[2 * abi::kLongestPath];
  } request;
  request.head.flags = details.flags;
  request.head.mode = details.mode;
  memcpy(request.head.value, details.value, sizeof details.value);
  request.head.out = reinterpret_cast<std::uint64_t>(details.out);
  request.head.out_bytes = details.out_bytes;
  const size_t first_bytes = strlen(below()), second_bytes = strlen(second);
  if (second_bytes >= abi::kLongestPath) return -ENAMETOOLONG;
  request.head.first = static_cast<std::uint32_t>(first_bytes);
  request.head.second = static_cast<std::uint32_t>(second_bytes);
  memcpy(request.text, below(), first_bytes);
  memcpy(request.text + first_bytes, second, second_bytes);
  return caller.ask(call, 0, reinterpret_cast<std::uint64_t>(&request),
                    sizeof request.head + first_bytes + second_bytes, 0, answer);
}

// --- Descriptors.

bool storage_file(StorageCaller& caller, int descriptor, std::uint32_t& file) {
  std::uint32_t& entry = storage_table[descriptor];
  if (!caller) return false;
  if ((entry & ~kInherited) == kUnknown) {
    std::uint64_t answer[2];
    if (caller.ask(FileCall::Adopt, 0, 0, 0, static_cast<std::uint64_t>(descriptor), answer) != 0)
      return false;
    entry = static_cast<std::uint32_t>(answer[0] + 1);
  }
  file = (entry & ~kInherited) - 1;
  return true;
}

void storage_copied(int from, int to) {
  if (to < 0 || to >= kMostDescriptors || !in_this_process()) return;
  storage_table[to] = is_storage(from) ? storage_table[from] : 0;
  if (storage_table[to] && to > highest) highest = to;
}

void storage_closed(int descriptor) {
  if (!is_storage(descriptor) || !in_this_process()) return;
  const std::uint32_t entry = storage_table[descriptor];
  storage_table[descriptor] = 0;
  if (entry & kInherited) return;
  for (int i = 0; i <= highest; ++i)
    if (storage_table[i] == entry) return;
  StorageCaller caller;
  if (caller) caller.ask(FileCall::Close, entry - 1, 0, 0, 1);
}

int storage_open(const Where& where, int flags, mode_t mode) {
  char host[abi::kLongestPath + 256] = "";
  std::uint64_t answer[2];
  {
    StorageCaller caller;
    if (!caller) {
      if (!mount()->root[0]) return failure(-ENOENT);
      return static_cast<int>(syscall(SYS_openat, AT_FDCWD, where.host(host), flags, mode));
    }
    if (flags & O_PATH) flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if ((flags & O_TMPFILE) == O_TMPFILE) return failure(-EOPNOTSUPP);
    const mode_t mask = static_cast<mode_t>(syscall(SYS_umask, 0));
    syscall(SYS_umask, mask);
    const Where::Details details{.flags = static_cast<std::uint32_t>(flags),
                                 .mode = mode & ~mask & 07777,
                                 .out = host,
                                 .out_bytes = sizeof host};
    const int result = where.ask(caller, FileCall::Open, details, "", answer);
    if (result != 0) return failure(result);
  }
  // The simulator has made and emptied it, and holds the name until this process asks for something else.
  constexpr int kDone = O_CREAT | O_EXCL | O_TRUNC | O_DIRECT;
  const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, host, flags & ~kDone, 0));
  const int error = errno;
  const auto entry = static_cast<std::uint32_t>(answer[0] + 1);
  if (file < 0 || file >= kMostDescriptors) {
    StorageCaller caller;
    if (caller) caller.ask(FileCall::Close, entry - 1, 0, 0, 1);
    if (file >= 0) syscall(SYS_close, file);
    errno = file < 0 ? error : EMFILE;
    return -1;
  }
  storage_table[file] = entry;
  if (file > highest) highest = file;
  return file;
}

int storage_ask(int descriptor, FileCall call, std::uint64_t address, std::uint64_t length,
                std::uint64_t offset) {
  StorageCaller caller;
  std::uint32_t file = 0;
  if (!storage_file(caller, descriptor, file)) return kOnHost;
  return failure(caller.ask(call, file, address, length, offset));
}

namespace {

long host_number(FileCall call, bool at) {
  switch (call) {
    case FileCall::Read:
      return at ? SYS_pread64 : SYS_read;
    case FileCall::Write:
      return at ? SYS_pwrite64 : SYS_write;
    case FileCall::ReadParts:
      return at ? SYS_preadv : SYS_readv;
    default:
      return at ? SYS_pwritev : SYS_writev;
  }
}

std::size_t bytes_of(const iovec* parts, std::size_t count) {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += parts[i].iov_len;
  return sum;
}

/// One after the other: together they are more than a call takes.
ssize_t move_parts(FileCall call, int descriptor, const iovec* parts, std::size_t count, off_t offset) {
  const FileCall each = call == FileCall::ReadParts ? FileCall::Read : FileCall::Write;
  std::size_t done = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const off_t at = offset < 0 ? offset : offset + static_cast<off_t>(done);
    const ssize_t moved = storage_move(each, descriptor, parts[i].iov_base, parts[i].iov_len, at);
    if (moved < 0) return done ? static_cast<ssize_t>(done) : -1;
    done += static_cast<std::size_t>(moved);
    if (static_cast<std::size_t>(moved) < parts[i].iov_len) break;
  }
  return static_cast<ssize_t>(done);
}

}  // namespace

ssize_t storage_move(FileCall call, int descriptor, const void* memory, std::size_t length, off_t offset) {
  const bool parts = call == FileCall::ReadParts || call == FileCall::WriteParts;
  if (parts && bytes_of(static_cast<const iovec*>(memory), length) > abi::kMostAtOnce)
    return move_parts(call, descriptor, static_cast<const iovec*>(memory), length, offset);
  StorageCaller caller;
  std::uint32_t file = 0;
  const bool at = offset >= 0;
  if (!storage_file(caller, descriptor, file))
    return syscall(host_number(call, at), descriptor, memory, length, offset, 0);
  if (offset < -1) return failure(-EINVAL);
  std::uint64_t place = at ? static_cast<std::uint64_t>(offset)
                           : static_cast<std::uint64_t>(syscall(SYS_lseek, descriptor, 0, SEEK_CUR));
  std::size_t done = 0;
  std::uint64_t answer[2];
  do {
    std::size_t most = length - done;
    if (!parts && most > abi::kMostAtOnce) most = abi::kMostAtOnce;
    const int result =
        caller.ask(call, file, reinterpret_cast<std::uint64_t>(memory) + done, most, place, answer);
    if (result != 0) {
      if (done) break;
      return failure(result);
    }
    done += answer[0];
    place = answer[1];
    if (parts || answer[0] < most) break;
  } while (done < length);
  if (!at && done) syscall(SYS_lseek, descriptor, static_cast<off_t>(place), SEEK_SET);
  return static_cast<ssize_t>(done);
}

}  // namespace weft::lib
