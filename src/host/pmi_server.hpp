// The other protocol between MPI processes and their launcher: PMI-1, lines of text over a socket, as MPICH
// speaks it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
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
  /// Lines may hold anything: what is not understood has no answer, and what is too much is not kept.
  std::vector<Answer> to(unsigned rank, const std::string& line);

  struct Abort {
    unsigned rank;
    int code;
  };
  /// The first rank that called MPI_Abort.
  const std::optional<Abort>& aborted() const { return abort_; }

 private:
  unsigned ranks_, waiting_ = 0;
  std::size_t bytes_ = 0;  // of all keys and values
  std::optional<Abort> abort_;
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

  /// What ranks have said so far is read first.
  std::optional<PmiAnswers::Abort> aborted();
  /// A rank that spoke another language: what it did. Empty: none.
  std::string broken();

 private:
  struct Client {
    int ours = -1, theirs = -1;
    std::string text;   // received, not a whole line yet
    bool deaf = false;  // nothing is heard of it any more
  };
  void serve();
  void receive(unsigned rank);
  void say(unsigned rank, const std::string& line);

  std::vector<Client> clients_;
  std::mutex mutex_;  // of what follows, and of the clients' text
  PmiAnswers answers_;
  std::string broken_;
  int stop_[2] = {-1, -1};
  std::thread thread_;
};

}  // namespace weft::host
