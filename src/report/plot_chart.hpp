// A chart as inline SVG: two axes, each with a second unit if wanted; lines, marks and bars between them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/plot_axis.hpp"
#include "report/svg.hpp"

namespace weft::report {

/// What an axis shows, and the same again in another unit on the opposite side.
struct AxisText {
  std::string label;
  unsigned ticks = 6;
  std::string second_label = {};
  double second_factor = 0;  // second units in one of the first; 0: there is no second unit
};

struct LineLook {
  std::string_view colour;
  double width = 2.2;
  bool dashed = false;
};

enum class Mark { Dot, Ring, Arrow };

class Chart {
 public:
  /// `about` is read aloud in place of the drawing.
  Chart(double width, double height, std::string about, Range x, AxisText x_text, Range y, AxisText y_text);

  const Range& x() const { return x_; }
  const Range& y() const { return y_; }

  /// A line through values; what lies beyond the axes is cut off.
  void line(const std::vector<Point>& values, LineLook look);
  /// The area between two lines over the same values of x.
  void area(const std::vector<Point>& lower, const std::vector<Point>& upper, std::string_view colour,
            const std::string& note);
  /// A mark on a value; beyond the upper end it lies on the edge. `note` shows where the pointer rests on it.
  void mark(Point value, Mark shape, std::string_view colour, const std::string& note);
  /// A bar between two values of x, from 0 up to y.
  void bar(double from, double to, double y, std::string_view colour, const std::string& note);
  /// A line from bottom to top with a word at its head, `row` lines of text below the top.
  void upright(double x, const std::string& word, std::string_view colour, unsigned row = 0);
  /// A shade over all beyond a value of x.
  void shade_from(double x, const std::string& word);

  /// `heat`: its colours are those of links in a picture, and on a dark page they change as a picture's do.
  std::string svg(bool heat = false) const;

 private:
  Point at(Point value) const;  // in pixels, within the plot
  double left() const, top() const, plot_width() const, plot_height() const;
  std::string axes() const;

  double width_, height_;
  std::string about_;
  Range x_, y_;
  AxisText x_text_, y_text_;
  std::string back_, inside_, marks_;  // marks may lie half over the edge, all else is cut off there
};

/// A line of the legend that stands above a chart, as HTML.
std::string legend_key(std::string_view colour, bool dashed, std::string_view text);
std::string legend_mark(Mark shape, std::string_view colour, std::string_view text);

/// A chart below its legend; on a narrow page it is scrolled sideways, and stays legible.
std::string chart_with_legend(const std::string& legend, const std::string& svg);

/// A small line without axes, of shares from 0 to 1.
std::string sparkline(std::span<const float> shares, std::string_view colour);

}  // namespace weft::report
