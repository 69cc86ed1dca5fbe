// Collectives that a program names are taken out of it, and the interfaces run them instead.
#pragma once

#include <array>

#include "workload/interface_times.hpp"
#include "workload/program.hpp"

namespace weft::workload {

/// Why a collective stays as it was recorded.
enum class Left : std::uint8_t { TooLong, NoUnits, NotCombined, NotWhole, Count };

/// In words that follow "N of them": "longer than mpi.collective_limit ...".
const char* left_because(Left why);
/// A name for machines: "too_long".
const char* left_name(Left why);

struct OffloadCounts {
  std::uint64_t named = 0;     // collectives of the program
  std::uint64_t replaced = 0;  // by steps of interfaces
  std::array<std::uint64_t, static_cast<std::size_t>(Left::Count)> left{};
};

/// What processors did for a collective is no longer there: neither its messages nor its computing. What a
/// member did or heard of others meanwhile is kept; it goes on once its interface has told it of the end.
/// What it names as collectives is gone from the program.
OffloadCounts offload_collectives(Program& program, const InterfaceTimes& interfaces);

}  // namespace weft::workload
