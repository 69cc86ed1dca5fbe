#include "nic/physical_memory.hpp"

#include <algorithm>
#include <iterator>

namespace weft::nic {

FreePages::FreePages(std::uint64_t pages, bool from_the_top) : top_(from_the_top) { free_[0] = pages; }

std::vector<FreePages::Piece> FreePages::take(std::uint64_t pages, bool in_one) {
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

void FreePages::give(Piece piece) {
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

FreePages::Piece FreePages::cut(std::map<std::uint64_t, std::uint64_t>::iterator at, std::uint64_t pages) {
  auto [page, there] = *at;
  free_.erase(at);
  if (there > pages) free_[top_ ? page : page + pages] = there - pages;
  return {top_ ? page + there - pages : page, pages};
}

PhysicalMemory::PhysicalMemory(unsigned bits, unsigned page_bits)
    : page_bits_(page_bits),
      free_intermediate_(std::uint64_t{1} << (bits > page_bits ? bits - page_bits : 0), false),
      free_frames_(std::uint64_t{1} << (bits > page_bits ? bits - page_bits : 0), true) {}

PhysicalMemory::~PhysicalMemory() = default;

bool PhysicalMemory::pin(std::uint32_t owner, std::uint64_t address, std::uint64_t length,
                         std::uint64_t shift, bool together) {
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

void PhysicalMemory::unpin(std::uint32_t owner, std::uint64_t address, std::uint64_t length,
                           std::uint64_t shift) {
  PageRuns<Pinned>& table = first_stage_[owner];
  auto [first, end] = split_at_pages(table, address + shift, length);
  std::vector<FreePages::Piece> gone;
  for (auto at = table.runs().lower_bound(first); at != table.runs().end() && at->first < end; ++at)
    if (--at->second.value.users == 0) gone.push_back({at->first, at->second.pages});
  for (const FreePages::Piece& piece : gone) drop(owner, piece);
}

std::optional<std::uint64_t> PhysicalMemory::translate(std::uint32_t owner, std::uint64_t address) const {
  auto table = first_stage_.find(owner);
  PageRuns<Pinned>::Run one{};
  PageRuns<Target>::Run two{};
  if (table == first_stage_.end() || !table->second.find(address >> page_bits_, one) ||
      !second_stage_.find(one.value.to, two))
    return std::nullopt;
  return two.value.to << page_bits_ | (address & ((std::uint64_t{1} << page_bits_) - 1));
}

std::uint64_t PhysicalMemory::contiguous(std::uint32_t owner, std::uint64_t address,
                                         std::uint64_t length) const {
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

std::optional<PhysicalMemory::Behind> PhysicalMemory::behind(std::uint64_t physical) const {
  std::uint64_t mask = (std::uint64_t{1} << page_bits_) - 1;
  PageRuns<Owned>::Run run{};
  if (!owners_.find(physical >> page_bits_, run)) return std::nullopt;
  const Owned& first = run.value;
  std::uint64_t pages = run.pages;
  for (PageRuns<Owned>::Run next{}; owners_.find((physical >> page_bits_) + pages, next); pages += next.pages)
    if (Owned follows = first.after(pages); next.value.owner != follows.owner ||
                                            next.value.page != follows.page ||
                                            next.value.shift != follows.shift)
      break;
  return Behind{first.owner, (first.page << page_bits_ | (physical & mask)) - first.shift,
                (pages << page_bits_) - (physical & mask)};
}

std::pair<std::uint64_t, std::uint64_t> PhysicalMemory::split_at_pages(PageRuns<Pinned>& table,
                                                                       std::uint64_t address,
                                                                       std::uint64_t length) const {
  std::uint64_t first = address >> page_bits_, end = ((address + length - 1) >> page_bits_) + 1;
  table.split(first);
  table.split(end);
  return {first, end};
}

bool PhysicalMemory::back(std::uint32_t owner, std::uint64_t page, std::uint64_t pages, std::uint64_t shift,
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

void PhysicalMemory::drop(std::uint32_t owner, FreePages::Piece pages) {
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

}  // namespace weft::nic
