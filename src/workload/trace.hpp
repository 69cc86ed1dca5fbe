// Weft's own trace: a program in few bytes.
//
// "WEFTRACE", a version byte, the number of ranks; for each rank the number of steps; for each step its kind,
// what it does, and how far back the steps lie that it waits for; at the end a checksum over all before. Of a
// program that names its collectives (version 2) steps say which they belong to, and after the ranks follow
// the groups of members and the collectives. Numbers are written seven bits to a byte. A trace is input from
// outside: whatever is in it, reading ends with a program or a UserError.
#pragma once

#include <string>
#include <string_view>

#include "workload/program.hpp"

namespace weft::workload {

std::string write_trace(const Program& program);
Program parse_trace(std::string_view bytes, const std::string& source);

void save_trace(const Program& program, const std::string& path);
Program load_trace(const std::string& path);

}  // namespace weft::workload
