#include "config/node.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <unordered_map>

#include "base/plain_text.hpp"
#include "base/text.hpp"

namespace weft::config {

Table::Table() = default;
Table::~Table() = default;
Table::Table(const Table&) = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(const Table&) = default;
Table& Table::operator=(Table&&) noexcept = default;

Node::Node() = default;
Node::~Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::Node(Table table) : value(std::move(table)) {}
Node::Node(std::string text) : value(std::move(text)) {}

const Table* Node::table() const { return std::get_if<Table>(&value); }
Table* Node::table() { return std::get_if<Table>(&value); }
const std::string* Node::string() const { return std::get_if<std::string>(&value); }

const Node* Table::find(std::string_view key) const {
  auto at =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  return at == entries.end() ? nullptr : &at->second;
}

Node* Table::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

std::string_view Node::noun() const {
  constexpr std::string_view nouns[] = {"a date or time", "true or false", "a whole number", "a number",
                                        "a text",         "a list",        "a table"};
  return nouns[value.index()];
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string Node::text() const {
  struct Print {
    std::string operator()(std::monostate) const { return "(a date or time)"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const { return quote(s); }
    std::string operator()(const std::vector<Node>& list) const {
      std::vector<std::string> parts;
      for (const Node& node : list) parts.push_back(node.text());
      return "[" + join(parts, ", ") + "]";
    }
    std::string operator()(const Table&) const { return "(a table)"; }
  };
  return std::visit(Print{}, value);
}

namespace {

constexpr unsigned kMostParts = 16;        // of a dotted key; none has more than three
constexpr std::size_t kMostMistakes = 50;  // of one kind that are worth telling

Origin origin_of(const toml::node& node, const std::string& source) {
  return {source, node.source().begin.line, node.source().begin.column};
}

Node convert(const toml::node& from, const std::string& source) {
  Node to;
  to.origin = origin_of(from, source);
  if (auto* table = from.as_table()) {
    Table out;
    std::vector<std::pair<const toml::key*, const toml::node*>> ordered;
    for (auto&& [key, value] : *table) ordered.emplace_back(&key, &value);
    std::stable_sort(ordered.begin(), ordered.end(), [](auto& a, auto& b) {
      auto p = a.first->source().begin, q = b.first->source().begin;
      return std::pair(p.line, p.column) < std::pair(q.line, q.column);
    });
    for (auto [key, value] : ordered) {
      Node child = convert(*value, source);
      // Messages point at the key: that is where an unknown or misspelt name stands.
      child.origin = {source, key->source().begin.line, key->source().begin.column};
      out.entries.emplace_back(std::string(key->str()), std::move(child));
    }
    to.value = std::move(out);
  } else if (auto* array = from.as_array()) {
    std::vector<Node> out;
    for (auto&& element : *array) out.push_back(convert(element, source));
    to.value = std::move(out);
  } else if (auto* text = from.as_string()) {
    to.value = text->get();
  } else if (auto* integer = from.as_integer()) {
    to.value = integer->get();
  } else if (auto* number = from.as_floating_point()) {
    to.value = number->get();
  } else if (auto* flag = from.as_boolean()) {
    to.value = flag->get();
  }
  return to;
}

/// Control characters have no meaning in a description, and do things to a terminal.
void check_texts(const Node& node, Diagnostics& problems) {
  auto check = [&](std::string_view text, const Origin& origin) {
    if (auto c = control_character(text); c && problems.size() < kMostMistakes)
      problems.add(origin, "",
                   fmt::format("a text has the control character 0x{:02x}; expected plain text", *c));
  };
  if (const std::string* text = node.string()) check(*text, node.origin);
  if (const Table* table = node.table())
    for (const auto& [key, value] : table->entries) {
      check(key, value.origin);
      check_texts(value, problems);
    }
  if (const auto* list = std::get_if<std::vector<Node>>(&node.value))
    for (const Node& element : *list) check_texts(element, problems);
}

/// The line of a dotted key with more parts than any key has, or 0. Such a key is a table within a table and
/// so on, and the parser's own functions call themselves for each.
///
/// Strings and comments are skipped as TOML has them. Between two of `=`, `,`, brackets and line breaks
/// stands a key or a value, and only keys have more than one dot.
std::uint32_t line_of_deep_key(std::string_view text) {
  std::uint32_t line = 1;
  unsigned dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\n') ++line;
    if (c == '.' && ++dots >= kMostParts) return line;
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == ']' || c == '{' || c == '}') dots = 0;
    if (c == '#') i = std::min(text.find('\n', i), text.size()) - 1;
    if (c != '"' && c != '\'') continue;
    const bool several_lines = text.substr(i, 3) == std::string(3, c);
    const std::string end(several_lines ? 3 : 1, c);
    for (i += end.size(); i < text.size() && text.substr(i, end.size()) != end; ++i) {
      if (c == '"' && text[i] == '\\') ++i;
      if (i < text.size() && text[i] == '\n') ++line;
      if (i < text.size() && text[i] == '\n' && !several_lines) break;  // not closed: the parser says so
    }
    i += end.size() - 1;
    // A text may end with quotes of its own.
    while (several_lines && i + 1 < text.size() && text[i + 1] == c) ++i;
  }
  return 0;
}

Node empty_table(const std::string& source) {
  Node node;
  node.value = Table{};
  node.origin.source = source;
  return node;
}

}  // namespace

Node parse_toml(std::string_view text, const std::string& source, Diagnostics& problems) {
  if (std::uint32_t line = line_of_deep_key(text)) {
    problems.add({source, line, 1}, "",
                 fmt::format("a key of more than {} parts, which no section has", kMostParts));
    return empty_table(source);
  }
  try {
    Node tree = convert(toml::parse(text), source);
    check_texts(tree, problems);
    return tree;
  } catch (const toml::parse_error& error) {
    auto where = error.source().begin;
    problems.add({source, where.line, where.column}, "",
                 fmt::format("not valid TOML: {}", error.description()));
    return empty_table(source);
  }
}

Node parse_override(std::string_view argument, Diagnostics& problems) {
  std::string source = fmt::format("--set {}", argument);
  std::size_t equals = argument.find('=');
  std::string_view key = trim(argument.substr(0, equals));
  bool plain_key = !key.empty() && key.find_first_not_of(
                                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_-.") == std::string_view::npos;
  if (equals == std::string_view::npos || !plain_key || key.find('.') == std::string_view::npos) {
    problems.add({source}, "", "expected section.key=value, such as --set 'topology.dims=[8,8,8]'");
    return empty_table(source);
  }
  if (argument.find_first_of("\n\r") != std::string_view::npos) {
    problems.add({source.substr(0, source.find_first_of("\n\r"))}, std::string(key),
                 "has a line break, which would begin another setting; each needs a --set of its own");
    return empty_table(source);
  }
  std::string value{trim(argument.substr(equals + 1))};
  if (line_of_deep_key(key) || (value.find('{') != std::string::npos && line_of_deep_key(value))) {
    problems.add({"--set"}, "", fmt::format("a key of more than {} parts, which no section has", kMostParts));
    return empty_table(source);
  }
  // Words such as torus or 14Gbps need no quotes on the command line.
  for (const std::string& attempt : {value, quote(value)}) {
    try {
      toml::table parsed = toml::parse(fmt::format("{} = {}", key, attempt));
      Node node = convert(parsed, source);
      auto forget_lines = [](Node& n, auto& self) -> void {
        n.origin.line = n.origin.column = 0;
        if (Table* table = n.table())
          for (auto& entry : table->entries) self(entry.second, self);
        if (auto* list = std::get_if<std::vector<Node>>(&n.value))
          for (Node& element : *list) self(element, self);
      };
      forget_lines(node, forget_lines);
      check_texts(node, problems);
      return node;
    } catch (const toml::parse_error&) {
    }
    bool meant_toml = value.starts_with('[') || value.starts_with('"') || value.starts_with('{');
    if (meant_toml) break;
  }
  problems.add({source}, std::string(key), fmt::format("the value {} is not valid TOML", value));
  return empty_table(source);
}

void merge(Table& lower, const Table& upper) {
  // Keys of large tables are looked up, not searched for: they may be millions.
  constexpr std::size_t kFew = 16;
  std::unordered_map<std::string_view, std::size_t> places;
  lower.entries.reserve(lower.entries.size() +
                        upper.entries.size());  // so names looked up stay where they are
  if (upper.entries.size() > kFew)
    for (std::size_t i = 0; i < lower.entries.size(); ++i) places.emplace(lower.entries[i].first, i);
  auto find = [&](const std::string& key) -> Node* {
    if (upper.entries.size() <= kFew) return lower.find(key);
    auto at = places.find(key);  // keys of one table differ: what is added below is not asked for again
    return at == places.end() ? nullptr : &lower.entries[at->second].second;
  };
  for (const auto& [key, node] : upper.entries) {
    Node* below = find(key);
    if (below && below->table() && node.table()) {
      merge(*below->table(), *node.table());
      below->origin = node.origin;
    } else if (below) {
      *below = node;
    } else {
      lower.entries.emplace_back(key, node);
    }
  }
}

}  // namespace weft::config
