// Pages of papers: every figure and table is there by its number, with nothing that does not exist behind it.
#include <gtest/gtest.h>

#include <algorithm>
#include <pugixml.hpp>
#include <set>

#include "report/validation_report.hpp"

namespace weft::report {
namespace {

using measure::Paper;
using measure::PaperCell;
using measure::PaperPart;

std::set<std::string> known_figures() {
  std::set<std::string> out;
  for (const measure::ExperimentKind* e : measure::experiments_in_order())
    for (const measure::Figure& f : e->figures) out.insert({f.id, f.name()});
  for (const measure::MissingFigure& f : measure::missing_figures()) out.insert(f.id);
  return out;
}

TEST(PaperPage, TheFivePapersAreThere) {
  EXPECT_EQ(measure::paper_names(),
            (std::vector<std::string>{"apenet", "exanest", "extoll", "tianhe2", "naa"}));
}

TEST(PaperPage, WhatAPaperNamesExists) {
  const std::set<std::string> figures = known_figures();
  std::set<std::string> machines;
  for (const measure::ExperimentKind* e : measure::experiments_in_order()) machines.insert(e->machine);
  for (const auto& [name, paper] : measure::Papers::all()) {
    std::set<std::string> numbers;
    for (const std::string& machine : paper.machines) EXPECT_TRUE(machines.count(machine)) << machine;
    for (const PaperPart& part : paper.parts) {
      EXPECT_TRUE(numbers.insert(part.number).second) << name << ": " << part.number << " twice";
      for (const std::string& figure : part.figures)
        EXPECT_TRUE(figures.count(figure)) << name << " " << part.number << ": " << figure;
      for (const auto& row : part.table.rows) EXPECT_EQ(row.size(), part.table.columns.size()) << part.number;
      const bool says_something = part.drawing || !part.needs.empty() || !part.figures.empty() ||
                                  !part.charts.empty() || !part.table.rows.empty();
      EXPECT_TRUE(says_something) << name << " " << part.number;
    }
  }
}

TEST(PaperPage, NumbersOfFiguresAndTablesHaveNoGap) {
  auto count = [](const char* paper, const char* word) {
    const auto& parts = measure::paper_named(paper).parts;
    return std::count_if(parts.begin(), parts.end(),
                         [&](const PaperPart& part) { return part.number.starts_with(word); });
  };
  EXPECT_EQ(count("extoll", "Figure"), 8);
  EXPECT_EQ(count("extoll", "Table"), 4);
  EXPECT_EQ(count("exanest", "Fig."), 14);
  EXPECT_EQ(count("exanest", "Table"), 3);
  EXPECT_EQ(count("apenet", "Figure"), 7);
  EXPECT_EQ(count("apenet", "Table"), 1);
  EXPECT_EQ(count("tianhe2", "Fig."), 11);
  EXPECT_EQ(count("tianhe2", "Table"), 1);
  EXPECT_EQ(count("naa", "Table"), 2);
  EXPECT_EQ(count("naa", "Figure"), 65);
}

TEST(PaperPage, APageIsXmlWithEveryNumberAndOurValues) {
  for (const char* name : {"apenet", "naa"}) {
    measure::ValidateOptions options;
    options.paper = name;
    options.quick = true;
    measure::ValidateResult result = measure::validate(options);
    const Paper& paper = measure::paper_named(name);
    std::string page = paper_page(paper, result);
    pugi::xml_document document;
    pugi::xml_parse_result read = document.load_string(page.c_str());
    EXPECT_TRUE(read) << read.description() << " at "
                      << page.substr(static_cast<std::size_t>(read.offset), 80);
    for (const PaperPart& part : paper.parts)
      EXPECT_NE(page.find(part.number), std::string::npos) << name << ": " << part.number;
    EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
    EXPECT_EQ(page.find("not in this run"), std::string::npos)
        << name << ": a value that no experiment gives";
  }
}

}  // namespace
}  // namespace weft::report
