// `weft accelerators`: asks a running `weft boot` job for accelerators, and gives them back.
#include <fmt/format.h>

#include <charconv>

#include "app/verb.hpp"
#include "base/text.hpp"
#include "guest/control.hpp"

namespace weft::app {

namespace {

struct AcceleratorsOptions {
  std::string action, device, node, job;
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

std::string request_of(const AcceleratorsOptions& o) {
  Diagnostics problems;
  const bool assigns = o.action == "assign";
  if (o.action == "list" && !o.device.empty()) problems.add({}, o.device, "list takes no more words");
  if (o.action != "list" && o.device.empty())
    problems.add({}, o.action, "which accelerator? `weft accelerators list` names them");
  if (assigns && !o.device.empty() && o.node.empty())
    problems.add({}, o.action, "to which Linux node? as `weft accelerators assign nvme.0 node1`");
  if (!assigns && !o.node.empty()) problems.add({}, o.node, "only assign takes a node");
  problems.throw_if_any();
  if (o.action == "list") return "list";
  return assigns ? fmt::format("assign {} to {}", o.device, o.node)
                 : fmt::format("{} {}", o.action, o.device);
}

int ask(const AcceleratorsOptions& o) {
  const std::string request = request_of(o);
  const guest::ControlAnswer answer = guest::ask_job(socket_of(o.job), request);
  const char* end = answer.text.ends_with('\n') ? "" : "\n";
  if (answer.well) {
    fmt::print("{}{}", answer.text, end);
  } else {
    fmt::print(stderr, "weft: {}{}", answer.text, end);
  }
  return answer.well ? 0 : 1;
}

std::function<int()> declare_accelerators(CommandLine& app) {
  auto o = std::make_shared<AcceleratorsOptions>();
  app.add_option("action", o->action,
                 "list: who has which. assign: a node gets one, and its kernel finds it. release: its kernel "
                 "lets go of it, then it is reset. reclaim: at once, whatever its node is doing with it")
      .option_text("list|assign|release|reclaim")
      .one_of({"list", "assign", "release", "reclaim"})
      .required();
  app.add_option("accelerator", o->device,
                 "As list calls it: nvme.0; for assign also its kind, for any that is free")
      .option_text("ACCELERATOR");
  app.add_option("node", o->node, "The Linux node that gets it: node1").option_text("NODE");
  app.add_option("--job", o->job, "Process number of the job, where several run").option_text("NUMBER");
  return [o] { return ask(*o); };
}

WEFT_REGISTER(Verb, {"accelerators", "grant and take back accelerators of a running `weft boot` job", 8,
                     declare_accelerators});

}  // namespace

}  // namespace weft::app
