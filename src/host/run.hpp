// What a run of a program is asked for, and what comes of it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "abi/port_layout.hpp"
#include "base/virtual_time.hpp"
#include "host/mpi_launch.hpp"
#include "host/output.hpp"
#include "host/processes.hpp"
#include "network/network.hpp"
#include "storage/counters.hpp"

namespace weft::host {

using namespace abi;  // what ranks share with it are the words of this folder

enum class Cores { Auto, One, All };

/// The machine's file system as programs see it.
struct StorageOptions {
  std::string mount = "/weft";  // empty: there is none
  std::string keep;             // folder of the host that outlives the run; empty: none does
  struct Failure {
    unsigned server;  // 0: that of metadata; else the number of a target
    Time at;
  };
  std::vector<Failure> failures;
  Time power_cut{kNoDeadline};  // of the whole machine
  struct Cache {
    std::uint64_t bytes = 0;  // of each node's memory, for data of files; 0: none is kept
    bool back = false;        // what is written there goes to the servers later
    bool at_close = false;    // others see it when it is closed; else at once
  } cache;
  std::uint64_t burst_buffer = 0;   // bytes, of all nodes of the job together; 0: there is none
  std::string stage_in, stage_out;  // folders below the mount point
  bool stages_in = false, stages_out = false;
};

struct RunOptions {
  unsigned ranks = 1, per_node = 1;
  std::vector<network::EndpointId> place;  // the node of each rank; empty: per_node on each, from the first
  std::vector<std::string> command;
  std::string library;
  bool mpi = false;  // the program may be one of MPI
  MpiWindows mpi_windows = MpiWindows::Auto;
  OutputOptions output;
  std::uint64_t seed = 1;
  Cores cores = Cores::Auto;
  std::vector<double> slow;  // by rank: its work takes so many times as long; empty: none is slower
  Time noise_length{0}, noise_interval{0};  // of interruptions, on average; no length: there are none
  bool log_calls = false;                   // to MPI, for calls()
  StorageOptions storage;
  CollectiveModel collectives{};           // which the interfaces run
  std::vector<std::uint32_t> tree_order;   // ranks in the order of their trees; empty: by number
  std::vector<std::uint32_t> tree_groups;  // the group of each rank in trees of two levels; empty: one level
};

struct RankResult {
  network::EndpointId node = 0;
  Time end{0};      // its clock when it left
  Time waited{0};   // of that, in its first thread
  Time stalled{0};  // while messages of MPI waited for credit
  bool ended = false;
  Ending ending;
};

struct RunResult {
  bool fine = false;
  std::string failure;               // one line
  std::vector<std::string> details;  // who waited for what
  Time end{0};
  std::vector<RankResult> ranks;
  std::uint64_t rounds = 0, grants = 0;
  MpiSums mpi{};  // of all ranks, costs apart
  std::array<TimeSum, kProtocols> mpi_cost{};
  bool has_mpi = false;
  storage::Figures storage;
};

/// How far a run has come.
struct Progress {
  Time now{0};
  std::uint64_t clock_reads = 0;  // by all ranks
};

}  // namespace weft::host
