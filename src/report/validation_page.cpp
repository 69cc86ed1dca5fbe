// The page of `weft validate`: what agrees and what does not, a plot for each curve, every figure with its
// source.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/validation_report.hpp"
#include "report/validation_words.hpp"

namespace weft::report {

using measure::Basis;
using measure::FigureResult;
using measure::Plot;
using measure::Series;
using measure::ValidateResult;

namespace {

constexpr std::string_view kPublished = "#b3122a", kFit = "#8a98a6";

struct Bounds {
  double low = 1e300, high = -1e300;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// From 0, unless all lies far above it and the differences would not be seen.
Range value_range(const Bounds& b, bool logarithmic) {
  if (logarithmic) return log_range(b.low, b.high);
  if (b.low <= 0.6 * b.high) return range_to(1.04 * b.high, 6);
  double room = 0.12 * (b.high - b.low) + 0.004 * b.high;
  std::vector<double> ticks = round_ticks({b.low - room, b.high + room}, 6);
  double step = ticks.size() > 1 ? ticks[1] - ticks[0] : room;
  return {std::floor((b.low - room) / step) * step, std::ceil((b.high + room) / step) * step};
}

Range place_range(const Bounds& b, bool logarithmic) {
  if (logarithmic) return {b.low, b.high, true};
  double room = b.low == b.high ? 1 : 0.04 * (b.high - b.low);
  return {b.low - room, b.high + room};
}

std::string chart(const Plot& plot) {
  Bounds x, y;
  for (const Series& s : plot.series)
    for (auto [px, py] : s.points) {
      x.add(px);
      y.add(py);
    }
  Chart out(520, 300, plot.title, place_range(x, plot.log_x), {plot.x_label, plot.log_x ? 4u : 6u},
            value_range(y, plot.log_y), {plot.y_label, 6});
  std::string legend;
  std::size_t line = 0;
  for (const Series& s : plot.series) {
    if (s.look == Series::Look::Published) {
      for (auto [px, py] : s.points)
        out.mark({px, py}, Mark::Ring, kPublished,
                 fmt::format("published: {} at {}", value_text(py), value_text(px)));
      legend += legend_mark(Mark::Ring, kPublished, s.name);
      continue;
    }
    std::vector<Point> points;
    for (auto [px, py] : s.points) points.push_back({px, py});
    bool fit = s.look == Series::Look::Fit;
    std::string_view colour = fit ? kFit : colour_of(kCableColours, line++);
    out.line(points, {colour, fit ? 1.6 : 2.2, fit});
    if (!fit)
      for (Point p : points)
        out.mark(p, Mark::Dot, colour, fmt::format("{}: {} at {}", s.name, value_text(p.y), value_text(p.x)));
    legend += legend_key(colour, fit, s.name);
  }
  return fmt::format(
      "<section><h3>{}: {}</h3>\n<p class=\"legend\">{}</p>\n{}<p class=\"small\">{}</p></section>\n",
      escape_xml(plot.machine), escape_xml(plot.title), legend, out.svg(), escape_xml(plot.about));
}

/// The error on a scale whose ends are the tolerance.
std::string error_bar(const FigureResult& f) {
  double allowed = f.figure.tolerance.value;
  double share = allowed > 0 ? std::clamp(f.error() / allowed, -1.25, 1.25) : (f.within() ? 0 : 1.25);
  double at = 50 + 40 * share;
  return fmt::format(
      "<svg class=\"off\" viewBox=\"0 0 100 14\" width=\"100\" height=\"14\" role=\"img\" aria-label=\"{0}\">"
      "<rect x=\"10\" y=\"5\" width=\"80\" height=\"4\" fill=\"#e3f0e8\"/><path d=\"M50 2V12\" "
      "stroke=\"#9aa7b4\"/>"
      "<circle cx=\"{1:.1f}\" cy=\"7\" r=\"4\" fill=\"{2}\"><title>{0} of {3} allowed</title></circle></svg>",
      escape_xml(error_text(f)), at, f.within() ? "#1d7a4a" : "#b3122a", escape_xml(tolerance_text(f)));
}

std::string table(const ValidateResult& result, const std::string& machine) {
  std::vector<std::vector<std::string>> rows;
  for (const FigureResult& f : result.figures) {
    if (f.machine != machine) continue;
    std::string what = escape_xml(f.figure.what);
    if (!f.figure.point.empty()) what += fmt::format(": <b>{}</b>", escape_xml(f.figure.point));
    if (!f.note.empty()) what += fmt::format("<br/><span class=\"small\">{}</span>", escape_xml(f.note));
    rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(f.figure.id)), what,
                    fmt::format("{} {}", value_text(f.figure.published), escape_xml(f.figure.unit)),
                    value_text(f.ours), escape_xml(error_text(f)), error_bar(f),
                    fmt::format("<span class=\"tag{}\">{}</span>",
                                f.figure.basis == Basis::Predicted    ? " ok"
                                : f.figure.basis == Basis::Calibrated ? " given"
                                                                      : "",
                                name(f.figure.basis)),
                    fmt::format("<span class=\"small\">{}</span>", escape_xml(f.figure.source))});
  }
  return html_table({{"figure", false},
                     {"what", false},
                     {"published", true},
                     {"ours", true},
                     {"error", true},
                     {"of what is allowed", false},
                     {"", false},
                     {"where", false}},
                    rows);
}

}  // namespace

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
  body +=
      "<style>.tag.given { background: #fbf0d9; color: #7a5310; } .off { display: block; } td.n { "
      "white-space: nowrap; } .pair section { max-width: 540px; }</style>\n";
  for (const std::string& machine : machines) {
    std::string charts;
    for (const Plot& plot : result.plots)
      if (plot.machine == machine) charts += chart(plot);
    if (!charts.empty()) charts = fmt::format("<div class=\"pair\">{}</div>\n", charts);
    body += html_section(machine, machine, "", table(result, machine) + charts);
  }
  if (!result.missing.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const measure::MissingFigure& f : result.missing)
      rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(f.id)), escape_xml(f.what),
                      escape_xml(f.published), escape_xml(f.needs),
                      fmt::format("<span class=\"small\">{}</span>", escape_xml(f.source))});
    body += html_section(
        "missing", "Not measured yet", "",
        html_table(
            {{"figure", false}, {"what", false}, {"published", false}, {"needs", false}, {"where", false}},
            rows));
  }
  body += fmt::format(
      "<footer>weft {}. Sources are sections and tables of each machine's paper; <code>weft show MACHINE "
      "--sources</code> says where every parameter comes from.</footer>\n",
      WEFT_VERSION);
  return html_page("Weft validation", body);
}

}  // namespace weft::report
