// `weft replay`: a skeleton or a trace on a machine, with every dependency kept.
#include "workload/replay.hpp"

#include <fmt/format.h>

#include "app/ranks.hpp"
#include "app/replay_interference.hpp"
#include "app/replay_report.hpp"
#include "app/verb.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/version.hpp"
#include "machine/collective_network.hpp"
#include "machine/networks.hpp"
#include "report/figures.hpp"
#include "workload/skeleton.hpp"
#include "workload/trace.hpp"

namespace weft::app {

namespace {

using workload::JobText;

struct Options {
  MachineOptions machine;
  JobText job;
  std::vector<std::string> beside, beside_settings;
  unsigned beside_class = 0;
  std::string engine = "flow", save, send_cost = "0", receive_cost = "0", collectives = "software";
  std::uint64_t seed = 1;
  unsigned threads = 1;
  bool json = false;
  std::string out, trace, interference;
  std::uint64_t trace_megabytes = 1024;
};

/// The command as it could be typed again.
std::string command_line(const Options& o) {
  std::string out = "weft replay";
  auto add = [&](const std::string& text) {
    bool plain = !text.empty() && text.find_first_of(" '\"[](){}*?$&;|<>#\\") == std::string::npos;
    out += plain ? " " + text : fmt::format(" '{}'", text);
  };
  auto option = [&](const char* name, const std::string& value) {
    out += fmt::format(" {}", name);
    add(value);
  };
  add(o.machine.machine);
  add(o.job.workload);
  for (const std::string& setting : o.machine.settings) option("--set", setting);
  for (const std::string& setting : o.job.settings) option("--workload-set", setting);
  if (o.job.ranks) option("--ranks", std::to_string(o.job.ranks));
  option("--placement", o.job.placement);
  for (const std::string& beside : o.beside) option("--beside", beside);
  for (const std::string& setting : o.beside_settings) option("--beside-set", setting);
  if (o.beside_class) option("--beside-class", std::to_string(o.beside_class));
  if (!o.interference.empty()) option("--interference", o.interference);
  option("--engine", o.engine);
  if (o.collectives != "software") option("--collectives", o.collectives);
  option("--send-cost", o.send_cost);
  option("--receive-cost", o.receive_cost);
  option("--seed", std::to_string(o.seed));
  return out;
}

/// "WORKLOAD:RANKS:PLACEMENT", the last two may be left out.
JobText read_beside(const std::string& text) {
  std::vector<std::string> parts = split(text, ':');
  JobText job;
  job.workload = parts[0];
  if (parts.size() > 1) {
    char* end = nullptr;
    unsigned long ranks = std::strtoul(parts[1].c_str(), &end, 10);
    if (parts[1].empty() || *end != '\0' || ranks == 0 || ranks > 0xffff'ffff)
      throw UserError(
          fmt::format("--beside {}: expected WORKLOAD:RANKS:PLACEMENT, such as stencil-3d:64:block", text));
    job.ranks = static_cast<workload::Rank>(ranks);
  }
  if (parts.size() > 2) job.placement = join(std::span(parts).subspan(2), ":");
  return job;
}

Time cost(const char* option, const std::string& text) {
  std::string error;
  auto value = parse_quantity(quantity_kind<Time>(), text, error);
  if (!value || *value < 0)
    throw UserError(fmt::format("{} {}: {}", option, text, error.empty() ? "is negative" : error));
  return {*value};
}

void print(const workload::ReplayResult& r, const machine::Machine& m) {
  fmt::print("machine    {}: {} on {}\n", m.description.identity.name,
             count_of(m.graph->endpoints(), "endpoint"), count_of(m.graph->routers(), "router"));
  fmt::print("engine     {}, {:.2f} s of this computer's time\n", r.engine, r.seconds);
  for (const workload::JobResult& job : r.jobs)
    fmt::print("job        {}: {} ({}), {}, {}; done after {}\n", job.workload, count_of(job.ranks, "rank"),
               job.placement, count_of(job.messages, "message"),
               report::rounded<DataSize>(static_cast<double>(job.bytes)),
               r.run.finished ? report::rounded(job.completion) : "never");
  for (const workload::JobResult& job : r.jobs)
    if (job.offloaded) fmt::print("offload    {}\n", offload_text(job));
  for (const std::string& line : r.run.stall) fmt::print("stalled    {}\n", line);
  if (!r.run.finished) return;
  std::uint64_t crossed = r.run.messages - r.run.local_messages;
  if (crossed > 0)
    fmt::print("messages   took {} on average, from the start to the last byte's arrival\n",
               report::rounded<Time>(r.run.message_time.picoseconds() / static_cast<double>(crossed)));
  fmt::print("completed  after {}\n", report::rounded(r.run.completion));
}

int run(const Options& o) {
  workload::ReplayText text;
  text.engine = o.engine;
  text.seed = o.seed;
  text.threads = o.threads ? o.threads : default_threads();
  text.ranks = ranks();
  const std::string folder = speaks() ? o.out : "", trace = speaks() ? o.trace : "";
  text.options = {cost("--send-cost", o.send_cost), cost("--receive-cost", o.receive_cost)};
  text.offload = o.collectives == "offload";
  text.jobs.push_back(o.job);
  for (const std::string& beside : o.beside) {
    text.jobs.push_back(read_beside(beside));
    text.jobs.back().settings = o.beside_settings;
    text.jobs.back().traffic_class = o.beside_class;
  }
  // With several jobs the first cannot take all endpoints there are.
  if (text.jobs.size() > 1 && o.job.ranks == 0 &&
      config::Registry<workload::SkeletonKind>::find(o.job.workload))
    throw UserError("--ranks is needed where several jobs run side by side");
  if (!o.interference.empty()) {
    if (o.beside.empty() || o.beside_class || !o.trace.empty())
      throw UserError("--interference needs a job --beside, sets its class, and writes no --trace");
    return show_interference({o.machine, text, o.interference, folder, command_line(o), o.json});
  }
  machine::Machine m = machine::build(o.machine.describe());
  machine::refuse_networks(m.description, "weft replay");
  if (text.offload && machine::collective_network(m.description) && text.options.send_cost.value == 0)
    throw UserError(
        "--send-cost must be more than 0 where there is a [collective_network]: a message that is sent at "
        "once when "
        "another arrives would not let the two networks run in turn");
  if (!o.save.empty() && speaks()) {
    workload::Placement placement(*m.graph, *m.faults);
    workload::save_trace(workload::read_job(o.job, placement.free(), o.seed), o.save);
  }
  ReplayReport watch(
      {folder, trace, std::min<std::uint64_t>(o.trace_megabytes, 1 << 20) << 20, command_line(o), o.seed});
  text.options.observer = watch.observer();
  workload::ReplayResult result = workload::replay(m, text);
  Json json = replay_json(result, m);
  watch.finish(result, m, json);
  if (o.json)
    fmt::print("{}\n", json.dump(1));
  else
    print(result, m);
  if (!o.json && !watch.answer().empty()) fmt::print("{}\n", watch.answer());
  if (!o.json && !o.out.empty())
    fmt::print("results in {}: report.html, result.json and tables (CSV)\n", o.out);
  return result.run.finished ? 0 : 1;
}

std::string workloads_text() {
  std::string out = "Workloads, beside .goal schedules and .weftrace files:\n";
  for (const auto& [name, kind] : workload::Skeletons::all()) {
    out += fmt::format("  {:<15} {}\n", name, wrap(kind.about, 90, 18));
    for (const config::Field& field : kind.section.fields)
      out += fmt::format("  {:<15}   {}: {}\n", "", field.name,
                         wrap(fmt::format("{} (default {})", field.help, field.default_text), 88, 22));
  }
  out += "\nPlacements:\n";
  for (const auto& kind : workload::placement_kinds())
    out += fmt::format("  {:<15} {}\n", kind.name, kind.about);
  out += "\nEngines:\n";
  for (const auto& [name, kind] : config::Registry<network::EngineKind>::all())
    out += fmt::format("  {:<15} {}\n", name, kind.about);
  return out;
}

std::function<int()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  o->machine.declare(app);
  app.add_option("workload", o->job.workload,
                 "A workload's name (see below), a .goal schedule or a .weftrace")
      .required()
      .option_text("WORKLOAD");
  auto repeated = [&](const char* name, std::vector<std::string>& to, const char* text, const char* help) {
    app.add_option(name, to, help).option_text(text).repeatable();
  };
  repeated("--workload-set", o->job.settings, "KEY=VALUE", "A parameter of the workload; may be repeated");
  app.add_option("--ranks", o->job.ranks, "Ranks; 0: one on each endpoint, or as many as the trace has")
      .option_text("N [0]");
  app.add_option("--placement", o->job.placement, "Where ranks run; see below").option_text("NAME [linear]");
  repeated("--beside", o->beside, "WORKLOAD:RANKS:PLACEMENT",
           "Another job at the same time; may be repeated");
  repeated("--beside-set", o->beside_settings, "KEY=VALUE",
           "A parameter of the workloads beside; may be repeated");
  app.add_option("--beside-class", o->beside_class,
                 "Class of traffic of the jobs beside, of router.class_weights; the first job's is 0")
      .option_text("N [0]")
      .range(0, 7);
  app.add_option(
         "--interference", o->interference,
         "What the jobs beside do to the first, as a table: alone, with them in its class of traffic, "
         "in a class of their own, and so at weights of the first job and of the others")
      .option_text("A:B");
  app.add_option("--engine", o->engine, "What the network is made of; see below").option_text("NAME [flow]");
  app.add_option(
         "--collectives", o->collectives,
         "Who runs barriers, broadcasts, reduces and all-reduces of a skeleton, or of a recording of an "
         "MPI program: its ranks, by messages; or, up to mpi.collective_limit, the interfaces, along a "
         "tree (mpi.tree), with their own times; tells what of a recording stays messages, and why")
      .option_text("software|offload [software]")
      .one_of({"software", "offload"});
  app.add_option("--send-cost", o->send_cost, "Time of a rank's processor for each message it sends")
      .option_text("TIME [0]");
  app.add_option("--receive-cost", o->receive_cost, "The same for each message it receives")
      .option_text("TIME [0]");
  app.add_option("--seed", o->seed, "Two runs with the same seed are the same").option_text("N [1]");
  app.add_option("--threads", o->threads,
                 "Threads of the flit engine; 0: the cores there are. Others take one. Results are the same")
      .option_text("N [1]")
      .range(0, 1024);
  app.add_option("--save-trace", o->save, "Write the workload as a .weftrace").option_text("FILE");
  app.add_option("--out", o->out,
                 "Folder for the results: report.html as of a run, result.json and tables (CSV)")
      .option_text("DIR");
  app.add_option("--trace", o->trace,
                 "File for a trace that opens in ui.perfetto.dev: waits, messages with arrows, links")
      .option_text("FILE");
  app.add_option("--trace-size", o->trace_megabytes, "MiB at most of that file; what comes later is left out")
      .option_text("N [1024]")
      .positive();
  app.add_flag("--json", o->json, "Machine-readable: one object");
  app.footer("\n" + workloads_text());
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb, {"replay", "run a workload or a trace on a machine, with all its dependencies", 6,
                     declare, false, true});

}  // namespace

}  // namespace weft::app
