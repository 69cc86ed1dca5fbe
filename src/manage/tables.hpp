// Routing tables as a manager writes them over the network, and what packets do by them.
#pragma once

#include "manage/discovery.hpp"

namespace weft::manage {

struct TableReport {
  std::uint64_t entries = 0;
  std::uint64_t failed = 0;       // rows that nobody acknowledged
  std::uint64_t pairs = 0;        // followed through the tables as they are in the chips
  std::uint64_t undelivered = 0;  // of those
};

/// Entries all routers need together.
std::uint64_t table_entries(const machine::Machine& machine);

/// Writes every reached router's table, those farthest from the manager first; then follows packets through
/// them, every pair where there are few, else as many random ones.
TableReport write_tables(const machine::Machine& machine, const Discovery& found, Chips& chips,
                         std::uint64_t pairs);

}  // namespace weft::manage
