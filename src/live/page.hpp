// The page that shows a run while it goes on.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"

namespace weft::live {

struct PageText {
  std::string verb;                // "run" or "traffic"
  std::string command;             // as it could be typed again
  unsigned ranks = 0;              // of a run; 0: there are none to show
  std::vector<double> loads = {};  // of a sweep, in order of its parts
};

std::string page(const machine::Machine& machine, const PageText& text);

}  // namespace weft::live
