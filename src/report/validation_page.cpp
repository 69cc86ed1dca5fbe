// The page of `weft validate`: what agrees and what does not, a plot for each curve, every figure with its
// source.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "base/version.hpp"
#include "report/html_page.hpp"
#include "report/svg.hpp"
#include "report/validation_parts.hpp"
#include "report/validation_report.hpp"
#include "report/validation_words.hpp"

namespace weft::report {

using measure::FigureResult;
using measure::Plot;
using measure::ValidateResult;

std::string validation_page(const ValidateResult& result) {
  std::size_t all = result.figures.size(), outside = result.outside();
  std::vector<std::string> machines;
  for (const FigureResult& f : result.figures)
    if (std::find(machines.begin(), machines.end(), f.machine) == machines.end())
      machines.push_back(f.machine);
  std::string body = fmt::format(
      "<header><p class=\"eyebrow\">Weft validation</p><h1>{}</h1><p class=\"about\">{}</p></header>\n",
      outside ? fmt::format("{} of {} published figures are not met", outside, all)
              : fmt::format("{} published figures, all met", all),
      escape_xml(fmt::format("{}: {}", count_of(machines.size(), "machine"), join(machines, ", "))));
  body += fmt::format(
      "<p class=\"summary\">{}. <b>Structure</b>: counts and arithmetic on the description. "
      "<b>Calibrated</b>: a "
      "parameter the paper does not give was chosen to meet it. <b>Derived</b>: follows from calibrated "
      "ones. "
      "<b>Predicted</b>: simulated, and no parameter was chosen from it. Each is compared with a tolerance "
      "of its "
      "own: the dot is our error, the ends of the bar what is allowed.</p>\n",
      bases_text(result));
  if (outside) {
    std::string list;
    for (const FigureResult& f : result.figures)
      if (!f.within())
        list += fmt::format(
            "<li>{}: published {}, ours {} {} ({}, {} allowed){}</li>", escape_xml(f.figure.name()),
            value_text(f.figure.published), value_text(f.ours), escape_xml(f.figure.unit),
            escape_xml(error_text(f)), escape_xml(tolerance_text(f)),
            f.figure.open
                ? fmt::format("<br/><span class=\"small\">Why: {}. Closed by: {}.</span>",
                              escape_xml(f.figure.open->reason), escape_xml(f.figure.open->closed_by))
                : "");
    body += fmt::format("<div class=\"notice bad\">Outside their tolerance:<ol>{}</ol></div>\n", list);
  }
  body += fmt::format("<style>{}</style>\n", validation_style());
  for (const std::string& machine : machines) {
    std::string charts;
    for (const Plot& plot : result.plots)
      if (plot.machine == machine) charts += validation_chart({&plot});
    if (!charts.empty()) charts = fmt::format("<div class=\"pair\">{}</div>\n", charts);
    std::vector<const FigureResult*> rows;
    for (const FigureResult& f : result.figures)
      if (f.machine == machine) rows.push_back(&f);
    body += html_section(machine, machine, "", figure_table(rows) + charts);
  }
  if (!result.missing.empty()) {
    std::vector<const measure::MissingFigure*> rows;
    for (const measure::MissingFigure& f : result.missing) rows.push_back(&f);
    body += html_section("missing", "Not measured yet", "", missing_table(rows));
  }
  body += fmt::format(
      "<footer>weft {}. Sources are sections and tables of each machine's paper; <code>weft show MACHINE "
      "--sources</code> says where every parameter comes from.</footer>\n",
      version());
  return html_page("Weft validation", body);
}

}  // namespace weft::report
