// A node's physical memory behind the pages that processes have registered there.
//
// Two stages lead to it. The first takes a process's page to an intermediate one, which is what the node's
// operating system calls memory; the second, kept below that system, takes it to a frame. Frames are found
// for a page when it is registered first, and kept until its last registration is gone. Runs of pages are
// one entry in each table, so that registering a terabyte costs no more than registering a page.
#pragma once

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
  FreePages(std::uint64_t pages, bool from_the_top);

  /// So many pages, in as few pieces as are easily found; empty where there are not so many, or not in one
  /// piece where that is asked for.
  std::vector<Piece> take(std::uint64_t pages, bool in_one);

  void give(Piece piece);

 private:
  Piece cut(std::map<std::uint64_t, std::uint64_t>::iterator at, std::uint64_t pages);

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

  PhysicalMemory(unsigned bits, unsigned page_bits);
  ~PhysicalMemory();

  /// Finds frames for the pages of a range that have none. `shift` leads from the process's addresses to
  /// those that are translated. False, and nothing has changed, where frames run out or do not lie together.
  bool pin(std::uint32_t owner, std::uint64_t address, std::uint64_t length, std::uint64_t shift,
           bool together);

  void unpin(std::uint32_t owner, std::uint64_t address, std::uint64_t length, std::uint64_t shift);

  /// The physical address of a translated address of a process; nothing where its page is not registered.
  std::optional<std::uint64_t> translate(std::uint32_t owner, std::uint64_t address) const;

  /// How many bytes from a translated address on have physical addresses that follow each other, up to
  /// `length`.
  std::uint64_t contiguous(std::uint32_t owner, std::uint64_t address, std::uint64_t length) const;

  /// Whose memory a physical address is.
  std::optional<Behind> behind(std::uint64_t physical) const;

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
                                                         std::uint64_t length) const;

  /// Pages without frames get some, in both stages.
  bool back(std::uint32_t owner, std::uint64_t page, std::uint64_t pages, std::uint64_t shift, bool together);

  void drop(std::uint32_t owner, FreePages::Piece pages);

  unsigned page_bits_;
  std::map<std::uint32_t, PageRuns<Pinned>> first_stage_;  // by process
  PageRuns<Target> second_stage_;
  PageRuns<Owned> owners_;  // by frame
  FreePages free_intermediate_, free_frames_;
};

}  // namespace weft::nic
