// Memory of a node that keeps data of files, in pages: what was read or written there and need not be asked
// for again. A page usually has what the servers have, so it is not kept a second time; it has data of its
// own where the node has written what the servers do not have yet, or where another node has written what
// this one does not have to see yet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "storage/extents.hpp"

namespace weft::storage {

class NodeCache {
 public:
  using File = std::uint64_t;
  static constexpr std::uint64_t kPage = 4096;

  explicit NodeCache(std::uint64_t bytes) : most_pages_(bytes / kPage) {}

  /// Parts of a range that must be asked for, in whole pages up to the end of the file; none: all is here.
  std::vector<Extents::Range> missing(File file, std::uint64_t begin, std::uint64_t end, std::uint64_t size);
  /// What a range has is that of the servers.
  void fill(File file, std::uint64_t begin, std::uint64_t end);
  /// Written by this node: also to the servers, or here alone.
  void write(File file, std::uint64_t offset, std::span<const char> data, bool here_alone);
  /// Data of its own over what the servers have.
  void overlay(File file, std::uint64_t offset, std::span<char> data) const;
  /// Another node is about to write there: pages keep what they have, which `read` gets from the servers.
  using Reader = std::function<void(std::uint64_t offset, std::span<char> out)>;
  void keep_old(File file, std::uint64_t begin, std::uint64_t end, const Reader& read);

  /// What the servers do not have goes to them: in order; the pages stay until `cleaned`.
  std::vector<Extents::Range> take_dirty(File file);
  void cleaned(File file, std::span<const Extents::Range> ranges);
  std::vector<File> dirty_files() const;
  bool has_dirty() const { return !dirty_.empty(); }
  bool is_dirty(File file) const { return dirty_.count(file) != 0; }
  /// Behind what it has written here alone, or 0.
  std::uint64_t end_of_dirty(File file) const;
  bool too_dirty() const { return dirty_pages_ * 2 > most_pages_; }

  /// Forgets what the servers have as well; a file that was changed by others since the version it knows.
  void drop(File file);
  void check_version(File file, std::uint64_t version);
  /// The node itself has changed a file.
  void changed(File file, std::uint64_t before, std::uint64_t after);
  void truncated(File file, std::uint64_t size);

  std::uint64_t hits = 0, misses = 0, bytes_hit = 0, bytes_flushed = 0;

 private:
  struct Page {
    Extents valid, dirty;
    std::unique_ptr<char[]> own;
    Extents has;  // of its own
    unsigned flushing = 0;
    bool old = false;  // some of its own is what the servers had before
    std::uint64_t used = 0;
  };
  using Key = std::pair<File, std::uint64_t>;
  using Pages = std::map<Key, Page>;

  Page& page(const Key& key);
  void touch(const Key& key, Page& page);
  void make_room();
  void erase(Pages::iterator at);
  template <class F>
  void each_part(File file, std::uint64_t begin, std::uint64_t end, F f) const;

  std::uint64_t most_pages_, uses_ = 0, dirty_pages_ = 0;
  Pages pages_;
  std::set<std::pair<std::uint64_t, Key>> by_use_;
  std::map<File, std::uint64_t> dirty_, versions_;  // pages of a file that are dirty; what it knows
};

}  // namespace weft::storage
