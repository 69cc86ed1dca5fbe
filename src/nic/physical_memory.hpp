// A node's physical memory behind the pages that processes have registered there.
//
// Two stages lead to it. The first takes a process's page to an intermediate one, which is what the node's
// operating system calls memory; the second, kept below that system, takes it to a frame. Frames are found
// for a page when it is registered first, and kept until its last registration is gone. Runs of pages are
// one entry in each table, so that registering a terabyte costs no more than registering a page.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weft::nic {

/// Runs of pages and what each leads to; `Value::after(n)` is what the page n further leads to.
template <class Value>
class PageRuns {
 public:
  struct Run {
    std::uint64_t pages;
    Value value;
  };
  using Runs = std::map<std::uint64_t, Run>;

  /// The run a page is in, cut so that it starts there; null where there is none.
  const Run* find(std::uint64_t page, Run& cut) const {
    auto at = runs_.upper_bound(page);
    if (at == runs_.begin()) return nullptr;
    --at;
    std::uint64_t in = page - at->first;
    if (in >= at->second.pages) return nullptr;
    cut = {at->second.pages - in, at->second.value.after(in)};
    return &cut;
  }
  void add(std::uint64_t page, std::uint64_t pages, Value value) { runs_[page] = {pages, value}; }
  /// From here on a run starts at `page`, if any reaches over it.
  void split(std::uint64_t page) {
    Run cut{};
    auto at = runs_.lower_bound(page);
    if ((at != runs_.end() && at->first == page) || !find(page, cut)) return;
    std::prev(at)->second.pages -= cut.pages;
    runs_[page] = cut;
  }
  void remove(std::uint64_t page, std::uint64_t pages) {
    split(page);
    split(page + pages);
    runs_.erase(runs_.lower_bound(page), runs_.lower_bound(page + pages));
  }
  Runs& runs() { return runs_; }

 private:
  Runs runs_;
};

/// Pages nobody has, lowest first or highest first.
class FreePages {
 public:
  struct Piece {
    std::uint64_t page, pages;
  };
  FreePages(std::uint64_t pages, bool from_the_top) : top_(from_the_top) { free_[0] = pages; }

  /// So many pages, in as few pieces as are easily found; empty where there are not so many, or not in one
  /// piece where that is asked for.
  std::vector<Piece> take(std::uint64_t pages, bool in_one) {
    std::vector<Piece> out;
    auto whole = std::find_if(free_.begin(), free_.end(), [&](auto& run) { return run.second >= pages; });
    if (whole != free_.end()) {
      if (top_)
        for (auto next = std::next(whole); next != free_.end(); ++next)
          if (next->second >= pages) whole = next;
      out.push_back(cut(whole, pages));
      return out;
    }
    if (in_one) return out;
    std::uint64_t missing = pages;
    while (missing && !free_.empty()) {
      auto at = top_ ? std::prev(free_.end()) : free_.begin();
      out.push_back(cut(at, std::min(missing, at->second)));
      missing -= out.back().pages;
    }
    if (!missing) return out;
    for (const Piece& piece : out) give(piece);
    return {};
  }

  void give(Piece piece) {
    auto at = free_.emplace(piece.page, piece.pages).first;
    if (auto next = std::next(at); next != free_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at == free_.begin()) return;
    if (auto before = std::prev(at); before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }

 private:
  Piece cut(std::map<std::uint64_t, std::uint64_t>::iterator at, std::uint64_t pages) {
    auto [page, there] = *at;
    free_.erase(at);
    if (there > pages) free_[top_ ? page : page + pages] = there - pages;
    return {top_ ? page + there - pages : page, pages};
  }

  bool top_;
  std::map<std::uint64_t, std::uint64_t> free_;
};

class PhysicalMemory {
 public:
  struct Behind {
    std::uint32_t owner;
    std::uint64_t address;  // of the process
    std::uint64_t length;   // that follows in the same process without a break
  };

  PhysicalMemory(unsigned bits, unsigned page_bits)
      : page_bits_(page_bits),
        free_intermediate_(std::uint64_t{1} << (bits > page_bits ? bits - page_bits : 0), false),
        free_frames_(std::uint64_t{1} << (bits > page_bits ? bits - page_bits : 0), true) {}

  /// Finds frames for the pages of a range that have none. `shift` leads from the process's addresses to
  /// those that are translated. False, and nothing has changed, where frames run out or do not lie together.
  bool pin(std::uint32_t owner, std::uint64_t address, std::uint64_t length, std::uint64_t shift,
           bool together) {
    PageRuns<Pinned>& table = first_stage_[owner];
    auto [first, end] = split_at_pages(table, address + shift, length);
    std::vector<FreePages::Piece> fresh;
    for (std::uint64_t page = first; page < end;) {
      PageRuns<Pinned>::Run run{};
      if (table.find(page, run)) {
        page += run.pages;
        continue;
      }
      auto next = table.runs().lower_bound(page);
      std::uint64_t gap = (next == table.runs().end() ? end : std::min(end, next->first)) - page;
      if (!back(owner, page, gap, shift, together)) {
        for (const FreePages::Piece& piece : fresh) drop(owner, piece);
        return false;
      }
      fresh.push_back({page, gap});
      page += gap;
    }
    if (together && contiguous(owner, address + shift, length) < length) {
      for (const FreePages::Piece& piece : fresh) drop(owner, piece);
      return false;
    }
    for (auto at = table.runs().lower_bound(first); at != table.runs().end() && at->first < end; ++at)
      ++at->second.value.users;
    return true;
  }

  void unpin(std::uint32_t owner, std::uint64_t address, std::uint64_t length, std::uint64_t shift) {
    PageRuns<Pinned>& table = first_stage_[owner];
    auto [first, end] = split_at_pages(table, address + shift, length);
    std::vector<FreePages::Piece> gone;
    for (auto at = table.runs().lower_bound(first); at != table.runs().end() && at->first < end; ++at)
      if (--at->second.value.users == 0) gone.push_back({at->first, at->second.pages});
    for (const FreePages::Piece& piece : gone) drop(owner, piece);
  }

  /// The physical address of a translated address of a process; nothing where its page is not registered.
  std::optional<std::uint64_t> translate(std::uint32_t owner, std::uint64_t address) const {
    auto table = first_stage_.find(owner);
    PageRuns<Pinned>::Run one{};
    PageRuns<Target>::Run two{};
    if (table == first_stage_.end() || !table->second.find(address >> page_bits_, one) ||
        !second_stage_.find(one.value.to, two))
      return std::nullopt;
    return two.value.to << page_bits_ | (address & ((std::uint64_t{1} << page_bits_) - 1));
  }

  /// How many bytes from a translated address on have physical addresses that follow each other, up to
  /// `length`.
  std::uint64_t contiguous(std::uint32_t owner, std::uint64_t address, std::uint64_t length) const {
    std::uint64_t page = std::uint64_t{1} << page_bits_, done = 0;
    auto begin = translate(owner, address);
    while (begin && done < length) {
      auto here = translate(owner, address + done);
      if (!here || *here != *begin + done) break;
      PageRuns<Pinned>::Run one{};
      PageRuns<Target>::Run two{};
      first_stage_.at(owner).find((address + done) >> page_bits_, one);
      second_stage_.find(one.value.to, two);
      done += (std::min(one.pages, two.pages) << page_bits_) - ((address + done) & (page - 1));
    }
    return std::min(done, length);
  }

  /// Whose memory a physical address is.
  std::optional<Behind> behind(std::uint64_t physical) const {
    std::uint64_t mask = (std::uint64_t{1} << page_bits_) - 1;
    PageRuns<Owned>::Run run{};
    if (!owners_.find(physical >> page_bits_, run)) return std::nullopt;
    const Owned& first = run.value;
    std::uint64_t pages = run.pages;
    for (PageRuns<Owned>::Run next{}; owners_.find((physical >> page_bits_) + pages, next);
         pages += next.pages)
      if (Owned follows = first.after(pages); next.value.owner != follows.owner ||
                                              next.value.page != follows.page ||
                                              next.value.shift != follows.shift)
        break;
    return Behind{first.owner, (first.page << page_bits_ | (physical & mask)) - first.shift,
                  (pages << page_bits_) - (physical & mask)};
  }

 private:
  struct Target {
    std::uint64_t to;
    Target after(std::uint64_t n) const { return {to + n}; }
  };
  struct Pinned {
    std::uint64_t to;
    std::uint32_t users;
    Pinned after(std::uint64_t n) const { return {to + n, users}; }
  };
  struct Owned {
    std::uint32_t owner;
    std::uint64_t page, shift;
    Owned after(std::uint64_t n) const { return {owner, page + n, shift}; }
  };

  /// The pages of a range, first and behind the last; runs begin and end there afterwards.
  std::pair<std::uint64_t, std::uint64_t> split_at_pages(PageRuns<Pinned>& table, std::uint64_t address,
                                                         std::uint64_t length) const {
    std::uint64_t first = address >> page_bits_, end = ((address + length - 1) >> page_bits_) + 1;
    table.split(first);
    table.split(end);
    return {first, end};
  }

  /// Pages without frames get some, in both stages.
  bool back(std::uint32_t owner, std::uint64_t page, std::uint64_t pages, std::uint64_t shift,
            bool together) {
    auto middle = free_intermediate_.take(pages, together);
    auto frames = free_frames_.take(pages, together);
    if (middle.empty() || frames.empty()) {
      for (const FreePages::Piece& piece : middle) free_intermediate_.give(piece);
      for (const FreePages::Piece& piece : frames) free_frames_.give(piece);
      return false;
    }
    for (std::size_t m = 0, f = 0; m < middle.size();) {
      std::uint64_t run = std::min(middle[m].pages, frames[f].pages);
      first_stage_[owner].add(page, run, {middle[m].page, 0});
      second_stage_.add(middle[m].page, run, {frames[f].page});
      owners_.add(frames[f].page, run, {owner, page, shift});
      page += run;
      for (FreePages::Piece* piece : {&middle[m], &frames[f]}) {
        piece->page += run;
        piece->pages -= run;
      }
      m += middle[m].pages == 0;
      f += frames[f].pages == 0;
    }
    return true;
  }

  void drop(std::uint32_t owner, FreePages::Piece pages) {
    PageRuns<Pinned>& table = first_stage_[owner];
    for (std::uint64_t page = pages.page, end = page + pages.pages; page < end;) {
      PageRuns<Pinned>::Run one{};
      PageRuns<Target>::Run two{};
      table.find(page, one);
      second_stage_.find(one.value.to, two);
      std::uint64_t run = std::min({one.pages, two.pages, end - page});
      second_stage_.remove(one.value.to, run);
      owners_.remove(two.value.to, run);
      free_intermediate_.give({one.value.to, run});
      free_frames_.give({two.value.to, run});
      table.remove(page, run);
      page += run;
    }
  }

  unsigned page_bits_;
  std::map<std::uint32_t, PageRuns<Pinned>> first_stage_;  // by process
  PageRuns<Target> second_stage_;
  PageRuns<Owned> owners_;  // by frame
  FreePages free_intermediate_, free_frames_;
};

}  // namespace weft::nic
