// What a power cut takes away. When it comes is known from the start, and when something outlives one is
// known when it is done: so what is going to be lost is noted, with what was there before, and at the end the
// folder is made what the devices have.
//
//   names:  changes are in the journal of the metadata server, in order: all behind the first that is lost
//   are data:   each write for itself, by the device that took it; what came behind one that is lost is done
//   again
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "storage/inode.hpp"

namespace weft::storage {

class PowerCut {
 public:
  /// `root`: a descriptor of the folder, which stays open.
  PowerCut(int root, Time at) : root_(root), at_(at) {}
  ~PowerCut();
  PowerCut(const PowerCut&) = delete;
  PowerCut& operator=(const PowerCut&) = delete;

  /// Names that are kept for files that come back; no directory shows them.
  static constexpr const char* kHiddenName = ".weft-spare-cut-";

  /// From when on what is done next outlives it.
  void durable_from(Time when) { durable_ = when; }

  // Before they are done.
  void writes(const Inode& inode, std::uint64_t offset, std::span<const char> data, FileTime now);
  void resizes(const Inode& inode, std::uint64_t size, FileTime now);
  void sets_attributes(const Inode& inode, const struct stat& facts);
  /// A name of a file is about to go: the one under which it is kept; empty where that is durable.
  std::string hide(const std::string& path, const struct stat& facts);
  void unhide(const std::string& hidden);
  // After they were.
  void made(const std::string& path, const struct stat& facts);
  void removed(const std::string& path, const struct stat& facts, const std::string& hidden);
  void renamed(const std::string& from, const std::string& to, unsigned flags, const struct stat* replaced,
               const std::string& hidden);
  /// A file is gone for good.
  void forget(std::uint64_t file) { logs_.erase(file); }

  /// How far the notes about data have come; and: what was written up to there is on another device as well.
  std::uint64_t mark() const { return notes_; }
  void copied(std::uint64_t file, std::uint64_t offset, std::uint64_t bytes, std::uint64_t mark,
              Time durable);

  /// The power is cut: the folder has what the devices have. Nobody uses it any more.
  void restore();

 private:
  struct Note {
    std::uint64_t number;
    bool lost, resizes;
    std::uint64_t offset, size_before;  // where it resizes, the first is the new size
    std::vector<char> before, after;
  };
  struct Log {  // of a file
    ino_t host = 0;
    std::vector<Note> notes;
    bool has_attributes = false;
    mode_t mode = 0;
    uid_t user = 0;
    gid_t group = 0;
    FileTime accessed, modified;
  };
  enum class Kind { Made, Removed, Renamed };
  struct Change {
    Kind kind;
    std::string first, second, hidden;
    unsigned flags = 0;
    ino_t host = 0;
    bool folder = false;  // that was made, removed or replaced
    mode_t mode = 0;
  };

  bool loses_data() const { return durable_ > at_; }
  bool loses_name() { return losing_ = losing_ || durable_ > at_; }
  Log* log_of(const Inode& inode, bool lost);
  void undo(const Change& change);
  void restore_file(const Log& log, const std::string& path);

  int root_;
  Time at_, durable_{0};
  bool losing_ = false;
  std::uint64_t notes_ = 0, hidden_ = 0;
  std::map<std::uint64_t, Log> logs_;  // by number of the file
  std::vector<Change> changes_;
};

}  // namespace weft::storage
