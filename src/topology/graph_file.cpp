// Any graph, from a file: an edge list or GraphML.
//
// An edge list has one cable per line: its two routers and, if wanted, its length and its cable type.
//     a b [length] [cable-type]        # such as: spine1 leaf3 20m optical
// A router's name is any word without spaces; a word in third place that starts with a digit is a length and
// needs its unit. A line repeated is a second cable beside the first. A router that carries another number of
// endpoints than the rest has a line of its own, anywhere:
//     router NAME [endpoints=N]
// A word that starts with # begins a comment.
//
// In GraphML, a <node> may have `endpoints`, an <edge> may have `length` and `type` (or `cable`): as
// attributes of the element, as <data> whose <key> has that name, or as that key's default. Every edge,
// directed or not, is one cable.
//
// Routers are numbered in the order in which they are first named. The ports of a router are its cables in
// the order of the file, then its endpoints.
#include <filesystem>
#include <fstream>

#include "topology/graph_draft.hpp"
#include "topology/kind.hpp"

namespace weft::topology {

namespace {

struct FileParameters {
  config::FilePath file;
  std::vector<std::string> lines;
  std::uint32_t endpoints_per_router = 1;
  config::CableName cable;
};

class NamedShape : public Shape {
 public:
  explicit NamedShape(std::vector<std::string> names) : names_(std::move(names)) {}
  std::string router_label(RouterId r) const override { return names_[r]; }

 private:
  std::vector<std::string> names_;
};

// Where a text stops being one: the first byte that is neither UTF-8 nor printable nor white space.
std::size_t end_of_text(std::string_view bytes) {
  std::size_t i = 0;
  while (i < bytes.size()) {
    auto lead = static_cast<unsigned char>(bytes[i]);
    bool control = lead < 0x20 && lead != '\n' && lead != '\r' && lead != '\t';
    bool stray = (lead >= 0x80 && lead < 0xc2) || lead > 0xf4;
    std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (control || stray || i + length > bytes.size()) return i;
    for (std::size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(bytes[i + k]) & 0xc0) != 0x80) return i;
    i += length;
  }
  return i;
}

void read_text(std::string_view text, GraphDraft& draft) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark some editors put before UTF-8
  if (std::size_t end = end_of_text(text); end < text.size()) {
    auto lines_before = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), '\n');
    return draft.problem({static_cast<std::size_t>(lines_before) + 1, 1},
                         fmt::format("not a text: byte 0x{:02x}; expected an edge list or GraphML, in UTF-8",
                                     static_cast<unsigned char>(text[end])));
  }
  bool xml = draft.source().ends_with(".graphml") || trim(text.substr(0, 4096)).starts_with('<');
  xml ? read_graphml(text, draft) : read_edge_list(text, draft);
}

void read_file(const std::string& path, GraphDraft& draft) {
  constexpr std::uintmax_t kMaxBytes = 512u << 20;
  std::error_code failed;
  std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (!failed && bytes > kMaxBytes)
    return draft.problem(
        {}, fmt::format("has {} bytes; a graph may have {}", with_commas(bytes), with_commas(kMaxBytes)));
  std::ifstream in(path, std::ios::binary);
  std::string text(failed ? 0 : bytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (failed || !in) return draft.problem({}, "cannot be read");
  read_text(text, draft);
}

GraphDraft read_graph(const FileParameters& p, std::vector<std::string> cable_types) {
  bool inline_text = !p.lines.empty();
  GraphDraft draft(inline_text ? "topology.lines" : p.file.path, p.endpoints_per_router,
                   std::move(cable_types));
  inline_text ? read_text(join(p.lines, "\n"), draft) : read_file(p.file.path, draft);
  if (!draft.problems().empty()) return draft;
  if (draft.routers().empty()) draft.problem({}, "names no routers");
  for (const GraphDraft::Router& router : draft.routers())
    if (std::uint64_t ports = std::uint64_t{router.cables} + router.endpoints;
        ports > GraphDraft::kMaxRouterPorts)
      draft.problem({router.declared, 1},
                    fmt::format("router '{}' has {} and {}; at most {} ports can be built", router.name,
                                count_of(router.cables, "cable"), count_of(router.endpoints, "endpoint"),
                                GraphDraft::kMaxRouterPorts));
  return draft;
}

Size size_of(const GraphDraft& draft) {
  double endpoints = 0;
  for (const GraphDraft::Router& router : draft.routers()) endpoints += router.endpoints;
  return {static_cast<double>(draft.routers().size()), endpoints,
          endpoints + 2.0 * static_cast<double>(draft.cables().size())};
}

Size file_size(const FileParameters& p) {
  GraphDraft draft = read_graph(p, {});
  // Building reports the errors, together with those that only show once the cable types are known.
  return draft.problems().empty() ? size_of(draft) : Size{1, 1, 1};
}

Graph build_file(const FileParameters& p, const BuildContext& context) {
  std::vector<std::string> type_names;
  for (const CableType& type : context.cable_types) type_names.push_back(type.name);
  GraphDraft draft = read_graph(p, std::move(type_names));
  draft.problems().throw_if_any();

  GraphBuilder builder(context.cable_types);
  Size size = size_of(draft);
  builder.reserve(draft.routers().size(), static_cast<std::uint64_t>(size.ports), draft.cables().size(),
                  static_cast<std::uint64_t>(size.endpoints));
  TierId tier = builder.tier("router");
  for (const GraphDraft::Router& router : draft.routers()) {
    RouterId r = builder.router(router.cables + router.endpoints, tier);
    for (std::uint32_t e = 0; e < router.endpoints; ++e)
      builder.endpoint(r, static_cast<PortIndex>(router.cables + e));
  }
  std::uint8_t usual_type = builder.cable_type(p.cable);
  std::vector<PortIndex> next_port(draft.routers().size());
  for (const GraphDraft::Cable& cable : draft.cables()) {
    std::uint8_t type = cable.type.value_or(usual_type);
    builder.connect(cable.a, next_port[cable.a]++, cable.b, next_port[cable.b]++, type,
                    cable.length.value_or(context.cable_types[type].length));
  }
  builder.shape(std::make_shared<NamedShape>(draft.router_names()));
  return std::move(builder).finish();
}

void check_file(const FileParameters& p, const config::Complain& complain) {
  if (p.file.path.empty() && p.lines.empty())
    complain("file", "is missing; expected a file with the graph, or the lines of an edge list as `lines`");
  if (!p.file.path.empty() && !p.lines.empty()) complain("lines", "cannot be given together with file");
}

using config::Range;
using P = FileParameters;

WEFT_REGISTER(
    TopologyKind,
    topology_kind<P>(
        "file", "any graph, read from an edge list or a GraphML file",
        config::Schema<P>()
            .field(&P::file, "file",
                   "An edge list, one cable per line as 'router-a router-b [length] [cable-type]', with "
                   "'router NAME "
                   "endpoints=N' where a router differs and # before comments; or GraphML, with endpoints on "
                   "nodes, "
                   "length and type on edges")
            .field(&P::lines, "lines", "The lines of an edge list, written here instead of in a file")
            .field(&P::endpoints_per_router, "endpoints_per_router",
                   "Endpoints on each router for which the file says nothing", Range<std::uint32_t>{0, 4096})
            .field(&P::cable, "cable", "Cable type of each cable for which the file says nothing")
            .check(check_file)
            .section(),
        file_size, build_file,
        {{R"(lines=["a b", "b c", "c a"])"},
         {R"(lines=["a b 3m", "a b", "b c", "c d", "d a", "router c endpoints=0"])",
          "endpoints_per_router=2"},
         {R"(lines=["hub n1", "hub n2", "hub n3", "n1 m1", "m1 n2", "n3 m2", "m2 m1", "router hub endpoints=0"])"}}));

}  // namespace

}  // namespace weft::topology
