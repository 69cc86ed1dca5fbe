// The page of a run on this computer's own address, for as long as the run lasts.
#pragma once

#include <memory>
#include <string>

#include "live/board.hpp"

namespace weft::live {

/// Serves one page and the state behind it on 127.0.0.1 and nowhere else. Pause and stop need a token that
/// only the terminal has shown; nothing else that a page sends acts on the run.
class Server {
 public:
  /// Takes the port, or any that is free where it is 0; throws UserError where that cannot be. Serves only
  /// once started.
  Server(Board& board, std::string page, unsigned port);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Once. Not before processes are started: they would inherit its connections.
  void start();
  unsigned port() const;
  const std::string& token() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace weft::live
