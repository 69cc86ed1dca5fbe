#include "workload/collectives.hpp"

#include <algorithm>
#include <bit>

namespace weft::workload {

namespace {

/// `rounds` times round the ring: everyone hands a piece to the next and gets one from the one before.
void ring(ProgramBuilder& p, Group group, std::uint64_t piece, std::size_t rounds) {
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < rounds; ++k)
      p.exchange(group[i], group[(i + 1) % n], group[(i + n - 1) % n], piece, tag);
}

}  // namespace

void barrier(ProgramBuilder& p, Group group) {
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t ahead = 1; ahead < n; ahead *= 2)
    for (std::size_t i = 0; i < n; ++i)
      p.exchange(group[i], group[(i + ahead) % n], group[(i + n - ahead) % n], 0, tag);
}

void broadcast(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t lowest = i == 0 ? std::bit_ceil(n) : i & (~i + 1);
    if (i > 0) {
      p.receive(group[i], group[i - lowest], bytes, tag);
      p.wait(group[i]);
    }
    for (std::size_t half = lowest / 2; half > 0; half /= 2)
      if (i + half < n) p.send(group[i], group[i + half], bytes, tag);
    p.wait(group[i]);
  }
}

void reduce(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t lowest = i == 0 ? std::bit_ceil(n) : i & (~i + 1);
    for (std::size_t half = 1; half < lowest; half *= 2)
      if (i + half < n) p.receive(group[i], group[i + half], bytes, tag);
    p.wait(group[i]);
    if (i > 0) p.send(group[i], group[i - lowest], bytes, tag);
    p.wait(group[i]);
  }
}

void all_reduce(ProgramBuilder& p, Group group, std::uint64_t bytes, AllReduce algorithm) {
  std::size_t n = group.size();
  if (n < 2) return;
  if (algorithm == AllReduce::Ring) return ring(p, group, (bytes + n - 1) / n, 2 * (n - 1));
  if (algorithm == AllReduce::Tree) {
    reduce(p, group, bytes);
    return broadcast(p, group, bytes);
  }
  std::uint32_t tag = p.new_tag();
  std::size_t power = std::bit_floor(n);
  for (std::size_t i = power; i < n; ++i) {
    p.send(group[i], group[i - power], bytes, tag);
    p.receive(group[i - power], group[i], bytes, tag);
    p.wait(group[i - power]);
  }
  for (std::size_t apart = 1; apart < power; apart *= 2)
    for (std::size_t i = 0; i < power; ++i)
      p.exchange(group[i], group[i ^ apart], group[i ^ apart], bytes, tag);
  for (std::size_t i = power; i < n; ++i) {
    p.send(group[i - power], group[i], bytes, tag);
    p.wait(group[i - power]);
    p.receive(group[i], group[i - power], bytes, tag);
    p.wait(group[i]);
  }
}

void all_gather(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  if (group.size() > 1) ring(p, group, bytes, group.size() - 1);
}

void reduce_scatter(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  if (group.size() > 1) ring(p, group, bytes, group.size() - 1);
}

void all_to_all(ProgramBuilder& p, Group group, std::uint64_t bytes, AllToAll algorithm) {
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t ahead = 1; ahead < n; ++ahead) {
      p.receive(group[i], group[(i + n - ahead) % n], bytes, tag);
      p.send(group[i], group[(i + ahead) % n], bytes, tag);
      if (algorithm == AllToAll::Pairwise) p.wait(group[i]);
    }
    p.wait(group[i]);
  }
}

}  // namespace weft::workload
