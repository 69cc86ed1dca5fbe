#include "app/replay_report.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/diagnostics.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "report/run_answer.hpp"
#include "report/run_report.hpp"
#include "report/trace_links.hpp"

namespace weft::app {

namespace fs = std::filesystem;

namespace {

Json collectives_json(const workload::OffloadCounts& counts) {
  Json left = Json::object();
  for (std::size_t why = 0; why < counts.left.size(); ++why)
    if (counts.left[why]) left[workload::left_name(static_cast<workload::Left>(why))] = counts.left[why];
  return {{"named", counts.named}, {"replaced", counts.replaced}, {"left", left}};
}

}  // namespace

std::string offload_text(const workload::JobResult& job) {
  const workload::OffloadCounts& counts = *job.offloaded;
  if (!counts.named)
    return fmt::format(
        "{} names no collectives, so all of it stays messages; recordings of MPI programs name "
        "theirs (weft run --record)",
        job.workload);
  std::vector<std::string> left;
  for (std::size_t why = 0; why < counts.left.size(); ++why)
    if (counts.left[why])
      left.push_back(
          fmt::format("{} {}", counts.left[why], workload::left_because(static_cast<workload::Left>(why))));
  return fmt::format("{}: {} by the interfaces, {} by messages as recorded{}{}", job.workload,
                     count_of(counts.replaced, "collective"), counts.named - counts.replaced,
                     left.empty() ? "" : ": ", join(left, "; "));
}

Json replay_json(const workload::ReplayResult& r, const machine::Machine& m) {
  Json jobs = Json::array();
  for (const workload::JobResult& job : r.jobs) {
    Json one = {{"workload", job.workload},   {"ranks", job.ranks},
                {"placement", job.placement}, {"completion_ps", job.completion.value},
                {"messages", job.messages},   {"bytes", job.bytes}};
    if (job.offloaded) one["collectives"] = collectives_json(*job.offloaded);
    jobs.push_back(one);
  }
  return {{"machine", m.description.identity.name},
          {"engine", r.engine},
          {"finished", r.run.finished},
          {"completion_ps", r.run.completion.value},
          {"messages", r.run.messages},
          {"packets", r.run.packets},
          {"bytes", r.run.bytes},
          {"jobs", jobs},
          {"stall", r.run.stall},
          {"wall_seconds", r.seconds},
          {"version", version()}};
}

ReplayReport::ReplayReport(const Options& options) : options_(options) {
  if (!options_.folder.empty()) {
    std::error_code failed;
    fs::create_directories(options_.folder, failed);
    if (failed)
      throw UserError(fmt::format("{}: the folder cannot be made: {}", options_.folder, failed.message()));
  }
  if (options_.trace.empty()) return;
  trace_.emplace(options_.trace, options_.trace_size);
  figures_.on_record = [this](const nic::Record& record, std::uint32_t from, std::uint32_t to) {
    name_ranks();
    trace_->operation(record, from, to);
  };
  figures_.on_wait = [this](std::uint32_t rank, Time from, Time until) {
    name_ranks();
    trace_->wait(rank, 0, from, until, "wait");
  };
}

/// Where they are is known when the replay has begun.
void ReplayReport::name_ranks() {
  if (named_) return;
  named_ = true;
  for (std::uint32_t rank = 0; rank < figures_.endpoint().size(); ++rank)
    trace_->rank(rank, figures_.endpoint()[rank]);
}

void ReplayReport::finish(const workload::ReplayResult& r, const machine::Machine& m, Json& json) {
  if (!observer()) return;
  figures_.finish(r.run, m);
  const measure::RunAnswer& answer = figures_.details().answer;
  if (answer.known) {
    json["answer"] = report::answer_json(answer, m);
    answer_ = report::answer_text(answer, m);
  }
  if (trace_) {
    name_ranks();
    report::trace_links(*trace_, figures_.details().transfers.all(), figures_.result().end, m);
    trace_->finish();
    if (trace_->left_out())
      fmt::print(stderr, "weft: {}: the trace would be longer than it may be: {} are left out\n",
                 options_.trace, count_of(trace_->left_out(), "event"));
  }
  if (!options_.folder.empty()) write(r, m, json);
}

void ReplayReport::write(const workload::ReplayResult& r, const machine::Machine& m, Json json) const {
  std::vector<std::string> workloads;
  for (const workload::JobResult& job : r.jobs)
    workloads.push_back(fs::path(job.workload).filename().string());
  measure::ProgramResult result;
  result.what = join(workloads, " beside ");
  result.command = options_.command;
  result.version = version();
  result.machine = m.description.identity.name;
  result.engine = r.engine;
  result.seed = options_.seed;
  result.run = figures_.result();
  json.erase("wall_seconds");  // the same command gives the same bytes
  const std::string folder = options_.folder + "/";
  write_file(folder + "result.json", json.dump(1) + "\n");
  write_file(folder + "matrix.csv", report::matrix_csv(figures_.stats()));
  write_file(folder + "breakdown.csv", report::breakdown_csv(figures_.stats()));
  write_file(folder + "report.html", report::run_page(result, figures_.stats(), figures_.details(), m));
}

}  // namespace weft::app
