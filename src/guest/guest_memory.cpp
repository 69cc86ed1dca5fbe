#include "guest/guest_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace weft::guest {

namespace {

constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
constexpr std::size_t kMostRegions = 8;

}  // namespace

GuestMemory::~GuestMemory() { clear(); }

std::string GuestMemory::add(std::uint64_t address, std::uint64_t size, int file, std::uint64_t offset) {
  if (regions_.size() == kMostRegions) return "more pieces of guest memory than a node has";
  if (!size || size > kLargest || offset > kLargest || address > ~std::uint64_t{0} - size)
    return fmt::format("guest memory of {} bytes at {:#x} is none", size, address);
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
  if (fcntl(file, F_ADD_SEALS, kSeals) != 0 && (fcntl(file, F_GET_SEALS) & kSeals) != kSeals)
    return fmt::format("the file of guest memory cannot be sealed: {}", std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) != 0 || static_cast<std::uint64_t>(status.st_size) < offset + size)
    return "the file of guest memory is shorter than the memory";
  // From the file's beginning: its offset need not be a page's.
  void* mapped = mmap(nullptr, offset + size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return fmt::format("guest memory cannot be mapped: {}", std::strerror(errno));
  regions_.push_back({address, size, static_cast<std::uint8_t*>(mapped) + offset, mapped, offset + size});
  return "";
}

void GuestMemory::add(std::uint64_t address, std::uint8_t* bytes, std::uint64_t size) {
  regions_.push_back({address, size, bytes, nullptr, 0});
}

void GuestMemory::clear() {
  for (const Region& region : regions_)
    if (region.mapped) munmap(region.mapped, region.mapped_size);
  regions_.clear();
}

}  // namespace weft::guest
