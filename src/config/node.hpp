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

  // Made below, where a Node is whole.
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

  const Table* table() const { return std::get_if<Table>(&value); }
  Table* table() { return std::get_if<Table>(&value); }
  const std::string* string() const { return std::get_if<std::string>(&value); }
  /// What kind of value this is, in words: "a number", "a table".
  std::string_view noun() const;
  /// The value as it would be written in a description.
  std::string text() const;
};

inline Table::Table() = default;
inline Table::~Table() = default;
inline Table::Table(const Table&) = default;
inline Table::Table(Table&&) noexcept = default;
inline Table& Table::operator=(const Table&) = default;
inline Table& Table::operator=(Table&&) noexcept = default;

/// Parses a file's text. Syntax errors go to `problems`; the result is then an empty table.
Node parse_toml(std::string_view text, const std::string& source, Diagnostics& problems);

/// Parses `path.to.key=value` from the command line; a value that is not TOML is taken as a string.
Node parse_override(std::string_view argument, Diagnostics& problems);

/// Lays `upper` over `lower`, key by key; whole values replace each other, tables merge.
void merge(Table& lower, const Table& upper);

std::string quote(std::string_view text);

}  // namespace weft::config
