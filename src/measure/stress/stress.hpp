// Random machines, traffic and faults, and the one question: has every packet arrived once, whole and in
// order, or been reported as undeliverable?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::measure {

/// What is run: all of it follows from a seed and a number.
struct StressScenario {
  std::string machine;                // a description, as text
  std::vector<std::string> settings;  // on top of it
  std::string faults;                 // a script; may be empty
  std::uint64_t seed = 0;
  std::uint32_t packets_per_endpoint = 0;
  std::uint32_t longest_packet = 1;  // flits
  std::uint64_t spacing = 1;         // cycles between two packets of an endpoint, on average
  bool in_order = false;             // the machine keeps packets of a pair in order
};

StressScenario make_scenario(std::uint64_t seed, std::uint64_t number);

struct StressResult {
  std::uint64_t packets = 0, delivered = 0;
  std::uint64_t lost = 0;           // neither delivered nor reported
  std::uint64_t duplicated = 0;     // delivered twice, or delivered and reported
  std::uint64_t corrupted = 0;      // bytes, length or destination other than sent
  std::uint64_t out_of_order = 0;   // though order was promised
  std::uint64_t undeliverable = 0;  // reported: no way was left
  std::uint64_t flagged = 0;        // delivered with damaged payload, and marked so
  std::uint64_t retries = 0, taken_back = 0, reroutings = 0;
  std::uint64_t cycles = 0;
  std::uint64_t digest = 0;  // of every arrival and its time, in an order of its own
  std::string problem;       // empty: all is well
  std::vector<std::string> timeline;
};

StressResult run_scenario(const StressScenario& scenario, unsigned threads);

}  // namespace weft::measure
