// What the pages of `weft validate` are made of: charts, tables of figures, their style in light and dark.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "measure/validate/figure.hpp"

namespace weft::report {

/// Style of these pages beside that of all pages; dark where the reader's system is.
std::string_view validation_style();

/// Plots with the same axes in one chart, with its legend. Lines and dots are ours, rings what was published;
/// where there are several plots, rings have the colour of their plot's line.
std::string validation_chart(const std::vector<const measure::Plot*>& plots);

/// Rows of published and our values.
std::string figure_table(const std::vector<const measure::FigureResult*>& figures);

std::string missing_table(const std::vector<const measure::MissingFigure*>& figures);

}  // namespace weft::report
