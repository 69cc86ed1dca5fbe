#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "base/parallel.hpp"
#include "base/stopwatch.hpp"
#include "measure/validate/figure.hpp"
#include "measure/validate/paper.hpp"

namespace weft::measure {

Paper::~Paper() = default;
ExperimentKind::~ExperimentKind() = default;

double FigureResult::error() const {
  double off = ours - figure.published;
  switch (figure.tolerance.kind) {
    case Tolerance::Kind::Percent:
      return 100 * off / figure.published;
    case Tolerance::Kind::AtLeast:
      return std::min(0.0, off);
    case Tolerance::Kind::Points:
      break;
  }
  return off;
}

bool FigureResult::within() const { return std::abs(error()) <= figure.tolerance.value; }

machine::Description Trial::description() const { return machine::describe(machine_, settings_); }

machine::Machine Trial::machine(std::vector<std::string> settings) const {
  settings.insert(settings.end(), settings_.begin(), settings_.end());
  return machine::build(machine::describe(machine_, settings));
}

void Trial::give(std::string id, std::string point, double ours, std::string note) {
  values.push_back({std::move(id), std::move(point), ours, std::move(note)});
}

void Trial::show(std::string name, double ours) { shown.emplace_back(std::move(name), ours); }

const char* name(Basis basis) {
  switch (basis) {
    case Basis::Structure:
      return "structure";
    case Basis::Calibrated:
      return "calibrated";
    case Basis::Derived:
      return "derived";
    case Basis::Predicted:
      break;
  }
  return "predicted";
}

std::size_t ValidateResult::count(Basis basis) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(figures, [&](const FigureResult& f) { return f.figure.basis == basis; }));
}

std::size_t ValidateResult::open_failures() const {
  return static_cast<std::size_t>(std::ranges::count_if(figures, &FigureResult::open_failure));
}

std::size_t ValidateResult::failures() const {
  return static_cast<std::size_t>(std::ranges::count_if(figures, &FigureResult::fails));
}

std::vector<const ExperimentKind*> experiments_in_order() {
  std::vector<const ExperimentKind*> out;
  for (const auto& [name, experiment] : Experiments::all()) out.push_back(&experiment);
  std::stable_sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->order < b->order; });
  return out;
}

std::vector<std::string> paper_names() {
  std::vector<const Paper*> all;
  for (const auto& [name, paper] : Papers::all()) all.push_back(&paper);
  std::stable_sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->order < b->order; });
  std::vector<std::string> out;
  for (const Paper* paper : all) out.push_back(paper->name);
  return out;
}

const Paper& paper_named(const std::string& name) {
  const Paper* paper = Papers::find(name);
  WEFT_CHECK(paper, "a paper that was asked for is known by now");
  return *paper;
}

namespace {

bool wanted(const Figure& figure, const ValidateOptions& o) {
  if (o.figures.empty()) return figure.needs.empty() && (figure.quick || !o.quick);
  return std::find(o.figures.begin(), o.figures.end(), figure.id) != o.figures.end();
}

void check_names(const ValidateOptions& o, const std::vector<const ExperimentKind*>& all) {
  std::set<std::string> machines, ids;
  for (const ExperimentKind* e : all) {
    machines.insert(e->machine);
    for (const Figure& figure : e->figures) ids.insert(figure.id);
  }
  auto known = [](const std::set<std::string>& names) {
    return std::vector<std::string>(names.begin(), names.end());
  };
  Diagnostics problems;
  if (!o.machine.empty() && !machines.count(o.machine))
    problems.add({}, "machine",
                 fmt::format("there are no published figures of '{}'{}; expected one of {}", o.machine,
                             did_you_mean(o.machine, known(machines)), join(known(machines), ", ")));
  for (const std::string& id : o.figures)
    if (!ids.count(id))
      problems.add({}, "--figure",
                   fmt::format("there is no figure '{}'{}; `weft validate --list` shows them", id,
                               did_you_mean(id, known(ids))));
  if (!o.paper.empty() && !Papers::find(o.paper))
    problems.add({}, "--paper",
                 fmt::format("there is no paper '{}'{}; expected one of {}", o.paper,
                             did_you_mean(o.paper, paper_names()), join(paper_names(), ", ")));
  problems.throw_if_any();
}

bool of_paper(const ValidateOptions& o, const std::string& machine) {
  if (o.paper.empty()) return true;
  const std::vector<std::string>& machines = paper_named(o.paper).machines;
  return std::find(machines.begin(), machines.end(), machine) != machines.end();
}

/// Figures that wait for a capability, and those that are measured only where they are asked for.
std::vector<MissingFigure> not_measured(const std::string& paper) {
  std::vector<MissingFigure> out = missing_figures();
  if (!paper.empty())
    std::erase_if(out,
                  [&](const MissingFigure& f) { return !f.source.starts_with(paper_named(paper).file); });
  for (const ExperimentKind* e : experiments_in_order()) {
    if (!paper.empty() && !std::ranges::count(paper_named(paper).machines, e->machine)) continue;
    for (const Figure& f : e->figures)
      if (!f.needs.empty())
        out.push_back({f.name(), f.what, fmt::format("{:g} {}", f.published, f.unit), f.source, f.basis,
                       fmt::format("{}; `weft validate --figure {}` measures it", f.needs, f.id)});
  }
  return out;
}

/// Puts an experiment's values to the figures it announced.
void collect(const ExperimentKind& e, const Trial& trial, const ValidateOptions& o, ValidateResult& out) {
  for (const Figure& figure : e.figures) {
    if (!wanted(figure, o)) continue;
    auto at = std::find_if(trial.values.begin(), trial.values.end(), [&](const Trial::Value& v) {
      return v.id == figure.id && v.point == figure.point;
    });
    if (at == trial.values.end() && o.quick && !figure.quick) continue;  // takes more than a quick trial does
    WEFT_CHECK(at != trial.values.end(), fmt::format("{} gives {}", e.name, figure.name()));
    out.figures.push_back({e.name, e.machine, figure, at->ours, at->note});
  }
  out.plots.insert(out.plots.end(), trial.plots.begin(), trial.plots.end());
  out.shown.insert(out.shown.end(), trial.shown.begin(), trial.shown.end());
}

}  // namespace

ValidateResult validate(const ValidateOptions& o) {
  const Stopwatch start;
  std::vector<const ExperimentKind*> all = experiments_in_order();
  check_names(o, all);
  std::erase_if(all, [&](const ExperimentKind* e) {
    return (!o.machine.empty() && e->machine != o.machine) || !of_paper(o, e->machine) ||
           std::none_of(e->figures.begin(), e->figures.end(), [&](const Figure& f) { return wanted(f, o); });
  });
  std::vector<Trial> trials;
  for (const ExperimentKind* e : all) trials.emplace_back(e->machine, o.settings, o.quick);
  std::mutex guard;
  std::size_t done = 0;
  parallel_for(all.size(), o.threads, [&](unsigned, std::uint64_t i) {
    const Stopwatch began;
    all[i]->run(trials[i]);
    std::lock_guard lock(guard);
    ++done;
    if (o.progress) o.progress(all[i]->name, done, all.size(), began.seconds());
  });
  ValidateResult out;
  for (std::size_t i = 0; i < all.size(); ++i) collect(*all[i], trials[i], o, out);
  if (o.machine.empty() && o.figures.empty()) out.missing = not_measured(o.paper);
  out.seconds = start.seconds();
  return out;
}

}  // namespace weft::measure

WEFT_REGISTRY(weft::measure::Paper);
WEFT_REGISTRY(weft::measure::ExperimentKind);
