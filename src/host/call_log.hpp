// The simulator's side of what processes write down about their calls to MPI.
#pragma once

#include <string>
#include <vector>

#include "abi/mpi_calls.hpp"
#include "host/segment.hpp"

namespace weft::host {

using namespace abi;  // what ranks share with it are the words of this folder

/// A time as people read it.
std::string time_text(Time time);
std::string time_text(double picoseconds);

/// "is in MPI_Recv (from rank 2, tag 7)", "has returned from MPI_Barrier"; empty where it never called MPI.
std::string doing_text(const Doing& doing);

/// What a process says it does, copied and checked.
Doing doing_of(const Thread& thread);

/// One log for each rank. Memory is taken as it is written, so a log that stays empty costs nothing.
class CallLogs {
 public:
  explicit CallLogs(unsigned ranks);

  int file(unsigned rank) const { return memory_[rank].file(); }
  /// In the order of the calls' ends. Once: the memory is given back.
  std::vector<CallRecord> read(unsigned rank) const;
  /// Calls that found no room.
  std::uint64_t left_out(unsigned rank) const;

 private:
  std::uint64_t capacity_;
  std::vector<SharedMemory> memory_;
};

}  // namespace weft::host
