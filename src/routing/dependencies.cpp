#include "routing/dependencies.hpp"

#include <algorithm>
#include <bit>

namespace weft::routing {

ChannelGroups::ChannelGroups(const Routing& routing, unsigned channels) {
  ChannelPlan plan = routing.plan(channels);
  complete_ = plan.complete;
  for (unsigned c = 0; c < routing.classes(); ++c) {
    auto at = std::find(first_channel_.begin(), first_channel_.end(), plan.begin[c]);
    group_.push_back(static_cast<unsigned>(at - first_channel_.begin()));
    if (at == first_channel_.end()) first_channel_.push_back(plan.begin[c]);
  }
}

LocalDependencies::LocalDependencies(const Routing& routing, const ChannelGroups& groups)
    : routing_(routing), graph_(routing.graph()), groups_(groups) {
  std::uint64_t rows = 0, masks = 0;
  for (RouterId r = 0; r < graph_.routers(); ++r) {
    std::uint32_t columns = graph_.port_count(r) * groups_.count();
    words_.push_back((columns + 63) / 64);
    row_begin_.push_back(rows);
    mask_begin_.push_back(masks);
    rows += std::uint64_t{columns} * words_.back();
    masks += words_.back();
  }
  bits_.assign(rows, 0);
  in_.assign(masks, 0);
  out_.assign(masks, 0);
  arrivals_.assign(masks, 0);
  starts_.assign(masks, 0);
}

void LocalDependencies::add(const StateExplorer& explorer, bool via_leg, bool second_legs) {
  auto set = [&](std::vector<Word>& masks, RouterId r, unsigned b) {
    masks[mask_begin_[r] + b / 64] |= Word{1} << (b % 64);
  };
  bool by_input = routing_.uses_input();
  if (!by_input)
    for (std::uint32_t state : explorer.states()) {
      RouterId r = explorer.router_of(state);
      std::fill_n(&in_[mask_begin_[r]], words_[r], 0);
    }
  // First the channels packets come in by: they lead to another router, which may come before this one.
  for (std::uint32_t state : explorer.states())
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e) {
      PortId receiving = graph_.peer(e->out_port);
      RouterId r = graph_.port_router(receiving);
      bool arrived = e->next == StateExplorer::kArrived;
      if (arrived && via_leg) set(arrivals_, r, bit(receiving, e->channel_class));
      if (!arrived && !by_input) set(in_, r, bit(receiving, e->channel_class));
    }
  for (std::uint32_t state : explorer.states()) {
    RouterId r = explorer.router_of(state);
    Word* out = &out_[mask_begin_[r]];
    std::fill_n(out, words_[r], 0);
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e)
      set(out_, r, bit(e->out_port, e->channel_class));
    bool injected = explorer.in_port_of(state) == kNone;
    if (second_legs && injected)
      for (unsigned w = 0; w < words_[r]; ++w) starts_[mask_begin_[r] + w] |= out[w];
    auto depend = [&](unsigned in) {
      Word* to = row(r, in);
      for (unsigned w = 0; w < words_[r]; ++w) to[w] |= out[w];
    };
    if (by_input) {
      if (!injected) depend(bit(explorer.in_port_of(state), explorer.in_class_of(state)));
    } else {
      for (unsigned w = 0; w < words_[r]; ++w)
        for (Word left = in_[mask_begin_[r] + w]; left; left &= left - 1)
          depend(w * 64 + static_cast<unsigned>(std::countr_zero(left)));
    }
  }
}

void LocalDependencies::merge(const LocalDependencies& other) {
  auto unite = [](std::vector<Word>& a, const std::vector<Word>& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] |= b[i];
  };
  unite(bits_, other.bits_);
  unite(arrivals_, other.arrivals_);
  unite(starts_, other.starts_);
}

void LocalDependencies::join_legs() {
  for (RouterId r = 0; r < graph_.routers(); ++r)
    for (unsigned w = 0; w < words_[r]; ++w)
      for (Word left = arrivals_[mask_begin_[r] + w]; left; left &= left - 1) {
        Word* to = row(r, w * 64 + static_cast<unsigned>(std::countr_zero(left)));
        for (unsigned v = 0; v < words_[r]; ++v) to[v] |= starts_[mask_begin_[r] + v];
      }
}

void LocalDependencies::clear() {
  std::fill(bits_.begin(), bits_.end(), 0);
  std::fill(arrivals_.begin(), arrivals_.end(), 0);
  std::fill(starts_.begin(), starts_.end(), 0);
}

std::uint64_t LocalDependencies::vertices() const { return std::uint64_t{graph_.ports()} * groups_.count(); }

std::uint64_t LocalDependencies::edges() const {
  std::uint64_t sum = 0;
  for (Word word : bits_) sum += static_cast<unsigned>(std::popcount(word));
  return sum;
}

void LocalDependencies::successors(std::uint64_t vertex,
                                   const std::function<void(std::uint64_t)>& call) const {
  unsigned groups = groups_.count();
  auto receiving = static_cast<PortId>(vertex / groups);
  RouterId r = graph_.port_router(receiving);
  const Word* bits = row(r, graph_.port_index(receiving) * groups + static_cast<unsigned>(vertex % groups));
  for (unsigned w = 0; w < words_[r]; ++w)
    for (Word left = bits[w]; left; left &= left - 1) {
      unsigned out = w * 64 + static_cast<unsigned>(std::countr_zero(left));
      PortId next = graph_.peer(graph_.port(r, static_cast<PortIndex>(out / groups)));
      call(std::uint64_t{next} * groups + out % groups);
    }
}

bool LocalDependencies::has(std::uint64_t from, std::uint64_t to) const {
  bool found = false;
  successors(from, [&](std::uint64_t v) { found |= v == to; });
  return found;
}

double EscapeDependencies::bytes_needed(const Routing& routing) {
  double escape_classes = 0;
  for (unsigned c = 0; c < routing.classes(); ++c)
    escape_classes += routing.is_escape(static_cast<ChannelClass>(c));
  double vertices = 2.0 * routing.graph().cables() * escape_classes;
  double states = routing.graph().routers() +
                  (routing.uses_input() ? 1.0 * routing.graph().ports() * routing.classes() : 0);
  return (vertices + states) * vertices / 8;
}

EscapeDependencies::EscapeDependencies(const Routing& routing)
    : routing_(routing), graph_(routing.graph()), classes_(routing.classes()) {
  vertex_.assign(std::uint64_t{graph_.ports()} * classes_, kNone);
  for (PortId p = 0; p < graph_.ports(); ++p)
    for (unsigned c = 0; c < classes_; ++c)
      if (graph_.peer(p) != kNone && routing.is_escape(static_cast<ChannelClass>(c))) {
        vertex_[std::uint64_t{p} * classes_ + c] = static_cast<std::uint32_t>(vertex_port_.size());
        vertex_port_.push_back(p);
        vertex_class_.push_back(static_cast<ChannelClass>(c));
      }
  words_ = (vertices() + 63) / 64;
  matrix_.assign(vertices() * words_, 0);
}

void EscapeDependencies::add(const StateExplorer& explorer) {
  slot_.resize(explorer.state_count());
  const auto& settled = explorer.settled();
  reach_.assign(settled.size() * words_, 0);
  for (std::size_t i = 0; i < settled.size(); ++i) slot_[settled[i]] = static_cast<std::uint32_t>(i);
  auto unite = [&](Word* to, const Word* from) {
    for (std::uint64_t w = 0; w < words_; ++w) to[w] |= from[w];
  };
  // Successors come first: what a state may come to ask for is its own escape channels and, over every
  // adaptive channel, what the next state may ask for while the packet still holds what it held before.
  for (std::size_t i = 0; i < settled.size(); ++i) {
    Word* reach = &reach_[i * words_];
    bool escapes = false;
    for (auto* e = explorer.edges_begin(settled[i]); e != explorer.edges_end(settled[i]); ++e) {
      if (routing_.is_escape(e->channel_class)) {
        std::uint32_t v = vertex(graph_.peer(e->out_port), e->channel_class);
        reach[v / 64] |= Word{1} << (v % 64);
        escapes = true;
      } else if (e->next != StateExplorer::kArrived) {
        unite(reach, &reach_[slot_[e->next] * words_]);
      }
    }
    without_escape_ += !escapes;
  }
  for (std::uint32_t state : settled)
    for (auto* e = explorer.edges_begin(state); e != explorer.edges_end(state); ++e)
      if (routing_.is_escape(e->channel_class) && e->next != StateExplorer::kArrived)
        unite(&matrix_[vertex(graph_.peer(e->out_port), e->channel_class) * words_],
              &reach_[slot_[e->next] * words_]);
}

void EscapeDependencies::merge(const EscapeDependencies& other) {
  for (std::size_t i = 0; i < matrix_.size(); ++i) matrix_[i] |= other.matrix_[i];
  without_escape_ += other.without_escape_;
}

void EscapeDependencies::clear() {
  std::fill(matrix_.begin(), matrix_.end(), 0);
  without_escape_ = 0;
}

std::uint64_t EscapeDependencies::edges() const {
  std::uint64_t sum = 0;
  for (Word word : matrix_) sum += static_cast<unsigned>(std::popcount(word));
  return sum;
}

void EscapeDependencies::successors(std::uint64_t vertex,
                                    const std::function<void(std::uint64_t)>& call) const {
  for (std::uint64_t w = 0; w < words_; ++w)
    for (Word left = matrix_[vertex * words_ + w]; left; left &= left - 1)
      call(w * 64 + static_cast<unsigned>(std::countr_zero(left)));
}

namespace {

using Successors = std::function<void(std::uint64_t, const std::function<void(std::uint64_t)>&)>;

/// Vertices that are left after taking away, again and again, those nobody leads to: some of them lie on
/// cycles.
std::vector<std::uint64_t> core(std::uint64_t vertices, const Successors& successors) {
  std::vector<std::uint32_t> before(vertices, 0);
  for (std::uint64_t v = 0; v < vertices; ++v) successors(v, [&](std::uint64_t w) { ++before[w]; });
  std::vector<std::uint64_t> queue;
  for (std::uint64_t v = 0; v < vertices; ++v)
    if (before[v] == 0) queue.push_back(v);
  for (std::size_t i = 0; i < queue.size(); ++i)
    successors(queue[i], [&](std::uint64_t w) {
      if (--before[w] == 0) queue.push_back(w);
    });
  std::vector<std::uint64_t> left;
  for (std::uint64_t v = 0; v < vertices && queue.size() < vertices; ++v)
    if (before[v] > 0) left.push_back(v);
  return left;
}

}  // namespace

std::vector<std::uint64_t> find_cycle(std::uint64_t vertices, const Successors& successors) {
  std::vector<std::uint64_t> candidates = core(vertices, successors);
  if (candidates.empty()) return {};
  // Breadth first from a few of them; the first path back to the start is a shortest cycle through it.
  std::vector<std::uint64_t> best;
  std::vector<std::uint64_t> from(vertices);
  std::vector<std::uint32_t> seen(vertices, 0);
  std::size_t step = std::max<std::size_t>(1, candidates.size() / 256);
  std::uint32_t round = 0;
  auto search = [&](std::uint64_t start) {
    ++round;
    std::vector<std::uint64_t> queue{start};
    std::uint64_t last = vertices;
    for (std::size_t i = 0; i < queue.size() && last == vertices; ++i)
      successors(queue[i], [&](std::uint64_t w) {
        if (w == start && last == vertices) last = queue[i];
        if (seen[w] == round) return;
        seen[w] = round;
        from[w] = queue[i];
        queue.push_back(w);
      });
    if (last == vertices) return;
    std::vector<std::uint64_t> cycle{last};
    while (cycle.back() != start) cycle.push_back(from[cycle.back()]);
    std::reverse(cycle.begin(), cycle.end());
    if (best.empty() || cycle.size() < best.size()) best = cycle;
  };
  for (std::size_t i = 0; i < candidates.size(); i += step) search(candidates[i]);
  for (std::size_t i = 0; best.empty() && i < candidates.size(); ++i) search(candidates[i]);
  return best;
}

}  // namespace weft::routing
