// Runs a program on a network: each step when what it waits for is done, each message by way of the engine.
#pragma once

#include <string>
#include <vector>

#include "base/virtual_time.hpp"
#include "event/event_queue.hpp"
#include "network/network.hpp"
#include "workload/program.hpp"

namespace weft::workload {

/// Told of what ranks do; times are from the start on.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  /// Before anything else: the endpoint of each rank.
  virtual void starts(const std::vector<network::EndpointId>& endpoint) = 0;
  /// A rank's processor is busy. Those of a rank come in order and do not overlap.
  virtual void busy(Rank rank, Time from, Time until) = 0;
  /// A message of one rank for another has arrived that was handed over at `from`.
  virtual void message(Rank rank, Rank to, std::uint64_t bytes, Time from, Time until, bool by_interface) = 0;
};

struct ExecutorOptions {
  Time send_cost{0}, receive_cost{0};            // the rank's processor is busy for each message
  ExecutionObserver* observer = nullptr;         // nobody: nothing is told
  std::vector<std::uint8_t> message_class = {};  // by rank: of what it sends; empty: 0
};

struct ExecutionResult {
  bool finished = false;
  Time completion{0};              // of the last rank
  std::vector<Time> rank_end;      // by rank
  std::vector<std::string> stall;  // who waits for what, where it did not finish
  std::uint64_t messages = 0, bytes = 0, packets = 0;
  std::uint64_t local_messages = 0;  // between ranks of one endpoint: they cost nothing
  TimeSum compute;                   // over all ranks
  TimeSum message_time;              // from start to arrival, over all messages that crossed the network
};

/// `endpoint` by rank. `events` has the clock of the run and what ranks are going to do. A message larger
/// than the engine's largest packet goes in several. Throws UserError where a message is longer than the
/// receive it matches, where virtual time passes its end, and where packets under way would take more memory
/// than there is.
ExecutionResult execute(const Program& program, const std::vector<network::EndpointId>& endpoint,
                        network::Network& network, event::EventQueue& events, const ExecutorOptions& options);

}  // namespace weft::workload
