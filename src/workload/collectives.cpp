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

enum class Way { Both, Inward, Outward };

/// A round of the sequences of collective/sequences.hpp. Where the root of the call is not that of the tree,
/// it gives its data to that one first, or gets the result from it.
class TreeRound {
 public:
  TreeRound(ProgramBuilder& p, Group members, std::uint64_t bytes, Way way, bool combines, Rank root)
      : p_(p),
        t_(*p.interfaces),
        group_(members.begin(), members.end()),
        tree_(tree_of(t_, group_)),
        way_(way),
        packet_(t_.header + bytes),
        pairs_(static_cast<std::int64_t>(combines ? (bytes + 7) / 8 : 0)),
        up_tag_(p.new_tag()),
        down_tag_(p.new_tag()),
        root_(
            static_cast<collective::Place>(std::find(group_.begin(), group_.end(), root) - group_.begin())) {
    if (root_) root_tag_ = p.new_tag();
  }

  void add() {
    const auto n = static_cast<collective::Place>(group_.size());
    for (collective::Place place = 0; place < n; ++place) {
      if (way_ == Way::Inward)
        inward(place);
      else
        outward(place, way_ == Way::Both ? up(place).fired : kNone);
      p_.wait(group_[place]);
    }
  }

 private:
  static constexpr Step kNone = ~Step{0};
  struct Sent {
    Step posted, fired;
  };

  /// Its own and its children's parts, together to its parent.
  Sent up(collective::Place place) {
    const Rank r = group_[place];
    const std::vector<collective::Place> children = tree_.children(place);
    const Step posted = p_.interface_delay(r, {}, t_.post);
    std::vector<Step> inputs{posted};
    for (collective::Place child : children) {
      const Step arrived = p_.interface_receive(r, group_[child], packet_, up_tag_);
      inputs.push_back(p_.interface_delay(r, {arrived}, t_.receive));
    }
    const Time takes =
        t_.trigger + Time{t_.combine.value * pairs_ * static_cast<std::int64_t>(children.size())};
    const Step fired = p_.interface_delay(r, inputs, takes);
    if (place) send(r, fired, group_[tree_.parent(place)], up_tag_);
    return {posted, fired};
  }

  /// Only the root hears of it; others go on once they have posted.
  void inward(collective::Place place) {
    const Rank r = group_[place];
    const auto [posted, fired] = up(place);
    if (place == 0 && root_) send(r, fired, group_[root_], root_tag_);
    if (place != root_) return p_.await(r, posted);
    Step ready = fired;
    if (place) {
      const Step arrived = p_.interface_receive(r, group_[0], packet_, root_tag_);
      ready = p_.interface_delay(r, {arrived}, t_.receive + t_.trigger);
    }
    p_.await(r, p_.interface_delay(r, {ready}, t_.told));
  }

  void outward(collective::Place place, Step fired) {
    const Rank r = group_[place];
    Step given = kNone;
    if (way_ == Way::Outward && root_ && place == root_) {
      given = p_.interface_delay(r, {}, t_.post);
      send(r, given, group_[0], root_tag_);
    }
    if (place || (way_ == Way::Outward && root_)) {
      const Step arrived = place ? p_.interface_receive(r, group_[tree_.parent(place)], packet_, down_tag_)
                                 : p_.interface_receive(r, group_[root_], packet_, root_tag_);
      fired = p_.interface_delay(r, {arrived}, t_.receive + t_.trigger);
    } else if (fired == kNone) {
      fired = p_.interface_delay(r, {}, t_.post + t_.trigger);
    }
    const std::vector<collective::Place> children = tree_.children(place);
    for (std::size_t i = 0; i < children.size(); ++i)
      p_.interface_send(
          r, p_.interface_delay(r, {fired}, t_.send + Time{t_.next.value * static_cast<std::int64_t>(i)}),
          group_[children[i]], packet_, down_tag_);
    p_.await(r, given != kNone ? given : p_.interface_delay(r, {fired}, t_.told));
  }

  void send(Rank r, Step after, Rank to, std::uint32_t tag) {
    p_.interface_send(r, p_.interface_delay(r, {after}, t_.send), to, packet_, tag);
  }

  ProgramBuilder& p_;
  const InterfaceTimes& t_;
  std::vector<Rank> group_;  // by place
  const collective::Tree tree_;
  const Way way_;
  const std::uint64_t packet_;
  const std::int64_t pairs_;
  const std::uint32_t up_tag_, down_tag_;
  std::uint32_t root_tag_ = 0;
  const collective::Place root_;
};

bool is_offloaded(const ProgramBuilder& p, Group group, std::uint64_t bytes, bool combines) {
  return p.interfaces && group.size() > 1 && bytes <= p.interfaces->limit &&
         (!combines || p.interfaces->units);
}

}  // namespace

void by_interfaces(ProgramBuilder& p, Group group, Collective::Kind kind, std::uint64_t bytes, Rank root) {
  switch (kind) {
    case Collective::Kind::Barrier:
      return TreeRound(p, group, 0, Way::Both, false, group[0]).add();
    case Collective::Kind::Broadcast:
      return TreeRound(p, group, bytes, Way::Outward, false, root).add();
    case Collective::Kind::Reduce:
      return TreeRound(p, group, bytes, Way::Inward, true, root).add();
    case Collective::Kind::AllReduce:
      return TreeRound(p, group, bytes, Way::Both, true, group[0]).add();
  }
}

void barrier(ProgramBuilder& p, Group group) {
  if (is_offloaded(p, group, 0, false))
    return by_interfaces(p, group, Collective::Kind::Barrier, 0, group[0]);
  std::uint32_t tag = p.new_tag();
  std::size_t n = group.size();
  for (std::size_t ahead = 1; ahead < n; ahead *= 2)
    for (std::size_t i = 0; i < n; ++i)
      p.exchange(group[i], group[(i + ahead) % n], group[(i + n - ahead) % n], 0, tag);
}

void broadcast(ProgramBuilder& p, Group group, std::uint64_t bytes) {
  if (is_offloaded(p, group, bytes, false))
    return by_interfaces(p, group, Collective::Kind::Broadcast, bytes, group[0]);
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
  if (is_offloaded(p, group, bytes, true))
    return by_interfaces(p, group, Collective::Kind::Reduce, bytes, group[0]);
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
  if (is_offloaded(p, group, bytes, true))
    return by_interfaces(p, group, Collective::Kind::AllReduce, bytes, group[0]);
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
