#include "storage/power_cut.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <unordered_map>

namespace weft::storage {

namespace {

std::uint64_t size_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

std::vector<char> read_range(int file, std::uint64_t begin, std::uint64_t end) {
  std::vector<char> out(end > begin ? end - begin : 0);
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(file, out.data() + done, out.size() - done, static_cast<off_t>(begin + done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return out;
}

/// False where the host does not take it.
bool write_range(int file, std::uint64_t offset, const std::vector<char>& data) {
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t wrote =
        pwrite(file, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

/// Where files are now, by the host's numbers.
std::unordered_map<ino_t, std::string> paths_below(int root) {
  std::unordered_map<ino_t, std::string> out;
  std::error_code failed;
  const std::string top = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", root), failed);
  namespace fs = std::filesystem;
  for (fs::recursive_directory_iterator each(top, failed), end; !failed && each != end;
       each.increment(failed)) {
    struct stat facts {};
    if (lstat(each->path().c_str(), &facts) == 0) out.emplace(facts.st_ino, each->path().string());
  }
  return out;
}

}  // namespace

PowerCut::~PowerCut() {
  for (const Change& change : changes_)
    if (!change.hidden.empty()) unlinkat(root_, change.hidden.c_str(), 0);
}

/// The notes of a file, which begin with the first thing that is lost.
PowerCut::Log* PowerCut::log_of(const Inode& inode, bool lost) {
  const auto found = logs_.find(inode.number);
  if (found != logs_.end()) return &found->second;
  if (!lost) return nullptr;
  Log& log = logs_[inode.number];
  log.host = inode.host;
  log.accessed = inode.accessed;
  log.modified = inode.modified;
  return &log;
}

void PowerCut::writes(const Inode& inode, std::uint64_t offset, std::span<const char> data, FileTime now) {
  const bool lost = loses_data();
  Log* log = log_of(inode, lost);
  if (!log) return;
  const std::uint64_t size = size_of(inode.data);
  Note note{.number = ++notes_, .lost = lost, .resizes = false, .offset = offset, .size_before = size};
  if (lost) note.before = read_range(inode.data, offset, std::min(size, offset + data.size()));
  note.after.assign(data.begin(), data.end());
  if (!lost) log->modified = now;
  log->notes.push_back(std::move(note));
}

void PowerCut::resizes(const Inode& inode, std::uint64_t size, FileTime now) {
  const bool lost = loses_name();
  Log* log = log_of(inode, lost);
  if (!log) return;
  const std::uint64_t before = size_of(inode.data);
  Note note{.number = ++notes_, .lost = lost, .resizes = true, .offset = size, .size_before = before};
  if (lost) note.before = read_range(inode.data, size, before);
  if (!lost) log->modified = now;
  log->notes.push_back(std::move(note));
}

void PowerCut::sets_attributes(const Inode& inode, const struct stat& facts) {
  Log* log = loses_name() ? log_of(inode, true) : nullptr;
  if (!log || log->has_attributes) return;
  log->has_attributes = true;
  log->mode = facts.st_mode & 07777;
  log->user = facts.st_uid;
  log->group = facts.st_gid;
}

std::string PowerCut::hide(const std::string& path, const struct stat& facts) {
  if (!loses_name() || S_ISDIR(facts.st_mode)) return "";
  const std::string name = fmt::format("{}{}", kHiddenName, ++hidden_);
  return linkat(root_, path.c_str(), root_, name.c_str(), 0) == 0 ? name : "";
}

void PowerCut::unhide(const std::string& hidden) {
  if (!hidden.empty()) unlinkat(root_, hidden.c_str(), 0);
}

void PowerCut::made(const std::string& path, const struct stat& facts) {
  if (loses_name())
    changes_.push_back({.kind = Kind::Made,
                        .first = path,
                        .second = "",
                        .hidden = "",
                        .host = facts.st_ino,
                        .folder = S_ISDIR(facts.st_mode)});
}

void PowerCut::removed(const std::string& path, const struct stat& facts, const std::string& hidden) {
  if (loses_name())
    changes_.push_back({.kind = Kind::Removed,
                        .first = path,
                        .second = "",
                        .hidden = hidden,
                        .host = facts.st_ino,
                        .folder = S_ISDIR(facts.st_mode),
                        .mode = facts.st_mode & 07777});
}

void PowerCut::renamed(const std::string& from, const std::string& to, unsigned flags,
                       const struct stat* replaced, const std::string& hidden) {
  if (!loses_name()) return;
  Change change{.kind = Kind::Renamed, .first = from, .second = to, .hidden = hidden, .flags = flags};
  change.folder = replaced && S_ISDIR(replaced->st_mode);
  if (replaced) change.mode = replaced->st_mode & 07777;
  changes_.push_back(std::move(change));
}

void PowerCut::copied(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t mark,
                      Time durable) {
  const auto found = logs_.find(file);
  if (durable > at_ || found == logs_.end()) return;
  for (Note& note : found->second.notes) {
    const bool inside = note.offset >= offset && note.offset + note.after.size() <= offset + bytes;
    if (!note.resizes && note.number <= mark && inside) note.lost = false;
  }
}

// --- Afterwards.

void PowerCut::undo(const Change& change) {
  switch (change.kind) {
    case Kind::Made: {
      struct stat facts {};
      const bool same = fstatat(root_, change.first.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
                        facts.st_ino == change.host;
      if (same) {
        unlinkat(root_, change.first.c_str(), change.folder ? AT_REMOVEDIR : 0);
      } else if (const auto found = paths_below(root_); found.count(change.host)) {
        unlink(found.at(change.host).c_str());  // made through a symbolic link
      }
      return;
    }
    case Kind::Removed:
      if (change.folder) {
        mkdirat(root_, change.first.c_str(), 0700);
        fchmodat(root_, change.first.c_str(), change.mode, 0);
      } else if (!change.hidden.empty()) {
        renameat(root_, change.hidden.c_str(), root_, change.first.c_str());
      }
      return;
    case Kind::Renamed:
      renameat2(root_, change.second.c_str(), root_, change.first.c_str(), change.flags & RENAME_EXCHANGE);
      if (change.folder) {
        mkdirat(root_, change.second.c_str(), 0700);
        fchmodat(root_, change.second.c_str(), change.mode, 0);
      } else if (!change.hidden.empty()) {
        renameat(root_, change.hidden.c_str(), root_, change.second.c_str());
      }
  }
}

/// Backwards what is lost goes, forwards what is not comes again.
void PowerCut::restore_file(const Log& log, const std::string& path) {
  struct stat facts {};
  if (lstat(path.c_str(), &facts) != 0) return;
  const bool regular = S_ISREG(facts.st_mode);
  if (regular) chmod(path.c_str(), 0600);
  const int file = regular ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
  for (auto note = log.notes.rbegin(); file >= 0 && note != log.notes.rend(); ++note) {
    if (!note->lost) continue;
    const bool kept = write_range(file, note->offset, note->before) &&
                      ftruncate(file, static_cast<off_t>(note->size_before)) == 0;
    if (!kept) fmt::print(stderr, "weft: {}: cannot be made what the devices have\n", path);
  }
  for (const Note& note : log.notes) {
    if (file < 0 || note.lost) continue;
    const bool done = note.resizes ? ftruncate(file, static_cast<off_t>(note.offset)) == 0
                                   : write_range(file, note.offset, note.after);
    if (!done) fmt::print(stderr, "weft: {}: cannot be made what the devices have\n", path);
  }
  if (file >= 0) ::close(file);
  if (log.has_attributes && lchown(path.c_str(), log.user, log.group) != 0)
    fmt::print(stderr, "weft: {}: cannot be given back to its owner\n", path);
  if (!S_ISLNK(facts.st_mode)) chmod(path.c_str(), log.has_attributes ? log.mode : facts.st_mode & 07777);
  const timespec times[2] = {{log.accessed.seconds, log.accessed.nanoseconds},
                             {log.modified.seconds, log.modified.nanoseconds}};
  if (regular) utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void PowerCut::restore() {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) undo(*change);
  changes_.clear();
  if (logs_.empty()) return;
  const std::unordered_map<ino_t, std::string> paths = paths_below(root_);
  for (const auto& [number, log] : logs_)
    if (const auto found = paths.find(log.host); found != paths.end()) restore_file(log, found->second);
  logs_.clear();
}

}  // namespace weft::storage
