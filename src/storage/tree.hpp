// The files themselves: a folder of the host with the same tree as programs see below the mount point. Names,
// rights, links and data are the host's; numbers of files, times and the space they take on the simulated
// devices are kept here, so that they do not depend on the host.
#pragma once

#include <sys/stat.h>
#include <sys/statfs.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/inode.hpp"
#include "storage/layout.hpp"
#include "storage/power_cut.hpp"

namespace weft::storage {

/// What a file takes on the targets' devices, in blocks of kBlock bytes for each stripe unit.
inline constexpr std::uint64_t kBlock = 4096;

class Tree {
 public:
  /// `keep`: an existing or new folder that outlives this; empty: one of its own, removed at the end. Throws
  /// UserError where there is none to be had.
  Tree(const std::string& keep, const Layout& layout, std::uint64_t capacity, std::int64_t epoch_seconds);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  /// Told of every file that ends earlier than it may have before; one that is gone ends at 0.
  std::function<void(std::uint64_t file, std::uint64_t size)> on_cut = [](std::uint64_t, std::uint64_t) {};

  /// The power is going to be cut then: what is not durable by that time is taken back by `power_is_cut`.
  void cut_power_at(Time at);
  void power_is_cut();
  PowerCut* cut() { return cut_.get(); }

  /// Is the way to a path one of folders below the root, none of them a symbolic link? 0; else -ENOTDIR where
  /// one is, or why there is no such way.
  std::int32_t plain_way(const std::string& path) const;

  const std::string& path() const { return path_; }
  int root() const { return root_; }

  // All of these return 0 or a negative errno; `now` is virtual time.
  /// Opens, and makes or empties where the flags say so.
  std::int32_t open(const std::string& path, int flags, mode_t mode, Time now, Inode*& out);
  void close(Inode& inode);
  std::int32_t status(const std::string& path, bool follow, struct stat& out);
  std::int32_t status(Inode& inode, struct stat& out);
  std::int32_t make_folder(const std::string& path, mode_t mode, Time now);
  std::int32_t remove(const std::string& path, bool folder, Time now);
  std::int32_t rename(const std::string& from, const std::string& to, unsigned flags, Time now);
  std::int32_t link(const std::string& from, const std::string& to, Time now);
  std::int32_t symbolic_link(const std::string& text, const std::string& path, Time now);
  std::int32_t set_mode(const std::string& path, mode_t mode, Time now);
  std::int32_t set_times(const std::string& path, bool follow, const timespec (&times)[2], Time now);
  std::int32_t set_times(Inode& inode, const timespec (&times)[2], Time now);
  std::int32_t truncate(Inode& inode, std::uint64_t size, Time now);
  std::int32_t truncate(const std::string& path, std::uint64_t size, Time now);
  /// Names of a directory in order, with numbers and types.
  struct Entry {
    std::string name;
    std::uint64_t number;
    std::uint8_t type;
  };
  std::int32_t list(Inode& folder, std::vector<Entry>& out);
  void space(struct statfs& out) const;

  std::uint64_t size(const Inode& inode) const;
  /// Data goes into a file, for which the caller has asked `reserve` before. 0, or the host's errno,
  /// negative.
  std::int32_t write(Inode& inode, std::uint64_t offset, std::span<const char> data, Time now);
  /// What lies behind its end are zeros. 0, or the host's errno, negative.
  std::int32_t read(const Inode& inode, std::uint64_t offset, std::span<char> out) const;
  /// Owner or rights of a file are about to change.
  void sets_attributes(Inode& inode);
  void sets_attributes(const std::string& path, bool follow);
  /// Room and size without data.
  std::int32_t allocate(Inode& inode, std::uint64_t offset, std::uint64_t bytes, Time now);
  void wrote(Inode& inode, Time now);
  /// Room on the targets for these bytes of a file: 0 or -ENOSPC.
  std::int32_t reserve(Inode& inode, std::uint64_t offset, std::uint64_t bytes);
  /// Another open file, by a descriptor that is kept or closed here; null where it is none of the tree's.
  Inode* adopt(int descriptor);

  /// The name on the host, below the root, under which a file that was opened by this path can be opened
  /// now; it may have lost its own meanwhile.
  std::string host_name(Inode& inode, const std::string& path);
  /// The program has opened it there.
  void opened(Inode& inode);

 private:
  Inode& inode(const struct stat& facts);
  Inode* inode_of(int descriptor);
  bool has(int descriptor) const;
  void forget_if_gone(Inode& inode);
  void release(Inode& inode, std::uint64_t from_byte);
  void touch_parent(const std::string& path, Time now);
  void keep_name(const std::string& path);
  void stamp(Inode& inode);
  void fill(const Inode& inode, struct stat& out) const;
  FileTime calendar(Time now) const;
  /// What a change of names has made.
  void made(const std::string& path);
  void lost_name(const struct stat& before, const std::string& hidden, Time now);
  std::uint32_t& blocks_of(Inode& inode, std::uint64_t unit) {
    return unit == 0 ? inode.first_blocks : inode.blocks[unit];
  }

  Layout layout_;
  std::uint64_t capacity_;  // of a target
  std::int64_t epoch_;
  std::string path_;
  bool keeps_;
  int root_ = -1;
  std::uint64_t made_ = 0, spare_names_ = 0;
  std::unordered_map<ino_t, std::unique_ptr<Inode>> inodes_;
  std::vector<std::uint64_t> used_;  // bytes, by target from 1
  std::unique_ptr<PowerCut> cut_;    // where one is going to come
};

}  // namespace weft::storage
