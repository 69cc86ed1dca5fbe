#include "app/replay_interference.hpp"

#include <fmt/format.h>

#include <charconv>

#include "app/replay_report.hpp"
#include "base/output_file.hpp"
#include "base/version.hpp"
#include "machine/networks.hpp"
#include "report/figures.hpp"

namespace weft::app {

namespace {

std::vector<unsigned> read_weights(const std::string& text) {
  std::vector<unsigned> out;
  for (const std::string& part : split(text, ':')) {
    unsigned weight = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), weight);
    if (error != std::errc() || end != part.data() + part.size() || weight < 1 || weight > 1000) {
      out.clear();
      break;
    }
    out.push_back(weight);
  }
  if (out.size() != 2)
    throw UserError(fmt::format(
        "--interference {}: expected two weights from 1 to 1000, of the job and of those beside it: 3:1",
        text));
  return out;
}

struct Outcome {
  InterferenceCase of;
  workload::ReplayResult result;
  Json json;
};

Outcome run_case(const InterferenceOptions& o, const InterferenceCase& of) {
  MachineOptions machine = o.machine;
  machine.settings.push_back(fmt::format("router.class_weights=[{},{}]", of.weights[0], of.weights[1]));
  const machine::Machine m = machine::build(machine.describe());
  machine::refuse_networks(m.description, "weft replay");
  workload::ReplayText text = o.text;
  if (!of.beside) text.jobs.resize(1);
  for (std::size_t j = 1; j < text.jobs.size(); ++j) text.jobs[j].traffic_class = of.others_class;
  ReplayReport watch(
      {o.out.empty() ? "" : o.out + "/" + of.name, "", report::Trace::kUsualSize, o.command, text.seed});
  text.options.observer = watch.observer();
  Outcome out{of, workload::replay(m, text), {}};
  out.json = replay_json(out.result, m);
  watch.finish(out.result, m, out.json);
  return out;
}

double seconds(Time time) { return static_cast<double>(time.value) * 1e-12; }

void print(const std::vector<Outcome>& all) {
  const workload::ReplayResult& first = all.front().result;
  fmt::print("job        {}: {} ({}), engine {}\n", first.jobs[0].workload,
             count_of(first.jobs[0].ranks, "rank"), first.jobs[0].placement, first.engine);
  for (std::size_t j = 1; j < all.back().result.jobs.size(); ++j) {
    const workload::JobResult& job = all.back().result.jobs[j];
    fmt::print("beside     {}: {} ({}), {}\n", job.workload, count_of(job.ranks, "rank"), job.placement,
               report::rounded<DataSize>(static_cast<double>(job.bytes)));
  }
  fmt::print("\n{:<38} {:>12} {:>9}   {}\n", "", "the job", "slower", "those beside it");
  for (const Outcome& one : all) {
    std::string beside;
    for (std::size_t j = 1; j < one.result.jobs.size(); ++j)
      beside += (j > 1 ? ", " : "") + report::rounded(one.result.jobs[j].completion);
    const double slower = seconds(one.result.jobs[0].completion) / seconds(first.jobs[0].completion);
    fmt::print("{:<38} {:>12} {:>8.2f}x   {}\n", one.of.about,
               one.result.run.finished ? report::rounded(one.result.jobs[0].completion) : "never", slower,
               beside.empty() ? "-" : beside);
  }
}

}  // namespace

std::vector<InterferenceCase> interference_cases(const std::string& weights) {
  const std::vector<unsigned> given = read_weights(weights);
  return {{"alone", "alone", false, 0, {1, 1}},
          {"one-class", "others beside it in its class", true, 0, {1, 1}},
          {"own-class", "others in a class of their own, 1:1", true, 1, {1, 1}},
          {"weighted", fmt::format("the same, at weights {}:{}", given[0], given[1]), true, 1, given}};
}

int show_interference(const InterferenceOptions& o) {
  std::vector<Outcome> all;
  Json cases = Json::array();
  bool finished = true;
  for (const InterferenceCase& of : interference_cases(o.weights)) {
    all.push_back(run_case(o, of));
    finished = finished && all.back().result.run.finished;
    cases.push_back({{"case", of.name},
                     {"about", of.about},
                     {"class_weights", of.weights},
                     {"slower", seconds(all.back().result.jobs[0].completion) /
                                    seconds(all.front().result.jobs[0].completion)},
                     {"replay", all.back().json}});
  }
  const Json json{{"interference", cases}, {"command", o.command}, {"version", version()}};
  if (!o.out.empty()) write_file(o.out + "/interference.json", json.dump(1) + "\n");
  if (o.json)
    fmt::print("{}\n", json.dump(1));
  else
    print(all);
  if (!o.json && !o.out.empty()) fmt::print("\na report of each in {}\n", o.out);
  return finished ? 0 : 1;
}

}  // namespace weft::app
