#include "report/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "base/version.hpp"
#include "report/validation_words.hpp"

namespace weft::report {

using measure::Basis;
using measure::FigureResult;
using measure::Tolerance;
using measure::ValidateResult;

std::string value_text(double value) {
  if (value == std::round(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  return fmt::format("{:.5g}", value);
}

std::string error_text(const FigureResult& f) {
  double e = f.error();
  if (std::abs(e) < 0.005) e = 0;
  return fmt::format("{:+.2f}{}", e, f.figure.tolerance.kind == Tolerance::Kind::Percent ? "%" : " pt");
}

std::string tolerance_text(const FigureResult& f) {
  if (f.figure.tolerance.kind == Tolerance::Kind::AtLeast) return "at least";
  return fmt::format("{:g}{}", f.figure.tolerance.value,
                     f.figure.tolerance.kind == Tolerance::Kind::Percent ? "%" : " pt");
}

std::string bases_text(const ValidateResult& result) {
  std::string out;
  for (Basis basis : measure::kBases)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", result.count(basis), name(basis));
  return out;
}

namespace {

/// What is known to be outside comes first: nobody has to look for it.
std::string open_failures_text(const ValidateResult& result) {
  if (result.open_failures() == 0) return "";
  std::string out = "open failures\n";
  for (const FigureResult& f : result.figures)
    if (f.open_failure())
      out += fmt::format(
          "  {}: {}: published {}, ours {} {} ({}, {} allowed)\n    why: {}\n    closed by: {}\n",
          f.figure.name(), f.figure.what, value_text(f.figure.published), value_text(f.ours), f.figure.unit,
          error_text(f), tolerance_text(f), f.figure.open->reason, f.figure.open->closed_by);
  return out + "\n";
}

std::string missing_text(const ValidateResult& result) {
  if (result.missing.empty()) return "";
  std::string out = "\nnot measured yet\n";
  for (const measure::MissingFigure& f : result.missing)
    out += fmt::format("  {:<10} {}: {}; needs {}\n", f.id, f.what, f.published, f.needs);
  return out;
}

std::string state_text(const FigureResult& f) {
  if (f.open_failure()) return "open failure";
  if (f.figure.open) return "no longer a failure";
  return f.within() ? "" : "OUTSIDE";
}

}  // namespace

std::string validation_text(const ValidateResult& result) {
  std::string out, machine;
  for (const FigureResult& f : result.figures) {
    if (f.machine != machine) {
      machine = f.machine;
      out += fmt::format("{}{}\n  {:<34} {:>10} {:>10} {:<8} {:>10} {:>9}\n", out.empty() ? "" : "\n",
                         machine, "", "published", "ours", "", "error", "allowed");
    }
    out += fmt::format("  {:<34} {:>10} {:>10} {:<8} {:>10} {:>9}  {:<10} {}\n", f.figure.name(),
                       value_text(f.figure.published), value_text(f.ours), f.figure.unit, error_text(f),
                       tolerance_text(f), name(f.figure.basis), state_text(f));
  }
  std::size_t failed = result.failures(), open = result.open_failures();
  std::string state = failed ? fmt::format("{} OUTSIDE the tolerance", failed)
                      : open ? std::string("all others within their tolerances")
                             : std::string("all within their tolerances");
  if (open) state = fmt::format("{}, {}", count_of(open, "open failure"), state);
  return open_failures_text(result) + out + missing_text(result) +
         fmt::format("\n{}: {}; {}; {:.1f} s\n", count_of(result.figures.size(), "figure"),
                     bases_text(result), state, result.seconds);
}

Json validation_json(const ValidateResult& result) {
  Json rows = Json::array();
  for (const FigureResult& f : result.figures)
    rows.push_back({{"id", f.figure.id},
                    {"point", f.figure.point},
                    {"machine", f.machine},
                    {"what", f.figure.what},
                    {"unit", f.figure.unit},
                    {"published", f.figure.published},
                    {"ours", f.ours},
                    {"error", f.error()},
                    {"tolerance", f.figure.tolerance.value},
                    {"error_unit", f.error_unit()},
                    {"within", f.within()},
                    {"basis", name(f.figure.basis)},
                    {"measured", true},
                    {"open_failure", f.open_failure()},
                    {"reason", f.open_failure() ? f.figure.open->reason : ""},
                    {"closed_by", f.open_failure() ? f.figure.open->closed_by : ""},
                    {"set_from", f.figure.from},
                    {"source", f.figure.source},
                    {"experiment", f.experiment},
                    {"note", f.note},
                    {"version", version()}});
  for (const measure::MissingFigure& f : result.missing)
    rows.push_back({{"id", f.id},
                    {"what", f.what},
                    {"published", f.published},
                    {"basis", name(f.basis)},
                    {"measured", false},
                    {"needs", f.needs},
                    {"source", f.source},
                    {"version", version()}});
  return rows;
}

std::string validation_markdown(const ValidateResult& result) {
  std::string out =
      "| figure | machine | what | published | ours | error | allowed | "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const FigureResult& f : result.figures)
    out += fmt::format("| {} | {} | {} | {} {} | {} | {} | {} | {}{} |\n", f.figure.name(), f.machine,
                       f.figure.what, value_text(f.figure.published), f.figure.unit, value_text(f.ours),
                       error_text(f), tolerance_text(f), name(f.figure.basis),
                       f.within()      ? ""
                       : f.figure.open ? ", **open failure**"
                                       : ", **outside**");
  return out;
}

}  // namespace weft::report
