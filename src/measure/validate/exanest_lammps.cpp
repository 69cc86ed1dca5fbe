// What RDMA brings LAMMPS (000_6c87cd3b5848a22e.txt, section 5.3): the program itself, as ranks on the
// interface and over TCP/IP between Linux nodes.
#include <fmt/format.h>

#include "base/diagnostics.hpp"
#include "measure/validate/mpi_pairs.hpp"

namespace weft::measure {

namespace {

/// The last number before "% less" in the line that begins so.
double less_of(const std::string& text, const std::string& line) {
  const std::size_t from = text.find(line), end = text.find("% less", from);
  if (from == std::string::npos || end == std::string::npos)
    throw UserError(fmt::format("LAMMPS was run, and no {} was printed:\n{}", line, text));
  return std::stod(text.substr(text.rfind(' ', end) + 1));
}

void lammps(Trial& trial) {
  std::vector<std::string> arguments{trial.machine_name(), "4"};
  for (const std::string& setting : trial.settings()) arguments.insert(arguments.end(), {"--set", setting});
  const std::string text = run_example("lammps_over_tcp.sh", arguments);
  const std::string note =
      "2,048 atoms instead of millions; against TCP/IP, with the kernel's costs and LAMMPS's time for an "
      "atom "
      "assumed";
  trial.give("V-EXN-09", "communication", less_of(text, "communication:"), note);
  trial.give("V-EXN-09", "wall", less_of(text, "its whole loop:"), note);
}

constexpr const char* kNeeds = "LAMMPS and Linux nodes, and some minutes";

const Figure::Open kOpen{
    "published is the most that several benchmarks gained, with up to millions of atoms; ours is one of "
    "2,048 "
    "atoms, where the kernel's costs and LAMMPS's time for an atom are assumed",
    "the paper's benchmarks one by one, and what they ran over without RDMA, which it does not say"};

WEFT_REGISTER(ExperimentKind, {"exanest-trenz/lammps",
                               32,
                               "exanest-trenz",
                               {{"V-EXN-09",
                                 "communication",
                                 "LAMMPS with RDMA: less time of communication",
                                 "%",
                                 40,
                                 points_off(10),
                                 Basis::Predicted,
                                 false,
                                 "section 5.3: up to 40%",
                                 {"V-EXN-01"},
                                 kOpen,
                                 kNeeds},
                                {"V-EXN-09",
                                 "wall",
                                 "LAMMPS with RDMA: less time in all",
                                 "%",
                                 7,
                                 at_least(),
                                 Basis::Predicted,
                                 false,
                                 "section 5.3: above 7%",
                                 {"V-EXN-01"},
                                 kOpen,
                                 kNeeds}},
                               lammps});

}  // namespace

}  // namespace weft::measure
