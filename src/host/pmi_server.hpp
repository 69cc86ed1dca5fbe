// The other protocol between MPI processes and their launcher: PMI-1, lines of text over a socket, as MPICH
// speaks it.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace weft::host {

/// What is said to what: the protocol without its sockets.
class PmiAnswers {
 public:
  struct Answer {
    unsigned rank;
    std::string line;
  };
  /// `mapping`: which ranks are on which node, in MPICH's words.
  PmiAnswers(unsigned ranks, std::string mapping);
  /// Lines may hold anything: what is not understood has no answer.
  std::vector<Answer> to(unsigned rank, const std::string& line);

 private:
  unsigned ranks_, waiting_ = 0;
  std::map<std::string, std::string> values_;
};

class PmiServer {
 public:
  PmiServer(unsigned ranks, std::string mapping);
  ~PmiServer();
  PmiServer(const PmiServer&) = delete;
  PmiServer& operator=(const PmiServer&) = delete;

  /// The rank's end of its socket; closed here once it has been started.
  int file(unsigned rank) const { return clients_[rank].theirs; }
  void started(unsigned rank);

 private:
  struct Client {
    int ours = -1, theirs = -1;
    std::string text;  // received, not a whole line yet
  };
  void serve();
  void receive(unsigned rank);
  void say(unsigned rank, const std::string& line);

  std::vector<Client> clients_;
  PmiAnswers answers_;
  int stop_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace weft::host
