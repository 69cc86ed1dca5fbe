#include "storage/tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/diagnostics.hpp"

namespace weft::storage {

namespace {

constexpr const char* kSpareName = ".weft-spare-";
constexpr std::int64_t kSecond = 1'000'000'000'000;

/// "" is the root itself.
const char* name(const std::string& path) { return path.empty() ? "." : path.c_str(); }

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// A folder for files that may be large, which /tmp need not have room for.
std::string own_folder() {
  const char* named = getenv("TMPDIR");
  for (std::string place : {std::string(named ? named : ""), std::string("/var/tmp"), std::string("/tmp")}) {
    if (place.empty()) continue;
    std::string pattern = place + "/weft-storage-XXXXXX";
    if (mkdtemp(pattern.data())) return pattern;
  }
  throw UserError(
      fmt::format("no folder for the files of the simulated file system can be made in TMPDIR, "
                  "/var/tmp or /tmp: {}; --keep DIR names one",
                  std::strerror(errno)));
}

/// What is made has the rights that were asked for, not those this process's own habits leave.
class NoMask {
 public:
  NoMask() : before_(umask(0)) {}
  ~NoMask() { umask(before_); }
  NoMask(const NoMask&) = delete;
  NoMask& operator=(const NoMask&) = delete;

 private:
  mode_t before_;
};

}  // namespace

Tree::Tree(const std::string& keep, const Layout& layout, std::uint64_t capacity, std::int64_t epoch_seconds)
    : layout_(layout),
      capacity_(capacity),
      epoch_(epoch_seconds),
      path_(keep),
      keeps_(!keep.empty()),
      used_(layout.targets() + 1) {
  if (keeps_) {
    std::error_code failed;
    std::filesystem::create_directories(path_, failed);
    if (failed) throw UserError(fmt::format("--keep {}: cannot be made: {}", path_, failed.message()));
    path_ = std::filesystem::canonical(path_, failed).string();
  } else {
    path_ = own_folder();
  }
  root_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (root_ < 0) throw UserError(fmt::format("{}: {}", path_, std::strerror(errno)));
}

Tree::~Tree() {
  std::error_code ignored;
  for (auto& [host, inode] : inodes_) {
    if (keeps_ && inode->data >= 0) stamp(*inode);
    if (inode->data >= 0) ::close(inode->data);
    if (!inode->spare.empty()) unlinkat(root_, inode->spare.c_str(), 0);
  }
  cut_ = nullptr;
  ::close(root_);
  if (!keeps_) std::filesystem::remove_all(path_, ignored);
}

std::int32_t Tree::plain_way(const std::string& path) const {
  const std::string parent = parent_of(path);
  if (parent.empty()) return 0;
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const long folder = syscall(SYS_openat2, root_, parent.c_str(), &how, sizeof how);
  if (folder < 0) return errno == ELOOP || errno == EXDEV ? -ENOTDIR : -errno;
  ::close(static_cast<int>(folder));
  return 0;
}

FileTime Tree::calendar(Time now) const { return {epoch_ + now.value / kSecond, now.value % kSecond / 1000}; }

Inode& Tree::inode(const struct stat& facts) {
  std::unique_ptr<Inode>& found = inodes_[facts.st_ino];
  if (!found) {
    found = std::make_unique<Inode>();
    found->number = ++made_;
    found->host = facts.st_ino;
    found->accessed = {facts.st_atim.tv_sec, facts.st_atim.tv_nsec};
    found->modified = {facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
    found->changed = {facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec};
    // Nothing is older than the run where nothing is of an earlier one: not even the root.
    if (!keeps_) found->accessed = found->modified = found->changed = {epoch_, 0};
    if (S_ISREG(facts.st_mode) && facts.st_size > 0)  // of an earlier run
      reserve(*found, 0, static_cast<std::uint64_t>(facts.st_size));
  }
  return *found;
}

bool Tree::has(int descriptor) const {
  char text[4096];
  const ssize_t bytes = readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), text, sizeof text);
  return bytes > 0 && std::string_view(text, static_cast<std::size_t>(bytes)).starts_with(path_ + "/");
}

Inode* Tree::inode_of(int descriptor) {
  struct stat facts {};
  return fstat(descriptor, &facts) == 0 ? &inode(facts) : nullptr;
}

Inode* Tree::adopt(int descriptor) {
  Inode* found = has(descriptor) ? inode_of(descriptor) : nullptr;
  const bool keeps = found && found->data < 0;
  // It may be open for writing alone, and others read it.
  if (keeps) found->data = ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_RDWR | O_CLOEXEC);
  if (keeps && found->data < 0) {
    found->data = descriptor;
  } else {
    ::close(descriptor);
  }
  if (found) ++found->opens;
  return found;
}

std::int32_t Tree::open(const std::string& path, int flags, mode_t mode, Time now, Inode*& out) {
  struct stat facts {};
  const bool only_new =
      (flags & O_CREAT) && (flags & O_EXCL);  // even a link that leads nowhere is in the way
  const bool existed = fstatat(root_, name(path), &facts, only_new ? AT_SYMLINK_NOFOLLOW : 0) == 0;
  if (existed && only_new) return -EEXIST;
  if (!existed && errno != ENOENT) return -errno;
  if (!existed && !(flags & O_CREAT)) return -ENOENT;
  const bool folder = existed && S_ISDIR(facts.st_mode);
  if (folder && ((flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT))) return -EISDIR;
  if (!folder && (flags & O_DIRECTORY)) return existed ? -ENOTDIR : -EINVAL;
  if (existed && !folder && !S_ISREG(facts.st_mode)) return -ENXIO;
  int file = -1;
  {
    const NoMask no_mask;
    // A program may write what it may not open for writing any more: it opens by itself after this.
    const mode_t made = mode | (existed ? 0 : 0600);
    // The rights the program asks for, by the file's own, are looked at by opening it so.
    const int how = existed ? flags & O_ACCMODE : O_RDWR;
    const int wanted = how | (flags & (O_CREAT | O_EXCL | O_NOFOLLOW | O_DIRECTORY)) | O_CLOEXEC;
    file = openat(root_, name(path), wanted, made);
    if (file < 0) return -errno;
    if (!folder && how != O_RDWR) {  // the simulator's own reads and writes
      const int both = openat(root_, name(path), O_RDWR | O_CLOEXEC);
      if (both >= 0) {
        ::close(file);
        file = both;
      }
    }
  }
  if (fstat(file, &facts) != 0) return -errno;
  Inode& node = inode(facts);
  if (!existed) {
    if (cut_) cut_->made(path, facts);
    node.accessed = node.modified = node.changed = calendar(now);
    node.stamped = false;
    if ((mode & 07777) != (facts.st_mode & 07777u)) node.mode = static_cast<std::int32_t>(mode & 07777);
    touch_parent(path, now);
  }
  if (node.data < 0) {
    node.data = file;
  } else {
    ::close(file);
  }
  ++node.opens;
  ++node.opening;
  out = &node;
  if (existed && (flags & O_TRUNC) && !folder) {
    const std::int32_t emptied = truncate(node, 0, now);
    if (emptied != 0) {
      opened(node);
      close(node);
    }
    return emptied;
  }
  return 0;
}

void Tree::opened(Inode& inode) {
  if (inode.opening) --inode.opening;
  if (inode.opening == 0 && inode.mode >= 0) {
    fchmod(inode.data, static_cast<mode_t>(inode.mode));
    inode.mode = -1;
  }
}

std::string Tree::host_name(Inode& inode, const std::string& path) {
  struct stat facts {};
  if (fstatat(root_, name(path), &facts, 0) == 0 && facts.st_ino == inode.host) return path;
  if (inode.spare.empty()) {
    const std::string spare = fmt::format("{}{}", kSpareName, ++spare_names_);
    const std::string itself = fmt::format("/proc/self/fd/{}", inode.data);
    if (linkat(AT_FDCWD, itself.c_str(), root_, spare.c_str(), AT_SYMLINK_FOLLOW) == 0) inode.spare = spare;
  }
  return inode.spare;
}

/// A file that is about to lose this name, and that a program is about to open, gets another.
void Tree::keep_name(const std::string& path) {
  struct stat facts {};
  if (fstatat(root_, name(path), &facts, AT_SYMLINK_NOFOLLOW) != 0 || facts.st_nlink != 1) return;
  auto known = inodes_.find(facts.st_ino);
  if (known == inodes_.end()) return;
  Inode& inode = *known->second;
  if (S_ISDIR(facts.st_mode)) return;
  if (inode.opening == 0 || !inode.spare.empty()) return;
  const std::string spare = fmt::format("{}{}", kSpareName, ++spare_names_);
  if (linkat(root_, path.c_str(), root_, spare.c_str(), 0) == 0) inode.spare = spare;
}

void Tree::close(Inode& inode) {
  if (--inode.opens > 0) return;
  stamp(inode);
  ::close(inode.data);
  inode.data = -1;
  if (!inode.spare.empty()) unlinkat(root_, inode.spare.c_str(), 0);
  inode.spare.clear();
  forget_if_gone(inode);
}

void Tree::forget_if_gone(Inode& inode) {
  if (inode.opens || inode.linked) return;
  release(inode, 0);
  if (cut_ && !inode.hidden) cut_->forget(inode.number);
  on_cut(inode.number, 0);
  inodes_.erase(inode.host);
}

/// The host's times become those of the simulated machine.
void Tree::stamp(Inode& inode) {
  if (!keeps_ || inode.stamped || inode.data < 0) return;
  const timespec times[2] = {{inode.accessed.seconds, inode.accessed.nanoseconds},
                             {inode.modified.seconds, inode.modified.nanoseconds}};
  futimens(inode.data, times);
  inode.stamped = true;
}

void Tree::fill(const Inode& inode, struct stat& out) const {
  out.st_dev = 0x77;
  out.st_ino = inode.number;
  out.st_blksize = static_cast<blksize_t>(std::min<std::uint64_t>(layout_.unit(), 1 << 20));
  std::uint64_t blocks = inode.first_blocks;
  for (const auto& [unit, count] : inode.blocks) blocks += count;
  out.st_blocks = static_cast<blkcnt_t>(blocks * (kBlock / 512));
  out.st_atim = {inode.accessed.seconds, inode.accessed.nanoseconds};
  out.st_mtim = {inode.modified.seconds, inode.modified.nanoseconds};
  out.st_ctim = {inode.changed.seconds, inode.changed.nanoseconds};
  if (inode.mode >= 0) out.st_mode = (out.st_mode & ~07777u) | static_cast<mode_t>(inode.mode);
  if (!inode.spare.empty() && out.st_nlink > 0) --out.st_nlink;
  out.st_nlink -= std::min<nlink_t>(inode.hidden, out.st_nlink);
  if (S_ISDIR(out.st_mode)) out.st_size = 4096;
}

std::int32_t Tree::status(const std::string& path, bool follow, struct stat& out) {
  if (fstatat(root_, name(path), &out, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  fill(inode(out), out);
  return 0;
}

std::int32_t Tree::status(Inode& inode, struct stat& out) {
  if (fstat(inode.data, &out) != 0) return -errno;
  fill(inode, out);
  return 0;
}

std::uint64_t Tree::size(const Inode& inode) const {
  struct stat facts {};
  return fstat(inode.data, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

void Tree::touch_parent(const std::string& path, Time now) {
  struct stat facts {};
  if (fstatat(root_, name(parent_of(path)), &facts, 0) != 0) return;
  Inode& folder = inode(facts);
  folder.modified = folder.changed = calendar(now);
}

std::int32_t Tree::make_folder(const std::string& path, mode_t mode, Time now) {
  const NoMask no_mask;
  if (mkdirat(root_, name(path), mode) != 0) return -errno;
  struct stat facts {};
  if (fstatat(root_, name(path), &facts, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  Inode& folder = inode(facts);
  folder.accessed = folder.modified = folder.changed = calendar(now);
  made(path);
  touch_parent(path, now);
  return 0;
}

std::int32_t Tree::remove(const std::string& path, bool folder, Time now) {
  struct stat facts {};
  if (path.empty()) return -EBUSY;
  if (fstatat(root_, path.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) return -errno;
  if (!folder) keep_name(path);
  const std::string hidden = cut_ ? cut_->hide(path, facts) : "";
  if (unlinkat(root_, path.c_str(), folder ? AT_REMOVEDIR : 0) != 0) {
    const int error = errno;
    if (cut_) cut_->unhide(hidden);
    return -error;
  }
  if (cut_) cut_->removed(path, facts, hidden);
  touch_parent(path, now);
  lost_name(facts, hidden, now);
  return 0;
}

std::int32_t Tree::rename(const std::string& from, const std::string& to, unsigned flags, Time now) {
  struct stat source {
  }, facts{};
  if (from.empty() || to.empty()) return -EBUSY;
  // Where this fails, renaming does as well, and for the kernel's reason.
  if (fstatat(root_, from.c_str(), &source, AT_SYMLINK_NOFOLLOW) != 0) source = {};
  const bool replaces =
      !flags && fstatat(root_, to.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && facts.st_ino != source.st_ino;
  if (replaces && !S_ISDIR(facts.st_mode)) keep_name(to);
  const std::string hidden = replaces && cut_ ? cut_->hide(to, facts) : "";
  if (renameat2(root_, from.c_str(), root_, to.c_str(), flags) != 0) {
    const int error = errno;
    if (cut_) cut_->unhide(hidden);
    return -error;
  }
  if (cut_) cut_->renamed(from, to, flags, replaces ? &facts : nullptr, hidden);
  inode(source).changed = calendar(now);
  touch_parent(from, now);
  touch_parent(to, now);
  if (replaces) lost_name(facts, hidden, now);
  return 0;
}

std::int32_t Tree::link(const std::string& from, const std::string& to, Time now) {
  if (linkat(root_, name(from), root_, name(to), 0) != 0) return -errno;
  made(to);
  struct stat facts {};
  if (fstatat(root_, name(to), &facts, AT_SYMLINK_NOFOLLOW) == 0) inode(facts).changed = calendar(now);
  touch_parent(to, now);
  return 0;
}

std::int32_t Tree::symbolic_link(const std::string& text, const std::string& path, Time now) {
  if (symlinkat(text.c_str(), root_, name(path)) != 0) return -errno;
  made(path);
  struct stat facts {};
  if (fstatat(root_, name(path), &facts, AT_SYMLINK_NOFOLLOW) == 0) {
    Inode& link = inode(facts);
    link.accessed = link.modified = link.changed = calendar(now);
  }
  touch_parent(path, now);
  return 0;
}

std::int32_t Tree::set_mode(const std::string& path, mode_t mode, Time now) {
  struct stat facts {};
  if (fstatat(root_, name(path), &facts, 0) != 0) return -errno;
  if (cut_) cut_->sets_attributes(inode(facts), facts);
  if (fchmodat(root_, name(path), mode, 0) != 0) return -errno;
  inode(facts).changed = calendar(now);
  return 0;
}

std::int32_t Tree::set_times(Inode& inode, const timespec (&times)[2], Time now) {
  auto set = [&](FileTime& to, const timespec& from) {
    if (from.tv_nsec == UTIME_OMIT) return;
    to = from.tv_nsec == UTIME_NOW ? calendar(now) : FileTime{from.tv_sec, from.tv_nsec};
  };
  if (inode.data >= 0) sets_attributes(inode);
  set(inode.accessed, times[0]);
  set(inode.modified, times[1]);
  inode.changed = calendar(now);
  inode.stamped = false;
  return 0;
}

std::int32_t Tree::set_times(const std::string& path, bool follow, const timespec (&times)[2], Time now) {
  struct stat facts {};
  const int flags = follow ? 0 : AT_SYMLINK_NOFOLLOW;
  if (fstatat(root_, name(path), &facts, flags) != 0) return -errno;
  if (cut_) cut_->sets_attributes(inode(facts), facts);
  if (utimensat(root_, name(path), times, flags) != 0) return -errno;
  return set_times(inode(facts), times, now);
}

std::int32_t Tree::truncate(Inode& inode, std::uint64_t size, Time now) {
  if (cut_) cut_->resizes(inode, size, calendar(now));
  if (ftruncate(inode.data, static_cast<off_t>(size)) != 0) return -errno;
  release(inode, size);
  on_cut(inode.number, size);
  inode.reserved_end = 0;
  wrote(inode, now);
  return 0;
}

std::int32_t Tree::truncate(const std::string& path, std::uint64_t size, Time now) {
  Inode* found = nullptr;
  if (std::int32_t failed = open(path, O_RDWR, 0, now, found); failed != 0) return failed;
  const std::int32_t result = truncate(*found, size, now);
  opened(*found);
  close(*found);
  return result;
}

std::int32_t Tree::list(Inode& folder, std::vector<Entry>& out) {
  const int copy = openat(folder.data, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = copy < 0 ? nullptr : fdopendir(copy);
  if (!stream) return -errno;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream))
    if (std::strncmp(entry->d_name, kSpareName, std::strlen(kSpareName)) != 0) names.push_back(entry->d_name);
  std::sort(names.begin(), names.end());
  for (std::string& each : names) {
    struct stat facts {};
    if (fstatat(copy, each.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool parent_of_root = folder.host == inode_of(root_)->host && each == "..";
    const std::uint64_t number = parent_of_root ? inode_of(root_)->number : inode(facts).number;
    out.push_back({std::move(each), number, static_cast<std::uint8_t>(IFTODT(facts.st_mode))});
  }
  closedir(stream);
  return 0;
}

std::int32_t Tree::write(Inode& inode, std::uint64_t offset, std::span<const char> data, Time now) {
  if (cut_) cut_->writes(inode, offset, data, calendar(now));
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t wrote =
        pwrite(inode.data, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (wrote < 0) return -errno;
    done += static_cast<std::size_t>(wrote);
  }
  wrote(inode, now);
  return 0;
}

void Tree::sets_attributes(Inode& inode) {
  struct stat facts {};
  if (cut_ && fstat(inode.data, &facts) == 0) cut_->sets_attributes(inode, facts);
}

void Tree::sets_attributes(const std::string& path, bool follow) {
  struct stat facts {};
  if (cut_ && fstatat(root_, name(path), &facts, follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0)
    cut_->sets_attributes(inode(facts), facts);
}

std::int32_t Tree::allocate(Inode& inode, std::uint64_t offset, std::uint64_t bytes, Time now) {
  if (std::int32_t full = reserve(inode, offset, bytes); full != 0) return full;
  const std::uint64_t end = offset + bytes;
  if (end <= size(inode)) return 0;
  if (cut_) cut_->resizes(inode, end, calendar(now));
  return ftruncate(inode.data, static_cast<off_t>(end)) == 0 ? 0 : -errno;
}

void Tree::made(const std::string& path) {
  struct stat facts {};
  if (cut_ && fstatat(root_, name(path), &facts, AT_SYMLINK_NOFOLLOW) == 0) cut_->made(path, facts);
}

/// A file or folder has one name less; it may be gone with it.
void Tree::lost_name(const struct stat& before, const std::string& hidden, Time now) {
  auto known = inodes_.find(before.st_ino);
  if (known == inodes_.end()) return;
  Inode& inode = *known->second;
  inode.changed = calendar(now);
  inode.linked = !S_ISDIR(before.st_mode) && before.st_nlink > 1 + inode.hidden;
  if (!hidden.empty()) ++inode.hidden;
  forget_if_gone(inode);
}

void Tree::cut_power_at(Time at) {
  if (keeps_) cut_ = std::make_unique<PowerCut>(root_, at);  // else nobody sees what is left
}

void Tree::power_is_cut() {
  if (!cut_) return;
  for (auto& [host, inode] : inodes_) {
    while (inode->opening) opened(*inode);
    stamp(*inode);
  }
  cut_->restore();
}

std::int32_t Tree::read(const Inode& inode, std::uint64_t offset, std::span<char> out) const {
  const ssize_t got = pread(inode.data, out.data(), out.size(), static_cast<off_t>(offset));
  const std::size_t there = got < 0 ? 0 : static_cast<std::size_t>(got);
  std::memset(out.data() + there, 0, out.size() - there);
  return got < 0 ? -errno : 0;
}

void Tree::wrote(Inode& inode, Time now) {
  ++inode.version;
  inode.modified = inode.changed = calendar(now);
  inode.stamped = false;
}

std::int32_t Tree::reserve(Inode& inode, std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t unit_bytes = layout_.unit();
  for (std::uint64_t at = offset; at < offset + bytes;) {
    const std::uint64_t unit = at / unit_bytes, end = std::min((unit + 1) * unit_bytes, offset + bytes);
    const auto needed = static_cast<std::uint32_t>(((end - 1) % unit_bytes) / kBlock + 1);
    std::uint32_t& has = blocks_of(inode, unit);
    if (needed > has) {
      const std::uint64_t more = (needed - has) * kBlock;
      for (std::uint32_t copy = 0; copy < layout_.replicas(); ++copy)
        if (used_[layout_.target(inode.number, unit, copy)] + more > capacity_) return -ENOSPC;
      for (std::uint32_t copy = 0; copy < layout_.replicas(); ++copy)
        used_[layout_.target(inode.number, unit, copy)] += more;
      has = needed;
    }
    at = end;
  }
  return 0;
}

/// What lies behind a byte is free again.
void Tree::release(Inode& inode, std::uint64_t from_byte) {
  const std::uint64_t unit_bytes = layout_.unit();
  auto keep = [&](std::uint64_t unit, std::uint32_t& has) {
    const std::uint64_t first = unit * unit_bytes;
    const std::uint64_t left = from_byte <= first ? 0 : (from_byte - first + kBlock - 1) / kBlock;
    if (left >= has) return;
    for (std::uint32_t copy = 0; copy < layout_.replicas(); ++copy)
      used_[layout_.target(inode.number, unit, copy)] -= (has - left) * kBlock;
    has = static_cast<std::uint32_t>(left);
  };
  keep(0, inode.first_blocks);
  for (auto& [unit, has] : inode.blocks) keep(unit, has);
  std::erase_if(inode.blocks, [](const auto& each) { return each.second == 0; });
}

void Tree::space(struct statfs& out) const {
  out = {};
  std::uint64_t used = 0;
  for (std::uint64_t each : used_) used += each;
  const std::uint64_t all = capacity_ * layout_.targets();
  out.f_type = 0x57454654;  // "WEFT"
  out.f_bsize = out.f_frsize = kBlock;
  out.f_blocks = all / layout_.replicas() / kBlock;
  out.f_bfree = out.f_bavail = (all - used) / layout_.replicas() / kBlock;
  out.f_files = std::uint64_t{1} << 32;
  out.f_ffree = out.f_files - inodes_.size();
  out.f_namelen = 255;
}

}  // namespace weft::storage
