// Pages of SVG: title, drawing, legend. Self-contained, and readable on white and in print.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/point.hpp"

namespace weft::report {

/// Okabe and Ito's colours, told apart with every kind of colour vision; the first ones for cables.
inline constexpr std::string_view kCableColours[] = {"#0072b2", "#e69f00", "#009e73",
                                                     "#cc79a7", "#56b4e9", "#8c564b"};
inline constexpr std::string_view kTierColours[] = {"#22313f", "#6b7f92", "#3f5871",
                                                    "#8797a6", "#5e548e", "#9c6b75"};
inline constexpr std::string_view kDeadColour = "#d7191c";
inline constexpr std::string_view kInk = "#22313f";
inline constexpr std::string_view kFaintInk = "#5f6f7e";
inline constexpr std::string_view kTickColour = "#8a98a6";

template <std::size_t N>
std::string_view colour_of(const std::string_view (&palette)[N], std::size_t i) {
  return palette[i % N];
}

std::string escape_xml(std::string_view text);

/// About how wide a text is, in pixels.
double text_width(std::string_view text, double font_size);

std::string svg_text(Point at, std::string_view text, double font_size, std::string_view colour,
                     Anchor anchor = Anchor::Start, bool bold = false);

/// A sample, drawn to the right of the origin and at most 14 pixels high, and what it stands for.
struct LegendEntry {
  std::string sample;
  double sample_width;
  std::string text;
};
LegendEntry line_entry(std::string_view colour, bool dashed, std::string text);
LegendEntry dot_entry(std::string_view fill, std::string text);
LegendEntry tick_entry(std::string_view colour, std::string text);

/// The whole page around a drawing that lies between `low` and `high`.
std::string svg_page(const std::string& title, const std::string& about, Point low, Point high,
                     const std::string& drawing, const std::vector<LegendEntry>& legend);

}  // namespace weft::report
