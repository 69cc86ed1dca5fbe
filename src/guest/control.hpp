// The control socket of a running job: one line asks, the answer ends the connection. It lies in a folder
// that only its user may enter.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "guest/socket.hpp"

namespace weft::guest {

/// The user's folder for the sockets of running jobs; made where it is missing. Throws UserError.
std::string control_folder();

class Control {
 public:
  Control();
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  int listener() const { return listener_.number(); }
  /// Takes what has come, without waiting: `ask` gets a line, and whom to answer.
  void attend(const std::function<void(const std::string& line, std::size_t client)>& ask);
  /// "ok" or "refused" is the first line, `text` follows.
  void answer(std::size_t client, bool well, const std::string& text) {
    say(client, well ? "ok" : "refused", text);
  }
  /// The line made no sense.
  void misunderstood(std::size_t client, const std::string& why) { say(client, "misunderstood", why); }

 private:
  struct Client {
    File socket;
    std::string line;
    bool asked = false;
  };
  void say(std::size_t client, std::string_view what, const std::string& text);

  std::string path_;
  File listener_;
  std::vector<Client> clients_;
};

struct ControlAnswer {
  bool well = false, understood = true;
  std::string text;
};
/// Sockets of jobs that run, as paths.
std::vector<std::string> running_jobs();
/// Asks a job and waits for its answer. Throws UserError where it does not answer.
ControlAnswer ask_job(const std::string& path, const std::string& line);

}  // namespace weft::guest
