// `weft validate`: the published figures of the papers' machines beside ours.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/verb.hpp"
#include "base/output_file.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "measure/lab/workload_file.hpp"
#include "measure/validate/figure.hpp"
#include "report/validation_report.hpp"

namespace weft::app {

namespace {

namespace fs = std::filesystem;

struct Options {
  measure::ValidateOptions validate;
  std::string out;
  bool json = false, list = false, sources = false;
};

int list_figures() {
  for (const measure::ExperimentKind* e : measure::experiments_in_order())
    for (const measure::Figure& f : e->figures)
      fmt::print("{:<10} {:<24} {:<18} {}{}\n", f.id, f.point, e->machine, f.what,
                 f.quick ? "" : " (not in --quick)");
  return 0;
}

int list_sources() {
  for (const measure::lab::WorkloadValue& v : measure::lab::workload_values())
    fmt::print("{:<14} {:<18} {:<10} {}\n", v.workload, v.key, v.value, v.source);
  return 0;
}

/// On a terminal one line that moves on; elsewhere a line for each experiment.
void show_progress(const std::string& experiment, std::size_t done, std::size_t of, double seconds) {
  if (isatty(STDERR_FILENO) != 1) {
    fmt::print(stderr, "experiment {} of {}: {}, {:.1f} s\n", done, of, experiment, seconds);
    return;
  }
  constexpr std::size_t kWidth = 30;
  std::size_t filled = kWidth * done / of;
  fmt::print(stderr, "\r[{}{}] {} of {} experiments: {:<28}", std::string(filled, '#'),
             std::string(kWidth - filled, '.'), done, of, experiment);
  if (done == of) fmt::print(stderr, "\r{:100}\r", "");
  std::fflush(stderr);
}

std::string page_file(const Options& o) {
  return fmt::format("{}/{}.html", o.out, o.validate.paper.empty() ? "validation" : o.validate.paper);
}

int run(Options& o) {
  if (o.list) return list_figures();
  if (o.sources) return list_sources();
  o.validate.progress = show_progress;
  if (o.validate.threads == 0) o.validate.threads = default_threads();
  if (!o.out.empty()) {
    std::error_code failed;
    fs::create_directories(o.out, failed);
    if (failed) throw UserError(fmt::format("{}: the folder cannot be made: {}", o.out, failed.message()));
  }
  measure::ValidateResult result = measure::validate(o.validate);
  if (!o.out.empty()) {
    write_file(page_file(o), o.validate.paper.empty()
                                 ? report::validation_page(result)
                                 : report::paper_page(measure::paper_named(o.validate.paper), result));
    write_file(o.out + "/validation.md", report::validation_markdown(result));
    write_file(o.out + "/validation.json", report::validation_json(result).dump(1) + "\n");
  }
  if (o.json)
    fmt::print("{}\n", report::validation_json(result).dump(1));
  else
    fmt::print("{}", report::validation_text(result));
  if (!o.out.empty()) fmt::print(stderr, "weft: {} has the plots\n", page_file(o));
  return result.failures() ? 1 : 0;
}

std::function<int()> declare(CommandLine& app) {
  auto o = std::make_shared<Options>();
  app.add_option("machine", o->validate.machine, "Only the figures of this machine").option_text("[MACHINE]");
  auto repeated = [&](const char* name, std::vector<std::string>& to, const char* text, const char* help) {
    app.add_option(name, to, help).option_text(text).repeatable();
  };
  repeated("--figure", o->validate.figures, "ID", "Only this figure, such as V-TH2-03; may be repeated");
  repeated("--set", o->validate.settings, "KEY=VALUE",
           "Override a value of the profiles, to see what depends on it; may be repeated");
  app.add_option("--paper", o->validate.paper,
                 fmt::format("Only the figures of this paper, and with --out a page with its figures and "
                             "tables by their numbers: {}",
                             join(measure::paper_names(), ", ")))
      .option_text("NAME");
  app.add_flag("--quick", o->validate.quick,
               "Fewer sizes and draws, without the figures that take long unless --figure names them; less "
               "than a minute");
  app.add_flag("--list", o->list, "List the figures there are");
  app.add_flag(
      "--sources", o->sources,
      "Where the values of the built-in programs come from; those of a machine: weft show MACHINE --sources");
  app.add_option("--threads", o->validate.threads,
                 "Experiments at a time; 0: the cores there are. Results are the same")
      .option_text("N [0]")
      .range(0, 1024);
  o->validate.threads = 0;
  app.add_option("--out", o->out,
                 "Folder for validation.html (with --paper NAME.html), with plots, validation.md and "
                 "validation.json")
      .option_text("DIR");
  app.add_flag("--json", o->json, "Machine-readable: a list with a row for each figure");
  app.footer("\nExits with 1 where a figure is outside its tolerance and is not listed as an open failure.");
  return [o] { return run(*o); };
}

WEFT_REGISTER(Verb, {"validate", "the published figures of the papers' machines, and ours beside them", 9,
                     declare});

}  // namespace

}  // namespace weft::app
