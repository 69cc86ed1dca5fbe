// The channel dependency graph, gathered target by target. Used by verify; a header of its own so that each
// half fits in the head.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "routing/states.hpp"

namespace weft::routing {

/// Channel classes as vertices see them: classes that share channels (a machine with too few) are one group.
class ChannelGroups {
 public:
  ChannelGroups(const Routing& routing, unsigned channels);
  unsigned count() const { return static_cast<unsigned>(first_channel_.size()); }
  unsigned of_class(ChannelClass c) const { return group_[c]; }
  unsigned first_channel(unsigned group) const { return first_channel_[group]; }
  bool complete() const { return complete_; }

 private:
  std::vector<unsigned> group_, first_channel_;
  bool complete_;
};

/// Dependencies of a relation without escape channels. All dependencies of a channel are at the router it
/// leads to, so they fit in a small bit matrix for each router: rows are channels in, columns channels out.
class LocalDependencies {
 public:
  LocalDependencies(const Routing& routing, const ChannelGroups& groups);
  /// Adds what the explorer found for one target; `second_legs`: they start there.
  void add(const StateExplorer& explorer, bool via_leg, bool second_legs);
  void merge(const LocalDependencies& other);
  /// Joins the two legs of a route: who ends the first may ask for anything the second starts with.
  void join_legs();
  void clear();

  /// Vertices are receiving ports with a group: port * groups + group.
  std::uint64_t vertices() const;
  std::uint64_t edges() const;
  bool has(std::uint64_t from, std::uint64_t to) const;
  void successors(std::uint64_t vertex, const std::function<void(std::uint64_t)>& call) const;

 private:
  using Word = std::uint64_t;
  unsigned bit(PortId port, ChannelClass c) const {
    return graph_.port_index(port) * groups_.count() + groups_.of_class(c);
  }
  Word* row(RouterId r, unsigned in) { return &bits_[row_begin_[r] + std::uint64_t{in} * words_[r]]; }
  const Word* row(RouterId r, unsigned in) const {
    return &bits_[row_begin_[r] + std::uint64_t{in} * words_[r]];
  }

  const Routing& routing_;
  const Graph& graph_;
  const ChannelGroups& groups_;
  std::vector<std::uint32_t> words_;      // words in a row, by router
  std::vector<std::uint64_t> row_begin_;  // by router
  std::vector<std::uint64_t> mask_begin_;
  std::vector<Word> bits_;
  std::vector<Word> in_, out_;           // masks by router: channels in use for the target at hand
  std::vector<Word> arrivals_, starts_;  // masks by router: where first legs end and second legs start
};

/// Dependencies among escape channels, direct and via adaptive ones; they reach across routers, so this
/// is one matrix over all escape channels.
class EscapeDependencies {
 public:
  explicit EscapeDependencies(const Routing& routing);
  void add(const StateExplorer& explorer);
  void merge(const EscapeDependencies& other);
  void clear();

  std::uint64_t vertices() const { return vertex_port_.size(); }
  std::uint64_t edges() const;
  std::uint64_t without_escape() const { return without_escape_; }
  bool has(std::uint64_t from, std::uint64_t to) const {
    return matrix_[from * words_ + to / 64] >> (to % 64) & 1;
  }
  void successors(std::uint64_t vertex, const std::function<void(std::uint64_t)>& call) const;
  /// The receiving port of a vertex and its class.
  PortId port(std::uint64_t vertex) const { return vertex_port_[vertex]; }
  ChannelClass channel_class(std::uint64_t vertex) const { return vertex_class_[vertex]; }
  static double bytes_needed(const Routing& routing);

 private:
  using Word = std::uint64_t;
  std::uint32_t vertex(PortId receiving, ChannelClass c) const {
    return vertex_[std::uint64_t{receiving} * classes_ + c];
  }

  const Routing& routing_;
  const Graph& graph_;
  unsigned classes_;
  std::uint64_t words_ = 0;
  std::uint64_t without_escape_ = 0;
  std::vector<std::uint32_t> vertex_;  // by receiving port and class
  std::vector<PortId> vertex_port_;
  std::vector<ChannelClass> vertex_class_;
  std::vector<Word> matrix_;
  std::vector<std::uint32_t> slot_;  // by state
  std::vector<Word> reach_;          // by slot: escape channels a packet in that state may come to ask for
};

/// A shortest cycle through one of the vertices first found on a cycle, or empty. `successors(v, call)`.
std::vector<std::uint64_t> find_cycle(
    std::uint64_t vertices,
    const std::function<void(std::uint64_t, const std::function<void(std::uint64_t)>&)>& successors);

}  // namespace weft::routing
