#include "report/validation_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
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

const char* basis_text(Basis basis) { return basis == Basis::Calibrated ? "calibrated" : "predicted"; }

std::size_t calibrated(const ValidateResult& result) {
  return static_cast<std::size_t>(std::count_if(result.figures.begin(), result.figures.end(),
                                                [](auto& f) { return f.figure.basis == Basis::Calibrated; }));
}

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
                       tolerance_text(f), basis_text(f.figure.basis), f.within() ? "" : "OUTSIDE");
  }
  std::size_t all = result.figures.size(), outside = result.outside();
  out += fmt::format(
      "\n{}, {} of them calibrated and {} predicted; {}; {:.1f} s\n", count_of(all, "figure"),
      calibrated(result), all - calibrated(result),
      outside ? fmt::format("{} OUTSIDE the tolerance", outside) : std::string("all within their tolerances"),
      result.seconds);
  return out;
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
                    {"basis", basis_text(f.figure.basis)},
                    {"source", f.figure.source},
                    {"experiment", f.experiment},
                    {"note", f.note},
                    {"version", WEFT_VERSION}});
  return rows;
}

std::string validation_markdown(const ValidateResult& result) {
  std::string out =
      "| figure | machine | what | published | ours | error | allowed | "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const FigureResult& f : result.figures)
    out += fmt::format("| {} | {} | {} | {} {} | {} | {} | {} | {}{} |\n", f.figure.name(), f.machine,
                       f.figure.what, value_text(f.figure.published), f.figure.unit, value_text(f.ours),
                       error_text(f), tolerance_text(f), basis_text(f.figure.basis),
                       f.within() ? "" : ", **outside**");
  return out;
}

}  // namespace weft::report
