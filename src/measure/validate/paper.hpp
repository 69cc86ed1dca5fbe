// The papers as they are printed: each figure and table by its number, so that ours can stand beside it.
//
// A paper registers itself from its own file. Numbers are not repeated here where a figure has them: a cell
// of a table names the figure, or the value an experiment shows (Trial::show), that ours comes from.
#pragma once

#include <string>
#include <vector>

#include "config/registry.hpp"

namespace weft::measure {

struct PaperCell {
  std::string published;  // as it is printed
  std::string ours = {};  // name of a figure or of a shown value; empty: the cell is words
  std::string unit = {};  // of ours, where the print has one
};

struct PaperTable {
  std::vector<std::string> columns = {};
  std::vector<std::vector<PaperCell>> rows = {};
};

/// A figure or a table of a paper.
struct PaperPart {
  std::string number, title;  // "Figure 3"
  std::string said = {};      // what is published of it, and what ours is
  PaperTable table = {};
  /// Charts, each of one or more plots of experiments on the same axes: "extoll-r1: Message rate over size".
  std::vector<std::vector<std::string>> charts = {};
  std::vector<std::string> figures = {};  // ids or names of the figures it is compared by
  std::string needs = {};                 // the capability it waits for
  bool drawing = false;                   // a drawing or a photograph: there is nothing to compare
};

struct Paper {
  ~Paper();
  std::string name;  // "extoll"
  int order = 0;
  std::string title, authors, file;
  std::vector<std::string> machines;
  std::vector<PaperPart> parts;
};

using Papers = config::Registry<Paper>;

std::vector<std::string> paper_names();
/// One of those names.
const Paper& paper_named(const std::string& name);

inline PaperPart drawing(std::string number, std::string title) {
  PaperPart out;
  out.number = std::move(number);
  out.title = std::move(title);
  out.drawing = true;
  return out;
}

}  // namespace weft::measure

WEFT_DECLARE_REGISTRY(weft::measure::Paper);
