#include "report/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace weft::report {

namespace {

constexpr double kMargin = 36, kLeastWidth = 640;

/// Legend entries in rows, left to right; `y` moves on to the baseline after the last.
std::string legend_rows(const std::vector<LegendEntry>& legend, double left, double right, double& y) {
  constexpr double kFont = 13, kGap = 26, kRow = 24;
  std::string out;
  double x = left;
  for (const LegendEntry& entry : legend) {
    double width = entry.sample_width + 8 + text_width(entry.text, kFont) + kGap;
    if (x > left && x + width - kGap > right) x = left, y += kRow;
    out += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">{}</g>\n", x, y - 4.5, entry.sample);
    out += svg_text({x + entry.sample_width + 8, y}, entry.text, kFont, kInk);
    x += width;
  }
  return out;
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= ' ') out += c;  // XML has no place for control characters
    }
  }
  return out;
}

double text_width(std::string_view text, double font_size) {
  auto letters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return 0.53 * font_size * static_cast<double>(letters);
}

std::string svg_text(Point at, std::string_view text, double font_size, std::string_view colour,
                     Anchor anchor, bool bold) {
  constexpr std::string_view anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n", at.x,
                     at.y, font_size, colour, anchors[static_cast<std::size_t>(anchor)],
                     bold ? " font-weight=\"600\"" : "", escape_xml(text));
}

LegendEntry line_entry(std::string_view colour, bool dashed, std::string text) {
  return {fmt::format("<path d=\"M0 0H28\" stroke=\"{}\" stroke-width=\"2.5\"{}/>", colour,
                      dashed ? " stroke-dasharray=\"5 3\"" : ""),
          28, std::move(text)};
}

LegendEntry dot_entry(std::string_view fill, std::string text) {
  return {fmt::format("<circle cx=\"6\" r=\"6\" fill=\"{}\"/>", fill), 12, std::move(text)};
}

LegendEntry tick_entry(std::string_view colour, std::string text) {
  return {fmt::format("<path d=\"M2 4L8 -3\" stroke=\"{0}\" stroke-width=\"1.6\"/><circle cx=\"8\" cy=\"-3\" "
                      "r=\"2.6\" fill=\"{0}\"/>",
                      colour),
          10, std::move(text)};
}

std::string svg_page(const std::string& title, const std::string& about, Point low, Point high,
                     const std::string& drawing, const std::vector<LegendEntry>& legend) {
  double inner = std::max({high.x - low.x, kLeastWidth, text_width(title, 22) * 1.1});
  double centre = (low.x + high.x) / 2;
  double left = centre - inner / 2, right = centre + inner / 2;

  auto letters = static_cast<std::size_t>(inner / text_width("n", 14));
  std::vector<std::string> about_lines;
  for (const std::string& paragraph : split(about, '\n'))
    for (std::string& line : split(wrap(paragraph, letters, 0), '\n')) about_lines.push_back(std::move(line));
  double top = low.y - 30 - 20 * static_cast<double>(about_lines.size()) - 26;
  std::string head = svg_text({left, top + 20}, title, 22, kInk, Anchor::Start, true);
  for (std::size_t i = 0; i < about_lines.size(); ++i)
    head += svg_text({left, top + 44 + 20 * static_cast<double>(i)}, about_lines[i], 14, kFaintInk);

  double y = high.y + 46;
  std::string foot = legend_rows(legend, left, right, y);
  double x0 = left - kMargin, y0 = top - kMargin + 8;
  double width = inner + 2 * kMargin, height = y + kMargin - 8 - y0;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0:.0f} {1:.0f} {2:.0f} {3:.0f}\" "
      "width=\"{2:.0f}\" "
      "height=\"{3:.0f}\" font-family=\"'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', "
      "sans-serif\">\n"
      "<title>{4}</title>\n"
      "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"{2:.0f}\" height=\"{3:.0f}\" fill=\"#ffffff\"/>\n"
      "{5}{6}{7}</svg>\n",
      std::floor(x0), std::floor(y0), std::ceil(width) + 1, std::ceil(height) + 1, escape_xml(title), head,
      drawing, foot);
}

}  // namespace weft::report
