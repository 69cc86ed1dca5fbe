// Does `weft check` say what happens? Random machines with dead cables, routers and groups are proved, and
// then every endpoint sends to every other one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::measure {

struct ProofCase {
  std::string machine;                // a description, as text
  std::vector<std::string> settings;  // on top of it
};

ProofCase make_proof_case(std::uint64_t seed, std::uint64_t number);

struct ProofOutcome {
  bool holds = false;      // as proved
  bool refused = false;    // the engine does not take the machine
  bool delivered = false;  // all packets of all pairs arrived
  std::uint64_t broken_pairs = 0;
  std::string proof, run;  // each in a few words
  std::string problem;     // empty: proof and run agree
};

ProofOutcome run_proof_case(const ProofCase& one);

}  // namespace weft::measure
