#include "storage/node_cache.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::storage {

namespace {

void join(std::vector<Extents::Range>& out, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  if (!out.empty() && out.back().end == begin)
    out.back().end = end;
  else
    out.push_back({begin, end});
}

}  // namespace

/// Calls with the key of a page, and a range's begin and end in it.
template <class F>
void NodeCache::each_part(File file, std::uint64_t begin, std::uint64_t end, F f) const {
  while (begin < end) {
    const std::uint64_t number = begin / kPage, stop = std::min(end, (number + 1) * kPage);
    f(Key{file, number}, begin - number * kPage, stop - number * kPage);
    begin = stop;
  }
}

NodeCache::Page& NodeCache::page(const Key& key) {
  Page& found = pages_[key];
  touch(key, found);
  return found;
}

void NodeCache::touch(const Key& key, Page& page) {
  if (page.used) by_use_.erase({page.used, key});
  page.used = ++uses_;
  by_use_.insert({page.used, key});
}

void NodeCache::erase(Pages::iterator at) {
  by_use_.erase({at->second.used, at->first});
  pages_.erase(at);
}

/// The least recently used go that the servers have as well.
void NodeCache::make_room() {
  for (auto each = by_use_.begin(); pages_.size() > most_pages_ && each != by_use_.end();) {
    const auto found = pages_.find((each++)->second);
    if (found->second.dirty.empty() && !found->second.flushing) erase(found);
  }
}

std::vector<Extents::Range> NodeCache::missing(File file, std::uint64_t begin, std::uint64_t end,
                                               std::uint64_t size) {
  std::vector<Extents::Range> out;
  each_part(file, begin, end, [&](const Key& key, std::uint64_t from, std::uint64_t to) {
    const auto found = pages_.find(key);
    if (found != pages_.end()) touch(key, found->second);
    if (found != pages_.end() && found->second.valid.covers(from, to)) return;
    const std::uint64_t first = key.second * kPage;
    join(out, first, std::min(first + kPage, size));
  });
  ++(out.empty() ? hits : misses);
  if (out.empty()) bytes_hit += end - begin;
  return out;
}

void NodeCache::fill(File file, std::uint64_t begin, std::uint64_t end) {
  each_part(file, begin, end,
            [&](const Key& key, std::uint64_t from, std::uint64_t to) { page(key).valid.add(from, to); });
  make_room();
}

void NodeCache::write(File file, std::uint64_t offset, std::span<const char> data, bool here_alone) {
  const char* next = data.data();
  each_part(file, offset, offset + data.size(), [&](const Key& key, std::uint64_t from, std::uint64_t to) {
    Page& p = page(key);
    p.valid.add(from, to);
    if (here_alone && !p.own) p.own = std::make_unique<char[]>(kPage);
    if (p.own) {
      std::memcpy(p.own.get() + from, next, to - from);
      p.has.add(from, to);
    }
    if (here_alone) {
      if (p.dirty.empty()) {
        ++dirty_pages_;
        ++dirty_[file];
      }
      p.dirty.add(from, to);
    }
    next += to - from;
  });
  make_room();
}

void NodeCache::overlay(File file, std::uint64_t offset, std::span<char> data) const {
  char* next = data.data();
  each_part(file, offset, offset + data.size(), [&](const Key& key, std::uint64_t from, std::uint64_t to) {
    char* const out = next;
    next += to - from;
    const auto found = pages_.find(key);
    if (found == pages_.end() || !found->second.own) return;
    const Page& p = found->second;
    for (const Extents::Range& range : p.has.ranges()) {
      const std::uint64_t a = std::max(from, range.begin), b = std::min(to, range.end);
      if (a < b) std::memcpy(out + (a - from), p.own.get() + a, b - a);
    }
  });
}

void NodeCache::keep_old(File file, std::uint64_t begin, std::uint64_t end, const Reader& read) {
  each_part(file, begin, end, [&](const Key& key, std::uint64_t, std::uint64_t) {
    const auto found = pages_.find(key);
    if (found == pages_.end() || found->second.old) return;
    Page& p = found->second;
    std::unique_ptr<char[]> was = std::make_unique<char[]>(kPage);
    read(key.second * kPage, {was.get(), kPage});
    overlay(file, key.second * kPage, {was.get(), kPage});
    p.own = std::move(was);
    for (const Extents::Range& range : p.valid.ranges()) p.has.add(range.begin, range.end);
    p.old = true;
  });
}

std::vector<Extents::Range> NodeCache::take_dirty(File file) {
  std::vector<Extents::Range> out;
  if (!is_dirty(file)) return out;
  for (auto each = pages_.lower_bound({file, 0}); each != pages_.end() && each->first.first == file; ++each) {
    Page& p = each->second;
    if (p.dirty.empty()) continue;
    const std::uint64_t first = each->first.second * kPage;
    for (const Extents::Range& range : p.dirty.ranges()) join(out, first + range.begin, first + range.end);
    p.dirty.clear();
    ++p.flushing;
    --dirty_pages_;
  }
  dirty_.erase(file);
  for (const Extents::Range& range : out) bytes_flushed += range.end - range.begin;
  return out;
}

void NodeCache::cleaned(File file, std::span<const Extents::Range> ranges) {
  std::uint64_t last = ~std::uint64_t{0};
  for (const Extents::Range& range : ranges)
    each_part(file, range.begin, range.end, [&](const Key& key, std::uint64_t, std::uint64_t) {
      const auto found = pages_.find(key);
      if (key.second == std::exchange(last, key.second) || found == pages_.end()) return;
      Page& p = found->second;
      if (--p.flushing || !p.dirty.empty() || p.old) return;
      p.own.reset();
      p.has.clear();
    });
  make_room();
}

std::vector<NodeCache::File> NodeCache::dirty_files() const {
  std::vector<File> out;
  for (const auto& [file, pages] : dirty_) out.push_back(file);
  return out;
}

std::uint64_t NodeCache::end_of_dirty(File file) const {
  if (!is_dirty(file)) return 0;
  auto each = pages_.lower_bound({file + 1, 0});
  while (each != pages_.begin() && (--each)->first.first == file)
    if (!each->second.dirty.empty())
      return each->first.second * kPage + each->second.dirty.ranges().back().end;
  return 0;
}

void NodeCache::drop(File file) {
  for (auto each = pages_.lower_bound({file, 0}); each != pages_.end() && each->first.first == file;) {
    const auto found = each++;
    Page& p = found->second;
    if (p.dirty.empty() && !p.flushing) {
      erase(found);
      continue;
    }
    p.valid = p.dirty;
    if (std::exchange(p.old, false) && !p.flushing) p.has = p.dirty;
  }
}

void NodeCache::check_version(File file, std::uint64_t version) {
  const auto known = versions_.emplace(file, version);
  if (!known.second && known.first->second != version) drop(file);
  known.first->second = version;
}

void NodeCache::changed(File file, std::uint64_t before, std::uint64_t after) {
  const auto known = versions_.find(file);
  if (known != versions_.end() && known->second == before) known->second = after;
}

void NodeCache::truncated(File file, std::uint64_t size) {
  for (auto each = pages_.lower_bound({file, size / kPage});
       each != pages_.end() && each->first.first == file;) {
    const auto found = each++;
    const std::uint64_t first = found->first.second * kPage, end = size > first ? size - first : 0;
    Page& p = found->second;
    const bool was_dirty = !p.dirty.empty();
    p.valid.cut(end);
    p.dirty.cut(end);
    if (was_dirty && p.dirty.empty()) {
      --dirty_pages_;
      if (--dirty_[file] == 0) dirty_.erase(file);
    }
    if (p.valid.empty() && !p.flushing) erase(found);
  }
}

}  // namespace weft::storage
