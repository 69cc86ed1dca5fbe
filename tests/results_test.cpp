// docs/results.md against what the command writes: every column and key is on the page, and what is on the
// page is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "base/text.hpp"
#include "json.hpp"
#include "mpi_programs.hpp"
#include "run_program.hpp"

namespace weft::test {
namespace {

using nlohmann::json;

struct Name {
  std::string text;
  bool always = true;  // it is not said to be there only where it applies
};

/// The names in the first column of a section's table.
std::vector<Name> documented(const std::string& section) {
  std::vector<Name> out;
  bool inside = false;
  for (const std::string& line : split(read_file(WEFT_ROOT "/docs/results.md"), '\n')) {
    if (line.starts_with("## ")) inside = line == "## " + section;
    if (!inside || !line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    const bool sometimes = line.find("| *", end) != std::string::npos;
    out.push_back({line.substr(3, end - 3), !sometimes});
  }
  EXPECT_FALSE(out.empty()) << section;
  return out;
}

void expect_columns(const std::string& section, const std::string& file) {
  const std::string text = read_file(file);
  std::vector<std::string> columns;
  for (const Name& name : documented(section)) columns.push_back(name.text);
  EXPECT_EQ(text.substr(0, text.find('\n')), join(columns, ",")) << section;
}

void add_keys(const json& value, const std::string& at, std::set<std::string>& out) {
  if (value.is_object())
    for (const auto& [key, inner] : value.items()) {
      const std::string name = at.empty() ? key : at + "." + key;
      out.insert(name);
      add_keys(inner, name, out);
    }
  if (value.is_array())
    for (const json& inner : value) add_keys(inner, at + "[]", out);
}

void expect_keys(const std::string& section, const json& value) {
  std::set<std::string> there;
  add_keys(value, "", there);
  const std::vector<Name> names = documented(section);
  for (const std::string& key : there) {
    bool known = false;
    for (const Name& name : names)
      known |= name.text == key ||
               (name.text.ends_with("*") && key.starts_with(name.text.substr(0, name.text.size() - 1)));
    EXPECT_TRUE(known) << section << ": " << key << " is not in docs/results.md";
  }
  for (const Name& name : names)
    if (name.always && !name.text.ends_with("*"))
      EXPECT_TRUE(there.contains(name.text)) << section << ": there is no " << name.text;
}

TEST(Results, OfTrafficAreAsDocumented) {
  ScratchFolder folder;
  const std::string out = folder.file("out");
  const ProgramResult r = run_program(
      {"traffic", "torus", "--set", "topology.dims=[3,3]", "--load", "0.1,0.2", "--json", "--out", out});
  ASSERT_EQ(r.code, 0) << r.err;
  expect_columns("traffic: points.csv", out + "/points.csv");
  expect_columns("traffic: links.csv", out + "/links.csv");
  expect_columns("traffic: histogram.csv", out + "/histogram.csv");
  expect_keys("traffic: result.json", parse_json(r.out));
}

TEST(Results, OfRunsAreAsDocumented) {
  ScratchFolder folder;
  const std::string out = folder.file("out");
  const ProgramResult r =
      run_program({"run", "torus", "--set", "topology.dims=[4]", "-n", "4", "--out", out, "--what-if",
                   "--monitor", "1ms", "--engine", "flit", "--fault", "at 100us lane r0.p0 0 stuck", "--",
                   kPrograms + "planted", "late_at_barrier"});
  ASSERT_EQ(r.code, 0) << r.err;
  expect_columns("run: monitor.csv", out + "/monitor.csv");
  expect_columns("run: matrix.csv", out + "/matrix.csv");
  expect_columns("run: breakdown.csv", out + "/breakdown.csv");
  expect_keys("run: result.json", parse_json(read_file(out + "/result.json")));
}

TEST(Results, OfReplaysAreAsDocumented) {
  const ProgramResult r =
      run_program({"replay", "torus", "--set", "topology.dims=[3,3]", "barrier", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  expect_keys("replay: --json", parse_json(r.out));
}

}  // namespace
}  // namespace weft::test
