#include "measure/run/what_if.hpp"

#include <cmath>
#include <numeric>

#include "event/event_queue.hpp"
#include "workload/executor.hpp"
#include "workload/placement.hpp"
#include "workload/replay.hpp"

namespace weft::measure {

using Kind = workload::Operation::Kind;

namespace {

/// Throws UserError where it does not finish.
Time run_again(const machine::Machine& machine, const workload::Program& program, const WhatIfOptions& o,
               const std::string& engine, const std::vector<network::EndpointId>& nodes) {
  auto network = workload::make_engine(engine, machine, {o.seed, o.threads, {}});
  event::EventQueue events;
  const workload::ExecutionResult result = workload::execute(program, nodes, *network, events, {});
  if (!result.finished) throw UserError("it did not come to its end");
  return result.completion;
}

}  // namespace

double WhatIf::change(const Alternative& a) const {
  return as_it_was.value > 0
             ? static_cast<double>(a.completion.value) / static_cast<double>(as_it_was.value) - 1
             : 0;
}

workload::Program balanced(workload::Program program) {
  std::vector<double> computed(program.ranks());
  auto each = [&](auto&& what) {
    for (workload::Rank r = 0; r < program.ranks(); ++r)
      for (std::uint64_t i = program.begin[r]; i < program.begin[r + 1]; ++i)
        if (program.operations[i].kind == Kind::Compute) what(r, program.operations[i]);
  };
  each([&](workload::Rank r, workload::Operation& step) { computed[r] += static_cast<double>(step.amount); });
  const double mean =
      std::accumulate(computed.begin(), computed.end(), 0.0) / std::max<double>(1, program.ranks());
  each([&](workload::Rank r, workload::Operation& step) {
    step.amount =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(step.amount) * mean / computed[r]));
  });
  return program;
}

WhatIf what_if(const machine::Machine& machine, const workload::Program& recording, const WhatIfOptions& o) {
  WhatIf out;
  out.as_it_was = run_again(machine, recording, o, o.engine, o.nodes);
  auto attempt = [&](const std::string& what, auto&& run) {
    Alternative one{what, {}, {}};
    try {
      one.completion = run();
    } catch (const UserError& error) {
      one.failure = error.what();
    }
    out.alternatives.push_back(one);
  };
  attempt("all ranks compute alike",
          [&] { return run_again(machine, balanced(recording), o, o.engine, o.nodes); });
  if (o.engine != "ideal")
    attempt("no message is in another's way",
            [&] { return run_again(machine, recording, o, "ideal", o.nodes); });
  const auto ranks = static_cast<workload::Rank>(o.nodes.size());
  for (const workload::PlacementKind& kind : workload::placement_kinds()) {
    if (kind.name.find(':') != std::string::npos) continue;  // needs a file
    std::vector<network::EndpointId> nodes;
    attempt("--place " + kind.name, [&] {
      const auto used = workload::Placement(*machine.graph, *machine.faults)
                            .place((ranks + o.per_node - 1) / o.per_node, kind.name, o.seed);
      for (workload::Rank r = 0; r < ranks; ++r) nodes.push_back(used[r / o.per_node]);
      return nodes == o.nodes ? Time{-1} : run_again(machine, recording, o, o.engine, nodes);
    });
    if (out.alternatives.back().completion.value == -1) out.alternatives.pop_back();  // as it was
  }
  return out;
}

}  // namespace weft::measure
