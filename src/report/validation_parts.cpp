#include "report/validation_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_page.hpp"
#include "report/plot_chart.hpp"
#include "report/validation_words.hpp"

namespace weft::report {

using measure::Basis;
using measure::FigureResult;
using measure::MissingFigure;
using measure::Plot;
using measure::Series;

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

Chart empty_chart(const std::vector<const Plot*>& plots) {
  Bounds x, y;
  for (const Plot* plot : plots)
    for (const Series& s : plot->series)
      for (auto [px, py] : s.points) {
        x.add(px);
        y.add(py);
      }
  const Plot& first = *plots.front();
  return Chart(520, 300, first.title, place_range(x, first.log_x), {first.x_label, first.log_x ? 4u : 6u},
               value_range(y, first.log_y), {first.y_label, 6});
}

/// Draws the series of a plot; its legend.
std::string draw(Chart& out, const Plot& plot, bool among_others, std::size_t& line) {
  std::string legend;
  const std::string_view own = colour_of(kCableColours, line);
  for (const Series& s : plot.series) {
    const std::string name = among_others ? fmt::format("{}: {}", plot.machine, s.name) : s.name;
    if (s.look == Series::Look::Published) {
      const std::string_view colour = among_others ? own : kPublished;
      for (auto [px, py] : s.points)
        out.mark({px, py}, Mark::Ring, colour,
                 fmt::format("{}: {} at {}", name, value_text(py), value_text(px)));
      legend += legend_mark(Mark::Ring, colour, name);
      continue;
    }
    std::vector<Point> points;
    for (auto [px, py] : s.points) points.push_back({px, py});
    const bool fit = s.look == Series::Look::Fit;
    const std::string_view colour = fit ? kFit : colour_of(kCableColours, line++);
    out.line(points, {colour, fit ? 1.6 : 2.2, fit});
    if (!fit)
      for (Point p : points)
        out.mark(p, Mark::Dot, colour, fmt::format("{}: {} at {}", name, value_text(p.y), value_text(p.x)));
    legend += legend_key(colour, fit, name);
  }
  return legend;
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

std::string tag(Basis basis) { return fmt::format("<span class=\"tag {0}\">{0}</span>", name(basis)); }

// Dark: the same page with its colours turned. Charts carry their colours as attributes, which a rule
// overrides.
constexpr std::string_view kStyle = R"(
.tag { background: #e8edf2; color: #3c4c5b; }
.tag.calibrated { background: #fbf0d9; color: #7a5310; }
.tag.predicted { background: #e3f0e8; color: #1d5c39; }
.off { display: block; } td.n { white-space: nowrap; } .pair section { max-width: 540px; }
.pair { margin-top: 16px; } h2 + .scroll, h2 + .waits { margin-top: 12px; }
main a { color: var(--accent); text-decoration: none; } main a:hover { text-decoration: underline; }
td .ours { display: block; color: var(--accent); font-weight: 600; }
td .open { color: #b3122a; }
.state { color: var(--faint); font-size: 13px; white-space: nowrap; }
.waits { margin: 0; padding: 10px 14px; border-left: 4px solid #9aa7b4; background: var(--soft); }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e3e9ef; --faint: #a3b1be; --line: #33404c; --soft: #1d262e; --accent: #6db6e6; color-scheme: dark; }
  body { background: #0e1318; } main { background: #151b21; }
  .notice.bad { background: #33191d; } .tag { background: #2b3742; color: #c9d4de; }
  .tag.calibrated { background: #3b3017; color: #ecc980; } .tag.predicted { background: #16331f; color: #92d3ab; }
  td .open { color: #ff8a98; }
  main svg { filter: none; }
  svg text { fill: #cbd5de; }
  svg [stroke="#e6ebf0"] { stroke: #2a3540; } svg [stroke="#9aa7b4"] { stroke: #5b6a78; }
  svg [fill="#fff"] { fill: #151b21; } svg [fill="#e3f0e8"] { fill: #22382b; }
  svg [stroke="#b3122a"] { stroke: #ff6f80; } svg [fill="#b3122a"] { fill: #ff6f80; }
  svg [fill="#1d7a4a"] { fill: #57c089; }
  svg [stroke="#0072b2"] { stroke: #4aa8e0; } svg [fill="#0072b2"] { fill: #4aa8e0; }
  svg [stroke="#8c564b"] { stroke: #c98d7f; } svg [fill="#8c564b"] { fill: #c98d7f; }
  svg [stroke="#8a98a6"] { stroke: #8a98a6; }
  #tip { background: #e3e9ef; color: #151b21; }
}
)";

}  // namespace

std::string_view validation_style() { return kStyle; }

std::string validation_chart(const std::vector<const Plot*>& plots) {
  Chart out = empty_chart(plots);
  std::string legend;
  std::size_t line = 0;
  for (const Plot* plot : plots) legend += draw(out, *plot, plots.size() > 1, line);
  const Plot& first = *plots.front();
  return fmt::format(
      "<section><h3>{}{}</h3>\n<p class=\"legend\">{}</p>\n{}<p class=\"small\">{}</p></section>\n",
      plots.size() > 1 ? "" : escape_xml(first.machine + ": "), escape_xml(first.title), legend, out.svg(),
      escape_xml(first.about));
}

std::string figure_table(const std::vector<const FigureResult*>& figures) {
  std::vector<std::vector<std::string>> rows;
  for (const FigureResult* f : figures) {
    std::string what = escape_xml(f->figure.what);
    if (!f->figure.point.empty()) what += fmt::format(": <b>{}</b>", escape_xml(f->figure.point));
    if (!f->note.empty()) what += fmt::format("<br/><span class=\"small\">{}</span>", escape_xml(f->note));
    rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(f->figure.id)), what,
                    fmt::format("{} {}", value_text(f->figure.published), escape_xml(f->figure.unit)),
                    value_text(f->ours), escape_xml(error_text(*f)), error_bar(*f), tag(f->figure.basis),
                    fmt::format("<span class=\"small\">{}</span>", escape_xml(f->figure.source))});
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

std::string missing_table(const std::vector<const MissingFigure*>& figures) {
  std::vector<std::vector<std::string>> rows;
  for (const MissingFigure* f : figures)
    rows.push_back({fmt::format("<span class=\"link\">{}</span>", escape_xml(f->id)), escape_xml(f->what),
                    escape_xml(f->published), escape_xml(f->needs),
                    fmt::format("<span class=\"small\">{}</span>", escape_xml(f->source))});
  return html_table(
      {{"figure", false}, {"what", false}, {"published", false}, {"needs", false}, {"where", false}}, rows);
}

}  // namespace weft::report
