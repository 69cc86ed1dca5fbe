// Traces as the tools that read them want them: every event strictly by its format, and an archive read back
// by the format's own program. The report's page in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "browser.hpp"
#include "json.hpp"
#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// What the Trace Event Format asks of each kind of event: the keys it must have, and those it may.
struct Form {
  std::set<std::string> must, may;
};
const std::map<std::string, Form> kForms{
    {"M", {{"ph", "name", "pid", "args"}, {"tid"}}},
    {"X", {{"ph", "name", "cat", "pid", "tid", "ts", "dur"}, {"args"}}},
    {"b", {{"ph", "name", "cat", "id", "pid", "tid", "ts"}, {"args"}}},
    {"e", {{"ph", "name", "cat", "id", "pid", "tid", "ts"}, {"args"}}},
    {"s", {{"ph", "name", "cat", "id", "pid", "tid", "ts"}, {}}},
    {"f", {{"ph", "name", "cat", "id", "pid", "tid", "ts", "bp"}, {}}},
    {"C", {{"ph", "name", "pid", "ts", "args"}, {"tid"}}},
};

void expect_form(const json& event) {
  const auto form = kForms.find(event.value("ph", ""));
  ASSERT_NE(form, kForms.end()) << event;
  for (const std::string& key : form->second.must) EXPECT_TRUE(event.contains(key)) << key << " of " << event;
  for (const auto& [key, value] : event.items()) {
    EXPECT_TRUE(form->second.must.contains(key) || form->second.may.contains(key)) << key << " of " << event;
    if (key == "ts" || key == "dur" || key == "pid" || key == "tid" || key == "id") {
      EXPECT_TRUE(value.is_number()) << key << " of " << event;
      EXPECT_GE(value.get<double>(), 0) << event;
    }
    if (key == "name" || key == "cat")
      EXPECT_TRUE(value.is_string() && !value.get<std::string>().empty()) << event;
    if (key == "args") EXPECT_TRUE(value.is_object()) << event;
  }
  if (form->first == "C")
    for (const json& value : event["args"])
      EXPECT_TRUE(value.is_number()) << "a counter is a number: " << event;
}

using Line = std::pair<std::int64_t, std::int64_t>;  // process and thread

/// Slices of a line lie beside or within each other; a viewer drops those that do not.
void expect_nested(const std::map<Line, std::vector<std::pair<double, double>>>& lines) {
  constexpr double kRounding = 2e-6;  // a picosecond and a half, in microseconds
  for (auto [line, slices] : lines) {
    std::sort(slices.begin(), slices.end(),
              [](auto& a, auto& b) { return a.first != b.first ? a.first < b.first : a.second > b.second; });
    std::vector<double> open;
    for (const auto& [from, until] : slices) {
      while (!open.empty() && open.back() <= from + kRounding) open.pop_back();
      if (!open.empty())
        EXPECT_LE(until, open.back() + kRounding)
            << "line " << line.first << "." << line.second << " at " << from;
      open.push_back(until);
    }
  }
}

TEST(TraceFormat, IsKeptByEveryEvent) {
  ScratchFolder folder;
  const ProgramResult r =
      run_ranks(kTorus, 8, {kPrograms + "steps", "5"}, {"--trace", folder.file("t.json")});
  ASSERT_EQ(r.code, 0) << r.err;
  const json trace = parse_json(read_file(folder.file("t.json")));
  EXPECT_EQ(trace["displayTimeUnit"], "ns");
  std::map<Line, std::vector<std::pair<double, double>>> lines;
  std::map<std::int64_t, unsigned> begun;  // operations by id
  std::map<std::int64_t, double> flows;    // where arrows start
  std::set<std::int64_t> named;            // processes
  std::set<std::string> calls;
  unsigned arrows = 0;
  for (const json& event : trace["traceEvents"]) {
    expect_form(event);
    if (HasFatalFailure()) return;
    const std::string kind = event["ph"];
    if (kind == "X") {
      const double from = event["ts"], length = event["dur"];
      lines[{event["pid"], event["tid"]}].emplace_back(from, from + length);
      calls.insert(event["name"].get<std::string>());
    }
    if (kind == "b") ++begun[event["id"]];
    if (kind == "e") EXPECT_GT(begun[event["id"]]--, 0u) << "it ends and had not begun: " << event;
    if (kind == "s") flows[event["id"]] = event["ts"];
    if (kind == "f") {
      ASSERT_TRUE(flows.contains(event["id"])) << event;
      EXPECT_GE(event["ts"].get<double>(), flows[event["id"]]) << "an arrow goes on in time";
      ++arrows;
    }
    if (kind == "M" && event["name"] == "process_name") named.insert(event["pid"].get<std::int64_t>());
  }
  for (const auto& [id, open] : begun) EXPECT_EQ(open, 0u) << "operation " << id << " has no end";
  for (const auto& [line, slices] : lines) EXPECT_TRUE(named.contains(line.first)) << line.first;
  expect_nested(lines);
  EXPECT_EQ(arrows, flows.size());
  EXPECT_GT(arrows, 40u) << "8 ranks send to their neighbours in each of 5 steps";
  EXPECT_TRUE(calls.contains("MPI_Sendrecv"));
  EXPECT_TRUE(calls.contains("MPI_Allreduce"));
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex what(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator()));
}

TEST(Otf2, IsReadBackByItsOwnProgram) {
  if (run_command("otf2-print", {"--version"}).code != 0) GTEST_SKIP() << "no otf2-print here";
  ScratchFolder folder;
  const ProgramResult r =
      run_ranks(kTorus, 4, {kPrograms + "steps", "5"}, {"--per-node", "2", "--otf2", folder.file("archive")});
  ASSERT_EQ(r.code, 0) << r.err;
  const ProgramResult events = run_command("otf2-print", {folder.file("archive/traces.otf2")});
  ASSERT_EQ(events.code, 0) << events.err;
  EXPECT_EQ(events.err, "") << "nothing is wrong with it";
  EXPECT_EQ(count(events.out, "ENTER +[0-9]+ +[0-9]+ +Region: \"MPI_Sendrecv\""), 4u * 5);
  EXPECT_EQ(count(events.out, "LEAVE +[0-9]+ +[0-9]+ +Region: \"MPI_Sendrecv\""), 4u * 5);
  EXPECT_EQ(count(events.out, "\nENTER "), count(events.out, "\nLEAVE "));
  EXPECT_GT(count(events.out, "\nMPI_SEND "), 0u);
  EXPECT_EQ(count(events.out, "\nMPI_SEND "), count(events.out, "\nMPI_RECV "));
  const ProgramResult definitions = run_command("otf2-print", {"-G", folder.file("archive/traces.otf2")});
  EXPECT_EQ(definitions.code, 0) << definitions.err;
  for (const char* name : {"\"torus\"", "\"node 0\"", "\"node 1\"", "\"rank 3\"", "\"MPI_COMM_WORLD\""})
    EXPECT_THAT(definitions.out, HasSubstr(name));

  const ProgramResult again =
      run_ranks(kTorus, 4, {kPrograms + "steps", "5"}, {"--otf2", folder.file("archive")});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("--otf2 " + folder.file("archive")));
}

TEST(ReportPages, OpenInABrowserWithoutAnErrorOfAScript) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium here";
  ScratchFolder folder;
  const ProgramResult r = run_ranks(kTorus, 8, {kPrograms + "steps", "5"}, {"--out", folder.file("run")});
  ASSERT_EQ(r.code, 0) << r.err;
  const ProgramResult page = open_page("file://" + folder.file("run/report.html"));
  ASSERT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.err, testing::Not(HasSubstr("Uncaught")));
  EXPECT_THAT(page.out, HasSubstr("<html lang=\"en\" class=\"js\">")) << "its script has run";
  EXPECT_THAT(page.out, HasSubstr("id=\"timeline\""));
}

}  // namespace
}  // namespace weft::test
