// What an MPI library expects of its launcher: who there is and where, a place to meet, and settings that
// leave it no way around the simulated network.
//
// Weft is its own launcher. It answers the ranks by PMIx, the protocol Open MPI speaks to any resource
// manager, from a thread of the library; nothing of it is seen in virtual time (lib/mpi_start.cpp).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::host {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// What lets programs that use libfabric find the provider in this folder.
Environment libfabric_environment(const std::string& folder);

/// What a program is linked with, as far as that can be told from outside.
enum class MpiLibrary { None, OpenMpi, Mpich, MpichUcx, Unknown };

/// Unknown: a script or an interpreter, which may start an MPI program.
MpiLibrary mpi_library_of(const std::string& program);

/// How one-sided operations of Open MPI travel.
enum class MpiWindows {
  Auto,      // as messages, unless the program asks for MPI_THREAD_MULTIPLE, which those cannot have
  Messages,  // of its own, which the target's processor must take
  Rdma       // puts, gets and atomics of the interface
};

class MpiLauncher {
 public:
  /// `nodes`: the node of each rank. `library`: the folder libweft-fi.so is in.
  MpiLauncher(const std::vector<unsigned>& nodes, std::string library_folder, MpiWindows windows);
  ~MpiLauncher();
  MpiLauncher(const MpiLauncher&) = delete;
  MpiLauncher& operator=(const MpiLauncher&) = delete;

  /// What a rank's process needs to find in its environment.
  Environment environment(unsigned rank) const;
  /// A file its process must have open; closed here once it has been started.
  int file(unsigned rank) const;
  void started(unsigned rank);
  /// A rank's process has been ended, whatever it was doing.
  void killed() { killed_ = true; }

  /// A rank called MPI_Abort: which, and what it said; rank -1: none did.
  struct Abort {
    int rank = -1, code = 0;
    std::string text;
  };
  Abort aborted() const;
  /// What a rank said that no MPI library says; empty: nothing.
  std::string broken() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
  std::string library_folder_;
  MpiWindows windows_;
  bool killed_ = false;
};

}  // namespace weft::host
