// `weft accelerators`: asks a running `weft boot` job for accelerators, and gives them back.
#include <fmt/format.h>

#include "app/verb.hpp"
#include "base/text.hpp"
#include "guest/control.hpp"

namespace weft::app {

namespace {

struct AcceleratorsOptions {
  std::string action, job;
  std::vector<std::string> words;
};

/// The socket of the job that is meant: the one with a process number, or the only one.
std::string socket_of(const std::string& job) {
  const std::vector<std::string> running = guest::running_jobs();
  std::vector<std::string> numbers;
  for (const std::string& path : running) {
    const std::size_t from = path.rfind('/') + 1;
    numbers.push_back(path.substr(from, path.rfind('.') - from));
    if (numbers.back() == job) return path;
  }
  if (running.empty()) throw UserError("no `weft boot` job with accelerators runs");
  if (!job.empty())
    throw UserError(fmt::format("--job {}: no such job runs; there are {}", job, join(numbers, ", ")));
  if (running.size() > 1)
    throw UserError(fmt::format("--job NUMBER says which job is meant: there are {}", join(numbers, ", ")));
  return running.front();
}

/// As a script would say it, without the time.
std::string request_of(const AcceleratorsOptions& o) {
  std::vector<std::string> words = o.words;
  if (o.action == "assign" && words.size() == 2) words.insert(words.begin() + 1, "to");
  words.insert(words.begin(), o.action);
  return join(words, " ");
}

int ask(const AcceleratorsOptions& o) {
  const guest::ControlAnswer answer = guest::ask_job(socket_of(o.job), request_of(o));
  if (!answer.understood) throw UserError(answer.text);
  const char* end = answer.text.ends_with('\n') ? "" : "\n";
  fmt::print(answer.well ? stdout : stderr, "{}{}{}", answer.well ? "" : "weft: ", answer.text, end);
  return answer.well ? 0 : 1;
}

std::function<int()> declare_accelerators(CommandLine& app) {
  auto o = std::make_shared<AcceleratorsOptions>();
  app.add_option("action", o->action,
                 "list: who has which. assign: a node gets one, and its kernel finds it. release: its kernel "
                 "lets go of it, then it is reset. reclaim: at once, whatever its node is doing with it. "
                 "inject: a packet of PCI Express, and its completion")
      .option_text("list|assign|release|reclaim|inject")
      .one_of({"list", "assign", "release", "reclaim", "inject"})
      .required();
  app.add_option(
         "words", o->words,
         "nvme.0 node1 for assign, where nvme means any that is free; nvme.0 for release and reclaim; "
         "for inject what docs/design.md says: from 0 into 22 ConfigRead1 01:00.0 0x0 4")
      .option_text("[WORDS...]");
  app.add_option("--job", o->job, "Process number of the job, where several run").option_text("NUMBER");
  return [o] { return ask(*o); };
}

WEFT_REGISTER(Verb, {"accelerators", "grant and take back accelerators of a running `weft boot` job", 8,
                     declare_accelerators});

}  // namespace

}  // namespace weft::app
