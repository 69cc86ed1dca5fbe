// A graph as somebody wrote it down: routers by name, cables between them, and every error found on the
// way.
#pragma once

#include <optional>
#include <unordered_map>

#include "base/diagnostics.hpp"
#include "topology/graph.hpp"

namespace weft::topology {

class GraphDraft {
 public:
  static constexpr std::uint32_t kMaxRouterPorts = 65'000;

  /// A place in the text, counted from 1; 0 for the whole of it.
  struct Place {
    std::size_t line = 0, column = 0;
  };
  struct Router {
    std::string name;
    std::uint32_t endpoints = 0, cables = 0;
    std::size_t declared = 0;  // the line of its own, or 0
  };
  struct Cable {
    RouterId a, b;
    std::optional<Length> length;  // else its type's own
    std::optional<std::uint8_t> type;
  };

  /// `cable_types` are those of the machine; empty where they are not known yet, and then they are not
  /// checked.
  GraphDraft(std::string source, std::uint32_t endpoints_per_router, std::vector<std::string> cable_types)
      : source_(std::move(source)),
        endpoints_per_router_(endpoints_per_router),
        cable_types_(std::move(cable_types)) {}

  void problem(Place place, std::string message);

  RouterId find(std::string_view name) const;  // kNone: there is no such router
  RouterId find_or_add(std::string_view name);
  /// Notes that a router has a line of its own; false, and an error, where it had one before.
  bool declare(RouterId r, Place place);
  void set_endpoints(RouterId r, std::string_view text, Place place);

  void add(const Cable& cable, Place place);
  std::optional<Length> parse_length(std::string_view text, Place place);
  std::optional<std::uint8_t> parse_type(std::string_view text, Place place);

  std::vector<std::string> router_names() const;

  const std::string& source() const { return source_; }
  const std::vector<Router>& routers() const { return routers_; }
  const std::vector<Cable>& cables() const { return cables_; }
  const Diagnostics& problems() const { return problems_; }

 private:
  std::string source_;
  std::uint32_t endpoints_per_router_;
  std::vector<std::string> cable_types_;
  std::vector<Router> routers_;
  std::vector<Cable> cables_;
  std::unordered_map<std::string, RouterId> numbers_;
  Diagnostics problems_;
};

/// Both formats are described in graph_file.cpp.
void read_edge_list(std::string_view text, GraphDraft& draft);
void read_graphml(std::string_view text, GraphDraft& draft);

}  // namespace weft::topology
