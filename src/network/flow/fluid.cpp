#include "network/flow/fluid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/virtual_time.hpp"

namespace weft::network::flow {

using topology::kNone;

Fluid::Fluid(std::vector<double> capacity, double tolerance)
    : tolerance_(tolerance),
      capacity_(std::move(capacity)),
      used_(capacity_.size()),
      held_rate_(capacity_.size()),
      held_(capacity_.size()),
      head_(capacity_.size(), kNone),
      load_(capacity_.size()),
      stamp_(capacity_.size()),
      local_of_(capacity_.size()),
      dirty_(capacity_.size()) {}

std::uint32_t Fluid::take_block(std::uint32_t count) {
  if (free_blocks_.size() <= count) free_blocks_.resize(count + 1);
  if (!free_blocks_[count].empty()) {
    std::uint32_t begin = free_blocks_[count].back();
    free_blocks_[count].pop_back();
    return begin;
  }
  auto begin = static_cast<std::uint32_t>(entries_.size());
  entries_.resize(entries_.size() + count);
  return begin;
}

Fluid::FlowId Fluid::start(std::span<const Share> route, std::uint64_t bytes, std::uint64_t name, Time now,
                           std::uint32_t weight) {
  WEFT_CHECK(!route.empty() && bytes > 0, "a flow has links and bytes");
  FlowId f;
  if (free_flows_.empty()) {
    f = static_cast<FlowId>(flows_.size());
    flows_.emplace_back();
  } else {
    f = free_flows_.back();
    free_flows_.pop_back();
  }
  auto count = static_cast<std::uint32_t>(route.size());
  Flow& flow = flows_[f];
  flow = {0,
          static_cast<double>(bytes) / weight,
          now.value,
          kForever.value,
          name,
          sequence_++,
          take_block(count),
          count,
          kNone,
          kNone,
          0,
          weight};
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t at = flow.begin + i;
    LinkId link = route[i].link;
    entries_[at] = {link, f, route[i].weight * weight, head_[link], kNone};
    if (head_[link] != kNone) entries_[head_[link]].previous = at;
    head_[link] = at;
    load_[link] += route[i].weight * weight;
  }
  heap_.push_back(f);
  flow.heap_at = static_cast<std::uint32_t>(heap_.size() - 1);
  seeds_.push_back(f);  // it ends last of all until its rate is known, so the heap is in order
  return f;
}

void Fluid::end_due(Time now, std::vector<std::uint64_t>& names) {
  while (!heap_.empty() && flows_[heap_.front()].end_ps <= now.value) {
    FlowId f = heap_.front();
    Flow& flow = flows_[f];
    names.push_back(flow.name);
    FlowId last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      place(0, last);
      sift_down(0);
    }
    flow.heap_at = kNone;
    take(flow, -1);
    --held_[flow.bottleneck];
    for (std::uint32_t at = flow.begin; at < flow.begin + flow.count; ++at) {
      Entry& e = entries_[at];
      if (e.previous == kNone)
        head_[e.link] = e.next;
      else
        entries_[e.previous].next = e.next;
      if (e.next != kNone) entries_[e.next].previous = e.previous;
      load_[e.link] -= e.weight;
      if (load_[e.link] == 0) used_[e.link] = 0;  // what rounding has left
      if (!dirty_[e.link]) {
        dirty_[e.link] = true;
        dirty_links_.push_back(e.link);
      }
    }
    free_blocks_[flow.count].push_back(flow.begin);
    free_flows_.push_back(f);
  }
}

void Fluid::join(FlowId f) {
  if (flows_[f].mark == mark_ || flows_[f].heap_at == kNone) return;
  Flow& flow = flows_[f];
  flow.mark = mark_;
  joined_.push_back(f);
  old_rate_.push_back(flow.rate);
  if (flow.bottleneck == kNone) return;  // it has just started
  take(flow, -1);
  --held_[flow.bottleneck];
}

void Fluid::take(const Flow& flow, double sign) {
  double part = sign * flow.rate / kWhole;
  for (std::uint32_t at = flow.begin; at < flow.begin + flow.count; ++at)
    used_[entries_[at].link] += part * entries_[at].weight;
}

void Fluid::settle(Time now) {
  if (seeds_.empty() && dirty_links_.empty()) return;
  ++counters_.settles;
  ++mark_;
  joined_.clear();
  old_rate_.clear();
  for (FlowId f : seeds_) join(f);
  seeds_.clear();
  // Of the flows beside one that has ended, only those can grow that their common link held back.
  for (LinkId l : dirty_links_) {
    dirty_[l] = false;
    if (held_[l] == 0) continue;
    for (std::uint32_t at = head_[l]; at != kNone; at = entries_[at].next)
      if (flows_[entries_[at].flow].bottleneck == l) join(entries_[at].flow);
  }
  dirty_links_.clear();
  bool again = !joined_.empty();
  while (again) {
    if (joined_.size() * 2 > heap_.size())  // most of all: then all, and one round is enough
      for (FlowId f : heap_) join(f);
    fill();
    again = joined_.size() < heap_.size() && extend();
  }
  for (std::size_t i = 0; i < joined_.size(); ++i) {
    Flow& flow = flows_[joined_[i]];
    double old = old_rate_[i];
    bool same = std::abs(flow.rate - old) <= kExact * 1e-3 * old;
    if (same) flow.rate = old;
    take(flow, 1);
    ++held_[flow.bottleneck];
    held_rate_[flow.bottleneck] = flow.rate;
    if (same) continue;
    WEFT_CHECK(flow.rate > 0, "a flow has come to a standstill");
    flow.left = std::max(0.0, flow.left - old * static_cast<double>(now.value - flow.since_ps));
    flow.since_ps = now.value;
    // A thousandth of a picosecond is noise: flows that end together must not end one after the other.
    double time = std::ceil(flow.left / flow.rate - 1e-3);
    flow.end_ps = later(now, time < static_cast<double>(kEndOfTime.value)
                                 ? Time{std::max<std::int64_t>(0, static_cast<std::int64_t>(time))}
                                 : kEndOfTime)
                      .value;
    sift_up(flow.heap_at);
    sift_down(flow.heap_at);
  }
}

// Progressive filling of those that joined; all others keep their rates.
void Fluid::fill() {
  ++counters_.rounds;
  counters_.filled += joined_.size();
  ++epoch_;
  local_.clear();
  for (FlowId f : joined_) {
    Flow& flow = flows_[f];
    flow.rate = -1;
    for (std::uint32_t at = flow.begin; at < flow.begin + flow.count; ++at) {
      LinkId link = entries_[at].link;
      if (stamp_[link] != epoch_) {
        stamp_[link] = epoch_;
        local_of_[link] = static_cast<std::uint32_t>(local_.size());
        local_.push_back({link, 0, std::max(0.0, capacity_[link] - used_[link]), -1, 0});
      }
      local_[local_of_[link]].weight += entries_[at].weight;
    }
  }
  auto later = [](const Share64& a, const Share64& b) {
    return a.share != b.share ? a.share > b.share : a.local > b.local;
  };
  shares_.clear();
  for (std::uint32_t i = 0; i < local_.size(); ++i) {
    LocalLink& l = local_[i];
    shares_.push_back({l.left * kWhole / l.weight, i});
  }
  std::make_heap(shares_.begin(), shares_.end(), later);
  std::size_t growing = joined_.size();
  while (growing > 0) {
    std::pop_heap(shares_.begin(), shares_.end(), later);
    Share64 least = shares_.back();
    shares_.pop_back();
    LocalLink& l = local_[least.local];
    if (l.weight == 0) continue;
    double share = std::max(0.0, l.left * kWhole / l.weight);
    if (share > least.share) {
      shares_.push_back({share, least.local});
      std::push_heap(shares_.begin(), shares_.end(), later);
      continue;
    }
    l.level = share;
    for (std::uint32_t at = head_[l.link]; at != kNone; at = entries_[at].next) {
      Flow& flow = flows_[entries_[at].flow];
      if (flow.mark != mark_ || flow.rate >= 0) continue;
      flow.rate = share;
      flow.bottleneck = l.link;
      --growing;
      for (std::uint32_t own = flow.begin; own < flow.begin + flow.count; ++own) {
        LocalLink& crossed = local_[local_of_[entries_[own].link]];
        crossed.weight -= entries_[own].weight;
        crossed.left -= share * entries_[own].weight / kWhole;
        crossed.fastest = share;  // shares only grow
      }
    }
  }
}

// Lets flows join that have lost their bottleneck, or that are faster than one held back on the same link.
bool Fluid::extend() {
  std::size_t before = joined_.size();
  for (const LocalLink& l : local_) {
    // Those it holds back are all as fast as any flow on it was. They stay so where it is still full and
    // nobody has become faster; where it holds back one that joined, everyone on it must be looked at.
    bool full = l.left <= tolerance_ * capacity_[l.link];
    bool holds_on = held_[l.link] == 0 || (full && l.fastest <= held_rate_[l.link] * (1 + tolerance_));
    if (l.level < 0 && holds_on) continue;
    for (std::uint32_t at = head_[l.link]; at != kNone; at = entries_[at].next) {
      FlowId f = entries_[at].flow;
      const Flow& flow = flows_[f];
      if (flow.mark == mark_) continue;
      bool lost = flow.bottleneck == l.link && (!full || flow.rate < l.fastest * (1 - tolerance_));
      bool greedy = l.level >= 0 && flow.rate > l.level * (1 + tolerance_);
      if (lost || greedy) join(f);
    }
  }
  return joined_.size() > before;
}

void Fluid::sift_up(std::uint32_t at) {
  FlowId f = heap_[at];
  while (at > 0) {
    std::uint32_t parent = (at - 1) / 2;
    if (!sooner(f, heap_[parent])) break;
    place(at, heap_[parent]);
    at = parent;
  }
  place(at, f);
}

void Fluid::sift_down(std::uint32_t at) {
  FlowId f = heap_[at];
  for (;;) {
    std::uint32_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && sooner(heap_[child + 1], heap_[child])) ++child;
    if (!sooner(heap_[child], f)) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, f);
}

void Fluid::check_conservation() const {
  std::vector<double> used(capacity_.size()), fastest(capacity_.size());
  for (FlowId f : heap_)
    for (std::uint32_t at = flows_[f].begin; at < flows_[f].begin + flows_[f].count; ++at) {
      used[entries_[at].link] += flows_[f].rate * entries_[at].weight / kWhole;
      fastest[entries_[at].link] = std::max(fastest[entries_[at].link], flows_[f].rate);
    }
  for (std::size_t l = 0; l < used.size(); ++l)
    WEFT_CHECK(used[l] <= capacity_[l] * (1 + 1e-6), fmt::format("link {} carries more than it can", l));
  for (FlowId f : heap_) {
    LinkId l = flows_[f].bottleneck;
    WEFT_CHECK(
        l != kNone && used[l] >= capacity_[l] * (1 - 1e-6) && flows_[f].rate >= fastest[l] * (1 - 1e-6),
        fmt::format("flow {} is not held back by link {}", f, l));
  }
}

}  // namespace weft::network::flow
