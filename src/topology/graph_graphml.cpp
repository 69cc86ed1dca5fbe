#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "base/text.hpp"
#include "topology/graph_draft.hpp"

namespace weft::topology {

namespace {

class GraphmlReader {
 public:
  GraphmlReader(std::string_view text, GraphDraft& draft) : text_(text), draft_(draft) {
    line_starts_.push_back(0);
    for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1))
      line_starts_.push_back(at + 1);
  }

  void read() {
    pugi::xml_document document;
    auto parsed = document.load_buffer(text_.data(), text_.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed)
      return draft_.problem(place(parsed.offset), fmt::format("not valid XML: {}", parsed.description()));
    pugi::xml_node root = document.document_element();
    if (std::string_view(root.name()) != "graphml")
      return draft_.problem(place(root),
                            fmt::format("expected the element <graphml>, got <{}>", root.name()));
    for (const pugi::xml_node& key : root.children("key")) keys_.push_back(key);
    auto graphs = root.children("graph");
    if (auto count = std::distance(graphs.begin(), graphs.end()); count != 1)
      return draft_.problem(place(root), fmt::format("expected one <graph>, found {}", count));
    pugi::xml_node graph = *graphs.begin();
    for (const pugi::xml_node& node : graph.children("node")) read_node(node);
    for (const pugi::xml_node& edge : graph.children("edge")) read_edge(edge);
    for (const pugi::xml_node& edge : graph.children("hyperedge"))
      draft_.problem(place(edge), "a cable joins two routers: <hyperedge> cannot be one");
  }

 private:
  GraphDraft::Place place(std::ptrdiff_t offset) const {
    auto at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
    return {static_cast<std::size_t>(after - line_starts_.begin()), at - *(after - 1) + 1};
  }
  // An element's offset is that of its name; the message points at the bracket before it.
  GraphDraft::Place place(const pugi::xml_node& element) const { return place(element.offset_debug() - 1); }

  pugi::xml_node key_with_id(std::string_view id) const {
    for (const pugi::xml_node& key : keys_)
      if (id == key.attribute("id").value()) return key;
    return {};
  }

  // The text of an attribute, of <data> with a key of that name, or of the key's default; nothing where there
  // is none.
  std::optional<std::string_view> value_of(const pugi::xml_node& element, const char* name) const {
    if (auto attribute = element.attribute(name)) return trim(attribute.value());
    for (const pugi::xml_node& data : element.children("data")) {
      std::string_view id = data.attribute("key").value();
      std::string_view declared = key_with_id(id).attribute("attr.name").value();
      if ((declared.empty() ? id : declared) == name) return trim(data.child_value());
    }
    for (const pugi::xml_node& key : keys_) {
      std::string_view domain = key.attribute("for").as_string("all");
      bool for_this = domain == "all" || domain == element.name();
      if (for_this && std::string_view(key.attribute("attr.name").value()) == name && key.child("default"))
        return trim(key.child("default").child_value());
    }
    return std::nullopt;
  }

  void read_node(const pugi::xml_node& node) {
    std::string_view id = node.attribute("id").value();
    if (id.empty()) return draft_.problem(place(node), "<node> needs an id");
    if (node.child("graph"))
      return draft_.problem(place(node),
                            fmt::format("node '{}' holds a graph of its own; a router cannot", id));
    RouterId r = draft_.find_or_add(id);
    if (!draft_.declare(r, place(node))) return;
    if (auto endpoints = value_of(node, "endpoints")) draft_.set_endpoints(r, *endpoints, place(node));
  }

  RouterId end_of(const pugi::xml_node& edge, const char* which) {
    std::string_view name = edge.attribute(which).value();
    RouterId r = draft_.find(name);
    if (name.empty()) {
      draft_.problem(place(edge), fmt::format("<edge> needs a {}", which));
    } else if (r == kNone) {
      draft_.problem(place(edge),
                     fmt::format("there is no node '{}'{}", name, did_you_mean(name, draft_.router_names())));
    }
    return r;
  }

  void read_edge(const pugi::xml_node& edge) {
    GraphDraft::Cable cable{end_of(edge, "source"), end_of(edge, "target"), {}, {}};
    if (auto length = value_of(edge, "length")) cable.length = draft_.parse_length(*length, place(edge));
    auto type = value_of(edge, "type");
    if (!type) type = value_of(edge, "cable");
    if (type) cable.type = draft_.parse_type(*type, place(edge));
    if (cable.a != kNone && cable.b != kNone) draft_.add(cable, place(edge));
  }

  std::string_view text_;
  GraphDraft& draft_;
  std::vector<std::size_t> line_starts_;
  std::vector<pugi::xml_node> keys_;
};

}  // namespace

void read_graphml(std::string_view text, GraphDraft& draft) { GraphmlReader(text, draft).read(); }

}  // namespace weft::topology
