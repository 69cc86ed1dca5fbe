// The text of a description as a tree that remembers where each value was written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostics.hpp"

namespace weft::config {

struct Node;

/// A table keeps the order in which its keys were written: messages and listings follow the file.
struct Table {
  std::vector<std::pair<std::string, Node>> entries;

  // Defined in node.cpp: a copy of a tree is much code, and nearly every file includes this header.
  Table();
  ~Table();
  Table(const Table&);
  Table(Table&&) noexcept;
  Table& operator=(const Table&);
  Table& operator=(Table&&) noexcept;

  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
};

struct Node {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Node>, Table> value;
  Origin origin;

  Node();
  ~Node();
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  explicit Node(Table table);
  explicit Node(std::string text);

  const Table* table() const;
  Table* table();
  const std::string* string() const;
  /// What kind of value this is, in words: "a number", "a table".
  std::string_view noun() const;
  /// The value as it would be written in a description.
  std::string text() const;
};

/// Parses a file's text. Syntax errors go to `problems`; the result is then an empty table.
Node parse_toml(std::string_view text, const std::string& source, Diagnostics& problems);

/// Parses `path.to.key=value` from the command line; a value that is not TOML is taken as a string.
Node parse_override(std::string_view argument, Diagnostics& problems);

/// Lays `upper` over `lower`, key by key; whole values replace each other, tables merge.
void merge(Table& lower, const Table& upper);

std::string quote(std::string_view text);

}  // namespace weft::config
