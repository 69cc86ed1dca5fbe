#include "workload/collectives.hpp"

#include <algorithm>
#include <bit>

#include "workload/interface_times.hpp"

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

namespace {

enum class Way { Both, Inward, Outward };

/// A round of the sequences of collective/sequences.hpp.
void along_tree(ProgramBuilder& p, Group members, std::uint64_t bytes, Way way, bool combines) {
  const InterfaceTimes& t = *p.interfaces;
  std::vector<Rank> group(members.begin(), members.end());  // by place
  const collective::Tree tree = tree_of(t, group);
  const auto n = static_cast<collective::Place>(group.size());
  const std::uint32_t up_tag = p.new_tag(), down_tag = p.new_tag();
  const std::uint64_t packet = t.header + bytes;
  const auto pairs = static_cast<std::int64_t>(combines ? (bytes + 7) / 8 : 0);
  for (collective::Place place = 0; place < n; ++place) {
    const Rank r = group[place];
    const std::vector<collective::Place> children = tree.children(place);
    Step fired = 0, posted = 0;
    bool has_fired = false;
    if (way != Way::Outward) {
      posted = p.interface_delay(r, {}, t.post);
      std::vector<Step> inputs{posted};
      for (collective::Place child : children) {
        Step arrived = p.interface_receive(r, group[child], packet, up_tag);
        inputs.push_back(p.interface_delay(r, {arrived}, t.receive));
      }
      const Time takes =
          t.trigger + Time{t.combine.value * pairs * static_cast<std::int64_t>(children.size())};
      fired = p.interface_delay(r, inputs, takes);
      has_fired = true;
      if (place)
        p.interface_send(r, p.interface_delay(r, {fired}, t.send), group[tree.parent(place)], packet, up_tag);
    }
    if (way == Way::Inward) {
      // Only the root hears of it; others go on once they have posted.
      p.await(r, place ? posted : p.interface_delay(r, {fired}, t.told));
      p.wait(r);
      continue;
    }
    if (place) {
      Step arrived = p.interface_receive(r, group[tree.parent(place)], packet, down_tag);
      fired = p.interface_delay(r, {arrived}, t.receive + t.trigger);
    } else if (!has_fired) {
      fired = p.interface_delay(r, {}, t.post + t.trigger);
    }
    for (std::size_t i = 0; i < children.size(); ++i)
      p.interface_send(
          r, p.interface_delay(r, {fired}, t.send + Time{t.next.value * static_cast<std::int64_t>(i)}),
          group[children[i]], packet, down_tag);
    p.await(r, p.interface_delay(r, {fired}, t.told));
    p.wait(r);
  }
}

bool is_offloaded(const ProgramBuilder& p, Group group, std::uint64_t bytes, bool combines) {
  return p.interfaces && group.size() > 1 && bytes <= p.interfaces->limit &&
         (!combines || p.interfaces->units);
}

}  // namespace

void barrier(ProgramBuilder& p, Group group) {
  if (is_offloaded(p, group, 0, false)) return along_tree(p, group, 0, Way::Both, false);
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t ahead = 1; ahead < n; ahead *= 2)
    for (std::size_t i = 0; i < n; ++i)
      p.exchange(group[i], group[(i + ahead) % n], group[(i + n - ahead) % n], 0, tag);
}

void broadcast(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  if (is_offloaded(p, group, bytes, false)) return along_tree(p, group, bytes, Way::Outward, false);
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
  if (is_offloaded(p, group, bytes, true)) return along_tree(p, group, bytes, Way::Inward, true);
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
  if (is_offloaded(p, group, bytes, true)) return along_tree(p, group, bytes, Way::Both, true);
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
