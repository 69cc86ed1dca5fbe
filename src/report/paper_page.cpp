// The page of one paper: its figures and tables by their numbers, ours beside what it published.
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
using measure::MissingFigure;
using measure::Paper;
using measure::PaperCell;
using measure::PaperPart;
using measure::Plot;
using measure::ValidateResult;

namespace {

bool names(const PaperPart& part, const std::string& id, const std::string& name) {
  return std::any_of(part.figures.begin(), part.figures.end(),
                     [&](const std::string& f) { return f == id || f == name; });
}

bool names_missing(const PaperPart& part, const MissingFigure& f) { return names(part, f.id, f.id); }

std::vector<const FigureResult*> figures_of(const PaperPart& part, const ValidateResult& result) {
  std::vector<const FigureResult*> out;
  for (const FigureResult& f : result.figures)
    if (names(part, f.figure.id, f.figure.name())) out.push_back(&f);
  return out;
}

std::vector<const MissingFigure*> missing_of(const PaperPart& part, const ValidateResult& result) {
  std::vector<const MissingFigure*> out;
  for (const MissingFigure& f : result.missing)
    if (names_missing(part, f)) out.push_back(&f);
  return out;
}

/// A printed cell, and ours under it.
std::string cell_text(const PaperCell& cell, const ValidateResult& result) {
  std::string out = escape_xml(cell.published);
  if (cell.ours.empty()) return out;
  const std::string unit = cell.unit.empty() ? "" : " " + escape_xml(cell.unit);
  for (const FigureResult& f : result.figures)
    if (f.figure.name() == cell.ours)
      return out + fmt::format("<span class=\"ours{}\" title=\"{}: {} off, {} allowed\">{}{}</span>",
                               f.within() ? "" : " open", escape_xml(f.figure.name()),
                               escape_xml(error_text(f)), escape_xml(tolerance_text(f)), value_text(f.ours),
                               unit);
  for (const auto& [name, value] : result.shown)
    if (name == cell.ours)
      return out + fmt::format("<span class=\"ours\">{}{}</span>", value_text(value), unit);
  return out + "<span class=\"ours\">not in this run</span>";
}

std::string table_text(const PaperPart& part, const ValidateResult& result) {
  if (part.table.rows.empty()) return "";
  std::vector<HtmlColumn> columns;
  for (const std::string& heading : part.table.columns) columns.push_back({heading, false});
  std::vector<std::vector<std::string>> rows;
  for (const std::vector<PaperCell>& row : part.table.rows) {
    rows.emplace_back();
    for (const PaperCell& cell : row) rows.back().push_back(cell_text(cell, result));
  }
  return html_table(columns, rows);
}

std::string charts_text(const PaperPart& part, const ValidateResult& result) {
  std::string out;
  for (const std::vector<std::string>& chart : part.charts) {
    std::vector<const Plot*> plots;
    for (const std::string& wanted : chart)
      for (const Plot& plot : result.plots)
        if (plot.machine + ": " + plot.title == wanted) plots.push_back(&plot);
    out += plots.empty() ? "<section><p class=\"waits\">Not in this run.</p></section>\n"
                         : validation_chart(plots);
  }
  return out.empty() ? "" : fmt::format("<div class=\"pair\">{}</div>\n", out);
}

/// "Figure 3" as the name of a place on the page.
std::string anchor(const std::string& number) {
  std::string out;
  for (char c : number) out += c == ' ' || c == '.' ? '-' : c;
  return out;
}

std::string part_text(const PaperPart& part, const ValidateResult& result) {
  std::string content = table_text(part, result) + charts_text(part, result);
  if (auto rows = figures_of(part, result); !rows.empty())
    content += fmt::format("<div style=\"margin-top:16px\">{}</div>\n", figure_table(rows));
  auto missing = missing_of(part, result);
  if (!missing.empty())
    content += fmt::format("<div style=\"margin-top:16px\">{}</div>\n", missing_table(missing));
  if (!part.needs.empty() && missing.empty())
    content += fmt::format("<p class=\"waits\">Not drawn yet: needs {}.</p>\n", escape_xml(part.needs));
  return html_section(anchor(part.number), part.number + ": " + part.title, part.said, content);
}

std::string state_of(const PaperPart& part, const ValidateResult& result) {
  if (!part.needs.empty()) return "waits for " + part.needs;
  auto rows = figures_of(part, result);
  for (const std::vector<PaperCell>& row : part.table.rows)
    for (const PaperCell& cell : row)
      for (const FigureResult& f : result.figures)
        if (f.figure.name() == cell.ours && std::find(rows.begin(), rows.end(), &f) == rows.end())
          rows.push_back(&f);
  if (auto missing = missing_of(part, result); rows.empty() && !missing.empty())
    return "waits for " + missing.front()->needs;
  if (rows.empty() && !part.figures.empty()) return "not in this run";
  if (rows.empty())
    return part.charts.empty() && part.table.rows.empty() ? "not compared"
                                                          : "drawn; nothing published in numbers";
  auto outside = std::count_if(rows.begin(), rows.end(), [](auto* f) { return !f->within(); });
  return outside ? fmt::format("{} of {} outside the tolerance", outside, count_of(rows.size(), "figure"))
                 : fmt::format("{}, all within the tolerance", count_of(rows.size(), "figure"));
}

std::string contents(const Paper& paper, const ValidateResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (const PaperPart& part : paper.parts)
    if (!part.drawing)
      rows.push_back({fmt::format("<a href=\"#{}\">{}</a>", anchor(part.number), escape_xml(part.number)),
                      escape_xml(part.title),
                      fmt::format("<span class=\"state\">{}</span>", escape_xml(state_of(part, result)))});
  return html_section("contents", "What the paper has, and what is here", "",
                      html_table({{"number", false}, {"title", false}, {"", false}}, rows));
}

/// Values the paper gives in its text alone.
std::string text_section(const Paper& paper, const ValidateResult& result) {
  auto in_a_part = [&](const std::string& id, const std::string& name) {
    return std::any_of(paper.parts.begin(), paper.parts.end(), [&](const PaperPart& part) {
      if (names(part, id, name)) return true;
      for (const std::vector<PaperCell>& row : part.table.rows)
        for (const PaperCell& cell : row)
          if (cell.ours == name) return true;
      return false;
    });
  };
  std::vector<const FigureResult*> measured;
  for (const FigureResult& f : result.figures)
    if (!in_a_part(f.figure.id, f.figure.name())) measured.push_back(&f);
  std::vector<const MissingFigure*> missing;
  for (const MissingFigure& f : result.missing)
    if (!in_a_part(f.id, f.id)) missing.push_back(&f);
  std::string content;
  if (!measured.empty()) content += figure_table(measured);
  if (!missing.empty())
    content += fmt::format("<h3 style=\"margin-top:24px\">Not measured yet</h3>\n{}", missing_table(missing));
  return content.empty() ? "" : html_section("text", "Stated in the text", "", content);
}

std::string drawings(const Paper& paper) {
  std::vector<std::vector<std::string>> rows;
  for (const PaperPart& part : paper.parts)
    if (part.drawing) rows.push_back({escape_xml(part.number), escape_xml(part.title)});
  if (rows.empty()) return "";
  return html_section("drawings", "Drawings and photographs", "They have no values to compare.",
                      html_table({{"number", false}, {"title", false}}, rows));
}

}  // namespace

std::string paper_page(const Paper& paper, const ValidateResult& result) {
  std::string body = fmt::format(
      "<header><p class=\"eyebrow\">Weft validation</p><h1>{}</h1><p class=\"about\">{}</p></header>\n"
      "<style>{}</style>\n",
      escape_xml(paper.title), escape_xml(paper.authors), validation_style());
  body += fmt::format(
      "<p class=\"summary\">{}: {}; {}. On {}. In tables the first value is the paper's and <span "
      "style=\"color:var(--accent);font-weight:600\">ours</span> stands under it; in charts rings are "
      "published and dots are ours. Curves that a paper draws without numbers have no rings.</p>\n",
      count_of(result.figures.size(), "figure"), bases_text(result),
      result.outside() ? fmt::format("{} outside the tolerance", result.outside())
                       : std::string("all within their tolerances"),
      escape_xml(join(paper.machines, ", ")));
  body += contents(paper, result);
  for (const PaperPart& part : paper.parts)
    if (!part.drawing) body += part_text(part, result);
  body += text_section(paper, result) + drawings(paper);
  body += fmt::format(
      "<footer>weft {}. The paper is {}; <code>weft show MACHINE --sources</code> says where every parameter "
      "comes from.</footer>\n",
      version(), escape_xml(paper.file));
  return html_page("Weft validation: " + paper.name, body);
}

}  // namespace weft::report
