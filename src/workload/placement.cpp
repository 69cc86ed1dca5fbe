#include "workload/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>

#include "base/input_file.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "topology/grid_shape.hpp"
#include "workload/skeleton.hpp"

namespace weft::workload {

using topology::EndpointId;
using topology::GridShape;
using topology::RouterId;

const std::vector<PlacementKind>& placement_kinds() {
  static const std::vector<PlacementKind> kinds{
      {"linear", "the free endpoints with the lowest numbers, in order"},
      {"random", "free endpoints drawn with the seed"},
      {"block",
       "a box of a grid, or a run of free endpoints of a tree that starts where a subtree of that size does"},
      {"file:PATH", "endpoint numbers from a file, one on each line"},
  };
  return kinds;
}

Placement::Placement(const topology::Graph& graph, const topology::Faults& faults)
    : graph_(graph), taken_(graph.endpoints()) {
  for (EndpointId e = 0; e < graph.endpoints(); ++e) {
    taken_[e] = faults.router_dead(graph.endpoint_router(e));
    free_ += !taken_[e];
  }
}

std::vector<EndpointId> Placement::place(Rank ranks, const std::string& how, std::uint64_t seed) {
  if (ranks > free_)
    throw UserError(fmt::format("{} do not fit: {} of {} endpoints are free", count_of(ranks, "rank"), free_,
                                with_commas(graph_.endpoints())));
  std::vector<EndpointId> out;
  if (how == "linear") {
    out = linear(ranks);
  } else if (how == "random") {
    out = random(ranks, seed);
  } else if (how == "block") {
    out = block(ranks);
  } else if (how.starts_with("file:")) {
    out = from_file(ranks, how.substr(5));
  } else {
    std::vector<std::string> names;
    for (const PlacementKind& kind : placement_kinds()) names.push_back(kind.name);
    throw UserError(fmt::format("there is no placement '{}'{}; there are {}", how, did_you_mean(how, names),
                                join(names, ", ")));
  }
  for (EndpointId e : out) taken_[e] = true;
  free_ -= ranks;
  return out;
}

std::vector<EndpointId> Placement::linear(Rank ranks) const {
  std::vector<EndpointId> out;
  for (EndpointId e = 0; out.size() < ranks; ++e)
    if (!taken_[e]) out.push_back(e);
  return out;
}

std::vector<EndpointId> Placement::random(Rank ranks, std::uint64_t seed) const {
  std::vector<EndpointId> all = linear(free_);
  auto left = static_cast<std::uint32_t>(all.size());
  for (Rank r = 0; r < ranks; ++r, --left)
    std::swap(all[r], all[r + random_below(seed, 0x706c6163, r, left)]);
  all.resize(ranks);
  return all;
}

std::vector<EndpointId> Placement::block(Rank ranks) const {
  if (auto* grid = graph_.shape_as<GridShape>(); grid && graph_.endpoints() % grid->grid_routers == 0) {
    // The box that is nearest to a cube among those that fit the grid and hold the ranks exactly.
    std::uint32_t each = graph_.endpoint_count(0);
    auto dimensions = static_cast<unsigned>(grid->dimensions.size());
    if (ranks % each == 0) {
      std::vector<std::uint32_t> box = even_grid(ranks / each, dimensions), room(dimensions);
      std::vector<unsigned> order(dimensions);
      std::iota(order.begin(), order.end(), 0u);
      std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
        return grid->dimensions[a].length > grid->dimensions[b].length;
      });
      bool fits = true;
      for (unsigned i = 0; i < dimensions; ++i) {
        room[order[i]] = box[i];
        fits &= box[i] <= grid->dimensions[order[i]].length;
      }
      for (RouterId corner = 0; fits && corner < grid->grid_routers; ++corner) {
        std::vector<EndpointId> out;
        for (std::uint32_t i = 0; i < ranks / each; ++i) {
          RouterId r = corner;
          std::uint32_t rest = i;
          bool inside = true;
          for (unsigned d = 0; d < dimensions; ++d) {
            std::uint32_t step = rest % room[d];
            rest /= room[d];
            inside &= grid->coordinate(corner, d) + step < grid->dimensions[d].length;
            r += step * grid->dimensions[d].stride;
          }
          if (!inside) break;
          bool free = true;
          for (std::uint32_t k = 0; k < each; ++k) free &= !taken_[graph_.first_endpoint(r) + k];
          if (!free) break;
          for (std::uint32_t k = 0; k < each; ++k) out.push_back(graph_.first_endpoint(r) + k);
        }
        if (out.size() == ranks) return out;
      }
    }
    throw UserError(
        fmt::format("placement block: no free box of the grid holds {} exactly", count_of(ranks, "rank")));
  }
  // Endpoints of a tree (and of most other graphs) are numbered so that those near each other follow each
  // other; a run that starts at a multiple of its own size, or of the next power of it, lies in one subtree.
  std::uint32_t align = std::max(1u, graph_.endpoint_count(graph_.endpoint_router(0)));
  while (align < ranks) align *= 2;
  for (std::uint32_t stride : {align, ranks, 1u})
    for (EndpointId first = 0; first + ranks <= graph_.endpoints(); first += stride) {
      bool free = true;
      for (EndpointId e = first; e < first + ranks && free; ++e) free = !taken_[e];
      if (!free) continue;
      std::vector<EndpointId> out(ranks);
      std::iota(out.begin(), out.end(), first);
      return out;
    }
  throw UserError(fmt::format("placement block: no run of {} free endpoints", ranks));
}

std::vector<EndpointId> Placement::from_file(Rank ranks, const std::string& path) const {
  std::istringstream in(read_file(path, kMostListBytes));
  Diagnostics problems;
  std::vector<EndpointId> out;
  std::vector<bool> used(graph_.endpoints());
  std::uint32_t number = 0;
  constexpr std::size_t kEnough = 50;  // mistakes to report
  for (std::string text; problems.size() < kEnough && std::getline(in, text);) {
    ++number;
    std::string_view word = trim(std::string_view(text).substr(0, text.find('#')));
    if (word.empty()) continue;
    std::uint32_t endpoint = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), endpoint);
    Origin origin{path, number, 1};
    if (error != std::errc{} || end != word.data() + word.size())
      problems.add(origin, "", fmt::format("expected the number of an endpoint, got \"{}\"", word));
    else if (endpoint >= graph_.endpoints())
      problems.add(origin, "",
                   fmt::format("{}: there are endpoints 0 to {}", endpoint, graph_.endpoints() - 1));
    else if (taken_[endpoint] || used[endpoint])
      problems.add(origin, "", fmt::format("endpoint {} is taken", endpoint));
    else {
      used[endpoint] = true;
      out.push_back(endpoint);
    }
  }
  if (problems.empty() && out.size() != ranks)
    problems.add({path}, "",
                 fmt::format("it has {}, and there are {}", count_of(out.size(), "endpoint"),
                             count_of(ranks, "rank")));
  problems.throw_if_any();
  return out;
}

}  // namespace weft::workload
