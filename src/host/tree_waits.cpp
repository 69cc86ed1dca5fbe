#include "host/tree_waits.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "abi/triggered.hpp"
#include "base/text.hpp"
#include "host/call_log.hpp"

namespace weft::host {

namespace {

/// One collective of one communicator.
struct Tree {
  std::uint32_t members = 0;
  std::uint32_t root = kNoRank;  // in the world, where a process says so
  std::set<std::uint32_t> here, missing;
};
using Which = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // key, kind, round

std::string names(const std::set<std::uint32_t>& ranks) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> out;
  for (std::uint32_t rank : ranks) {
    if (out.size() == kMost) {
      out.push_back(fmt::format("{} more", ranks.size() - kMost));
      break;
    }
    out.push_back(std::to_string(rank));
  }
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", join(out, ", "));
}

std::string name_of(std::uint64_t kind) {
  const nic::RoundKind about = nic::RoundKind::of(kind);
  return about.call ? call_facts(about.call).name : "a barrier of the group's own";
}

bool has_root(std::uint64_t kind) { return call_facts(nic::RoundKind::of(kind).call).peer >= 0; }

OpenCollective open_of(const Segment& segment) { return segment.header().sums.collectives.open; }

class Trees {
 public:
  Trees(const nic::Fabric& fabric, const RankPorts& ports) : fabric_(fabric), ports_(ports) {
    for (nic::NicId nic = 0; nic < fabric.nics(); ++nic) nic_of_[fabric.node(nic)] = nic;
  }

  void add_interfaces() {
    std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>> waiting;
    std::vector<std::pair<nic::NicId, nic::WaitingRound>> all;
    for (nic::NicId nic = 0; nic < fabric_.nics(); ++nic)
      for (nic::WaitingRound& w : fabric_.waiting_rounds(nic)) {
        waiting.insert({static_cast<std::uint32_t>(fabric_.node(nic)), w.port, w.sequence, w.round});
        all.emplace_back(nic, std::move(w));
      }
    for (const auto& [nic, w] : all) {
      Tree& tree = trees_[{w.key, w.kind, w.round}];
      tree.members = w.members;
      (w.own_is_missing ? tree.missing : tree.here).insert(ports_.rank_of({nic, w.port}));
      for (const nic::TriggerTarget& t : w.here) tree.here.insert(rank_at(t));
      // One that waits itself is not who is missing.
      for (const nic::TriggerTarget& t : w.missing)
        if (!waiting.contains({t.node, t.port, t.sequence, w.round})) tree.missing.insert(rank_at(t));
    }
  }

  void add_processes(const Segments& segments) {
    for (std::uint32_t rank = 0; rank < segments.size(); ++rank) {
      const OpenCollective open = open_of(*segments[rank]);
      if (!open.under_way) continue;
      const Which which{open.key, open.kind, open.round};
      if (!open.gives || open.gone) {
        Tree& tree = trees_[which];
        tree.members = open.members;
        tree.here.insert(rank);
        if (open.gone && open.gone <= segments.size()) tree.missing.insert(open.gone - 1);
      }
      if (!open.gives) {
        Tree& tree = trees_[which];
        if (open.root < segments.size()) {
          tree.root = open.root;
          const OpenCollective other = open_of(*segments[open.root]);
          if (!other.under_way || other.key != open.key || other.round != open.round)
            tree.missing.insert(open.root);
        }
      } else if (auto found = trees_.find(which); found != trees_.end()) {
        found->second.here.insert(rank);
        if (has_root(open.kind)) found->second.root = open.root;
      }
    }
  }

  std::vector<std::string> lines(const WaitExplainer& explainer) const {
    std::vector<std::string> out;
    for (const auto& [which, tree] : trees_) {
      std::set<std::uint32_t> missing = tree.missing;
      missing.erase(kNoRank);
      if (missing.empty()) continue;
      const auto& [key, kind, round] = which;
      const std::string root = tree.root == kNoRank ? "" : fmt::format(" with root {}", tree.root);
      std::set<std::uint32_t> here = tree.here;
      here.erase(kNoRank);
      for (std::uint32_t rank : missing) here.erase(rank);
      const std::string come =
          here.empty() ? "" : fmt::format("; {} {} there", names(here), here.size() == 1 ? "is" : "are");
      out.push_back(fmt::format("{}{} in the tree of a communicator of {}, round {}, waits for {}{}",
                                name_of(kind), root, tree.members, round, names(missing), come));
      constexpr std::size_t kMostTold = 4;
      std::size_t told = 0;
      for (std::uint32_t rank : missing) {
        if (told++ == kMostTold) break;
        const std::string last = explainer.last_call(rank);  // " after MPI_Reduce", where it is in none
        out.push_back(fmt::format("  it waits for rank {}, which {}{}", rank, explainer.rank(rank),
                                  last.starts_with(" after") ? last : ""));
      }
    }
    return out;
  }

 private:
  std::uint32_t rank_at(const nic::TriggerTarget& t) const {
    auto found = nic_of_.find(t.node);
    return found == nic_of_.end() ? kNoRank : ports_.rank_of({found->second, t.port});
  }

  const nic::Fabric& fabric_;
  const RankPorts& ports_;
  std::map<std::uint32_t, nic::NicId> nic_of_;
  std::map<Which, Tree> trees_;
};

}  // namespace

std::vector<std::string> explain_trees(const nic::Fabric& fabric, const RankPorts& ports,
                                       const Segments& segments, const WaitExplainer& explainer) {
  Trees trees(fabric, ports);
  trees.add_interfaces();
  trees.add_processes(segments);
  return trees.lines(explainer);
}

std::string left_under_way(const Segment& segment) {
  const OpenCollective open = open_of(segment);
  if (!open.under_way) return "";
  const std::string more = open.under_way > 1 ? fmt::format(" and {} more", open.under_way - 1) : "";
  return fmt::format(", with {} in the tree of a communicator of {}, round {}{}, under way",
                     name_of(open.kind), open.members, open.round, more);
}

}  // namespace weft::host
