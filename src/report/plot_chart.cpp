#include "report/plot_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::report {

namespace {

constexpr double kFont = 12;
constexpr std::string_view kGrid = "#e6ebf0", kFrame = "#9aa7b4";

std::string mark_shape(Point at, Mark shape, std::string_view colour, const std::string& inner) {
  switch (shape) {
    case Mark::Dot:
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\">{}</circle>\n", at.x, at.y,
                         colour, inner);
    case Mark::Ring:
      return fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#fff\" stroke=\"{}\" "
          "stroke-width=\"2\">{}</circle>\n",
          at.x, at.y, colour, inner);
    case Mark::Arrow:
      return fmt::format("<path d=\"M{:.1f} {:.1f}l6 9h-12z\" fill=\"{}\">{}</path>\n", at.x, at.y, colour,
                         inner);
  }
  return "";
}

std::string note_of(const std::string& note) {
  return note.empty() ? "" : fmt::format("<title>{}</title>", escape_xml(note));
}

std::string turned_text(Point at, std::string_view text) {
  return fmt::format("<g transform=\"translate({:.1f} {:.1f}) rotate(-90)\">{}</g>\n", at.x, at.y,
                     svg_text({0, 0}, text, kFont, kFaintInk, Anchor::Middle));
}

std::string rule(Point from, Point to, std::string_view colour) {
  return fmt::format("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\"/>\n", from.x, from.y, to.x, to.y,
                     colour);
}

Range in_second_unit(const Range& range, double factor) {
  return {range.low * factor, range.high * factor, range.logarithmic};
}

}  // namespace

Chart::Chart(double width, double height, std::string about, Range x, AxisText x_text, Range y,
             AxisText y_text)
    : width_(width),
      height_(height),
      about_(std::move(about)),
      x_(x),
      y_(y),
      x_text_(std::move(x_text)),
      y_text_(std::move(y_text)) {}

double Chart::left() const { return 74; }
double Chart::top() const { return x_text_.second_factor > 0 ? 46 : 14; }
double Chart::plot_width() const { return width_ - left() - (y_text_.second_factor > 0 ? 68 : 18); }
double Chart::plot_height() const { return height_ - top() - 48; }

Point Chart::at(Point value) const {
  return {x_.place(value.x) * plot_width(), (1 - y_.place(value.y)) * plot_height()};
}

void Chart::line(const std::vector<Point>& values, LineLook look) {
  if (values.empty()) return;
  std::string path;
  for (Point value : values) {
    Point p = at(value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", p.x, p.y);
  }
  inside_ += fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linejoin=\"round\"{}/>\n",
      path, look.colour, look.width, look.dashed ? " stroke-dasharray=\"5 4\"" : "");
}

void Chart::area(const std::vector<Point>& lower, const std::vector<Point>& upper, std::string_view colour,
                 const std::string& note) {
  if (upper.empty()) return;
  std::string path;
  auto add = [&](Point value) {
    Point p = at(value);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", p.x, p.y);
  };
  for (Point value : upper) add(value);
  for (auto value = lower.rbegin(); value != lower.rend(); ++value) add(*value);
  inside_ += fmt::format("<path d=\"{}z\" fill=\"{}\">{}</path>\n", path, colour, note_of(note));
}

void Chart::mark(Point value, Mark shape, std::string_view colour, const std::string& note) {
  Point p = at({value.x, std::min(value.y, y_.high)});
  marks_ += mark_shape(p, value.y > y_.high ? Mark::Arrow : shape, colour, note_of(note));
}

void Chart::bar(double from, double to, double y, std::string_view colour, const std::string& note) {
  Point a = at({from, y}), b = at({to, 0});
  inside_ += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}z\" fill=\"{}\">{}</path>\n", a.x, b.y,
                         std::max(a.x + 0.5, b.x - 0.6), a.y, a.x, colour, note_of(note));
}

void Chart::upright(double x, const std::string& word, std::string_view colour, unsigned row) {
  double px = x_.place(x) * plot_width(), y = 13 + 16.0 * row;
  bool room = px + 8 + text_width(word, kFont) < plot_width();
  marks_ += fmt::format("<path d=\"M{:.1f} 0V{:.1f}\" stroke=\"{}\" stroke-dasharray=\"3 3\"/>\n", px,
                        plot_height(), colour);
  marks_ += fmt::format(
      "<g stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">{}</g>\n",
      svg_text({room ? px + 5 : px - 5, y}, word, kFont, colour, room ? Anchor::Start : Anchor::End, true));
}

void Chart::shade_from(double x, const std::string& word) {
  double px = x_.place(x) * plot_width();
  back_ += fmt::format("<rect x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"#faf0ee\"/>\n",
                       px, std::max(0.0, plot_width() - px), plot_height());
  if (plot_width() - px > text_width(word, kFont) + 10)
    back_ += svg_text({plot_width() - 8, plot_height() - 10}, word, kFont, "#a4412f", Anchor::End);
}

std::string Chart::axes() const {
  double right = left() + plot_width(), bottom = top() + plot_height();
  std::string out;
  for (double tick : round_ticks(x_, x_text_.ticks)) {
    double x = left() + x_.place(tick) * plot_width();
    out += rule({x, top()}, {x, bottom}, kGrid);
    out += svg_text({x, bottom + 18}, number_text(tick), kFont, kInk, Anchor::Middle);
  }
  for (double tick : round_ticks(y_, y_text_.ticks)) {
    double y = top() + (1 - y_.place(tick)) * plot_height();
    out += rule({left(), y}, {right, y}, kGrid);
    out += svg_text({left() - 8, y + 4}, number_text(tick), kFont, kInk, Anchor::End);
  }
  out += svg_text({left() + plot_width() / 2, height_ - 6}, x_text_.label, kFont, kFaintInk, Anchor::Middle);
  out += turned_text({12, top() + plot_height() / 2}, y_text_.label);
  if (x_text_.second_factor > 0) {
    Range second = in_second_unit(x_, x_text_.second_factor);
    for (double tick : round_ticks(second, x_text_.ticks)) {
      double x = left() + second.place(tick) * plot_width();
      out += rule({x, top() - 4}, {x, top()}, kFrame);
      out += svg_text({x, top() - 9}, number_text(tick), kFont, kFaintInk, Anchor::Middle);
    }
    out += svg_text({left() + plot_width() / 2, top() - 28}, x_text_.second_label, kFont, kFaintInk,
                    Anchor::Middle);
  }
  if (y_text_.second_factor > 0) {
    Range second = in_second_unit(y_, y_text_.second_factor);
    for (double tick : round_ticks(second, y_text_.ticks)) {
      double y = top() + (1 - second.place(tick)) * plot_height();
      out += rule({right, y}, {right + 4, y}, kFrame);
      out += svg_text({right + 8, y + 4}, number_text(tick), kFont, kFaintInk);
    }
    out += turned_text({width_ - 6, top() + plot_height() / 2}, y_text_.second_label);
  }
  out += rule({left(), bottom}, {right, bottom}, kFrame) + rule({left(), top()}, {left(), bottom}, kFrame);
  if (x_text_.second_factor > 0) out += rule({left(), top()}, {right, top()}, kFrame);
  if (y_text_.second_factor > 0) out += rule({right, top()}, {right, bottom}, kFrame);
  return out;
}

std::string Chart::svg(bool heat) const {
  std::string frame = fmt::format("x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"", left(),
                                  top(), plot_width(), plot_height());
  return fmt::format(
      "<svg class=\"chart{}\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">\n"
      "<svg {}>\n{}</svg>\n{}<svg {}>\n{}</svg>\n<g transform=\"translate({:.1f} "
      "{:.1f})\">\n{}</g>\n</svg>\n",
      heat ? "" : " lines", width_, height_, escape_xml(about_), frame, back_, axes(), frame, inside_, left(),
      top(), marks_);
}

std::string legend_key(std::string_view colour, bool dashed, std::string_view text) {
  return fmt::format(
      "<span class=\"key\"><svg width=\"26\" height=\"10\"><path d=\"M0 5H26\" stroke=\"{}\" "
      "stroke-width=\"2.5\"{}/></svg>{}</span>\n",
      colour, dashed ? " stroke-dasharray=\"5 4\"" : "", escape_xml(text));
}

std::string chart_with_legend(const std::string& legend, const std::string& svg) {
  return fmt::format("<p class=\"legend\">{}</p>\n<div class=\"wide\">{}</div>\n", legend, svg);
}

std::string legend_mark(Mark shape, std::string_view colour, std::string_view text) {
  Point at = shape == Mark::Arrow ? Point{7, 1} : Point{7, 6};
  return fmt::format("<span class=\"key\"><svg width=\"14\" height=\"12\">{}</svg>{}</span>\n",
                     mark_shape(at, shape, colour, ""), escape_xml(text));
}

std::string sparkline(std::span<const float> shares, std::string_view colour) {
  constexpr double kWidth = 120, kHeight = 24;
  if (shares.size() < 2) return "";
  std::string path;
  for (std::size_t i = 0; i < shares.size(); ++i)
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L",
                        kWidth * static_cast<double>(i) / static_cast<double>(shares.size() - 1),
                        1 + (kHeight - 2) * (1 - std::clamp(static_cast<double>(shares[i]), 0.0, 1.0)));
  return fmt::format(
      "<svg class=\"spark\" width=\"{0:g}\" height=\"{1:g}\" role=\"img\" aria-label=\"utilisation over "
      "time\">"
      "<path d=\"{2}L{0:g} {1:g}L0 {1:g}z\" fill=\"{3}\" fill-opacity=\"0.18\"/>"
      "<path d=\"{2}\" fill=\"none\" stroke=\"{3}\" stroke-width=\"1.5\"/></svg>",
      kWidth, kHeight, path, colour);
}

}  // namespace weft::report
