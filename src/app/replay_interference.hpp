// What a job suffers from others beside it, and what classes of traffic help: the same jobs four times.
#pragma once

#include <string>
#include <vector>

#include "app/verb.hpp"
#include "base/json.hpp"
#include "workload/replay.hpp"

namespace weft::app {

struct InterferenceCase {
  std::string name, about;
  bool beside = true;             // the others run, too
  unsigned others_class = 0;      // theirs; the first job's is 0
  std::vector<unsigned> weights;  // of both classes
};

/// The first job alone, with the others in its class, in a class of their own, and so at weights "3:1" of the
/// first job and the others. All on a machine with two classes: they differ in nothing else. Throws
/// UserError.
std::vector<InterferenceCase> interference_cases(const std::string& weights);

struct InterferenceOptions {
  MachineOptions machine;
  workload::ReplayText text;
  std::string weights;  // as given
  std::string out;      // folder for a report of each case; empty: none
  std::string command;
  bool json = false;
};

/// Runs all cases and prints the table. Returns the exit code.
int show_interference(const InterferenceOptions& options);

}  // namespace weft::app
