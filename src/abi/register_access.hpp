// Which register a request names, and whether whoever asks may write it: the rights of registers.hpp, applied
// in one place for whoever keeps a file of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "abi/registers.hpp"

namespace weft::abi::registers {

/// What rights there are on a register, by bit.
struct Rights {
  std::uint64_t offset = 0;
  std::uint64_t readable = 0;               // by anybody: no field of today's keeps its value to itself
  std::array<std::uint64_t, 4> writable{};  // by By
};

struct Block {
  std::uint64_t first = 0, stride = 0, bytes = 0;
  bool interfaces = false, routers = false;
};

namespace detail {

consteval std::size_t count(Entry::Kind kind) {
  return static_cast<std::size_t>(std::count_if(std::begin(kDeclaration), std::end(kDeclaration),
                                                [&](const Entry& e) { return e.kind == kind; }));
}

consteval auto all_blocks() {
  std::array<Block, count(Entry::Kind::Block)> out{};
  std::size_t n = 0;
  for (const Entry& e : kDeclaration) {
    if (e.kind == Entry::Kind::Block) out[n++] = {e.first, e.stride, 0, e.interfaces, e.routers};
    if (e.kind == Entry::Kind::Register) out[n - 1].bytes += 8;
  }
  return out;
}

consteval auto all_rights() {
  std::array<Rights, count(Entry::Kind::Register)> out{};
  std::size_t n = 0;
  std::uint64_t next = 0;
  unsigned low = 0;
  for (const Entry& e : kDeclaration) {
    if (e.kind == Entry::Kind::Block) next = e.first;
    if (e.kind == Entry::Kind::Register) {
      out[n++].offset = next;
      next += 8;
      low = 0;
    }
    if (e.kind != Entry::Kind::Field) continue;
    const std::uint64_t mask = (e.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << e.bits) - 1) << low;
    if (e.read == By::Any) out[n - 1].readable |= mask;
    if (e.write != By::Nobody) out[n - 1].writable[static_cast<std::size_t>(e.write)] |= mask;
    low += e.bits;
  }
  return out;
}

}  // namespace detail

inline constexpr auto kBlocks = detail::all_blocks();
inline constexpr auto kRights = detail::all_rights();

/// A register that a request names.
struct Word {
  std::uint64_t offset = 0;  // of the register in the first block of its kind
  std::uint64_t block = 0;   // where that begins
  std::uint64_t index = 0;
  const Rights* rights = nullptr;
};

/// `indices`: how many blocks of a kind the chip has, by where the first begins. False: there is none there.
template <class Indices>
bool find_word(bool router, std::uint64_t offset, const Indices& indices, Word& word) {
  for (const Block& block : kBlocks) {
    if (offset < block.first || !(router ? block.routers : block.interfaces)) continue;
    const std::uint64_t index = block.stride ? (offset - block.first) / block.stride : 0;
    const std::uint64_t within = offset - block.first - index * block.stride;
    if (within >= block.bytes || (block.stride && index >= indices(block.first))) continue;
    const auto rights = std::find_if(kRights.begin(), kRights.end(),
                                     [&](const Rights& r) { return r.offset == block.first + within; });
    word = {block.first + within, block.first, index, &*rights};
    return true;
  }
  return false;
}

/// Who asks, to a chip: on its node, or what the register chip.manager names it as.
struct Who {
  bool near = false, manager = false;
  bool successor = false;  // who may make himself the manager
};

inline constexpr std::uint64_t kNobodyManages = 0xffffffff;  // in chip.manager.node

/// As chip.manager reads. Where nobody is the manager yet, anybody may make himself that.
constexpr Who who(std::uint64_t node, bool near, std::uint64_t manager) {
  constexpr Spot kNode = spot("chip.manager.node"), kSuccessor = spot("chip.manager.successor");
  const std::uint64_t named = kNode.of(manager), next = kSuccessor.of(manager);
  return {near, named == node, named == kNobodyManages || next == node + 1};
}

/// Bits of a register that he may write.
constexpr std::uint64_t writable(const Word& word, Who who) {
  const auto& by = word.rights->writable;
  std::uint64_t mask = by[static_cast<std::size_t>(By::Any)];
  if (who.near || who.manager) mask |= by[static_cast<std::size_t>(By::Node)];
  if (who.manager || (who.successor && word.offset == spot("chip.manager").offset))
    mask |= by[static_cast<std::size_t>(By::Manager)];
  return mask;
}

/// Nothing that he may not write would change; what hardware alone writes is ignored.
constexpr bool may_write(const Word& word, Who who, std::uint64_t now, std::uint64_t wanted) {
  const auto& by = word.rights->writable;
  const std::uint64_t somebody = by[1] | by[2] | by[3];
  return somebody != 0 && !((wanted ^ now) & somebody & ~writable(word, who));
}

// Rows of the routing tables: packets of the router itself, or that come in by a port and a class of
// channels, as many as the routing tells apart.
constexpr std::uint64_t table_row(std::uint64_t in_port, std::uint64_t in_class, std::uint64_t classes) {
  return 1 + in_port * classes + in_class;
}

}  // namespace weft::abi::registers
