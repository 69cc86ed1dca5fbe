// The manual's pages are run: every command prints what its page shows, and the site and the notebook are
// made of what is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <pugixml.hpp>
#include <regex>
#include <sstream>

#include "base/text.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// What is the same every time: how long something took is not, nor in which order points were done.
std::string lasting(const std::vector<std::string>& lines) {
  static const std::regex seconds("[0-9.]+ s\\b"), point("^(point|experiment) [0-9]+ of .*");
  std::string out;
  for (const std::string& line : lines)
    if (!std::regex_match(line, point)) out += std::regex_replace(line, seconds, "T s") + "\n";
  return out;
}

/// The pages, without the list of them.
std::vector<std::string> pages() {
  std::vector<std::string> out;
  for (const auto& file : fs::directory_iterator(WEFT_ROOT "/docs/manual"))
    if (file.path().extension() == ".md" && file.path().stem() != "README") out.push_back(file.path().stem());
  std::sort(out.begin(), out.end());
  return out;
}

class ManualPage : public testing::TestWithParam<std::string> {
 protected:
  /// A block that begins with a comment that is a file's name is that file.
  void put_file(const std::vector<std::string>& block) const {
    static const std::regex name("^(#|//|/\\*) ([A-Za-z0-9_-]+\\.[a-z]+)( \\*/)?$");
    std::smatch found;
    if (!block.empty() && std::regex_match(block.front(), found, name))
      std::ofstream(folder_.file(found[2])) << join(block, "\n") << "\n";
  }

  void run_session(const std::vector<std::string>& block) {
    for (std::size_t i = 0; i < block.size();) {
      ASSERT_TRUE(block[i].starts_with("$ ")) << block[i];
      const std::string command = block[i].substr(2);
      std::vector<std::string> shown;
      for (++i; i < block.size() && !block[i].starts_with("$ "); ++i) shown.push_back(block[i]);
      const ProgramResult r =
          run_command("/bin/sh", {"-c", "cd '" + folder_.file("") + "' && { " + command + "; } 2>&1"});
      EXPECT_EQ(lasting(shown), lasting(lines_of(without_progress(r.out)))) << "$ " << command;
      ++commands_;
    }
  }

  ScratchFolder folder_;
  unsigned commands_ = 0;
};

TEST_P(ManualPage, PrintsWhatItShows) {
  fs::create_symlink(WEFT_PROGRAM, folder_.file("weft"));
  std::vector<std::string> block;
  bool inside = false;
  for (const std::string& line : lines_of(read_file(WEFT_ROOT "/docs/manual/" + GetParam() + ".md"))) {
    const bool fence = line.starts_with("```");
    if (fence && inside) {
      if (!block.empty() && block.front().starts_with("$ "))
        run_session(block);
      else
        put_file(block);
    }
    if (fence) block.clear();
    if (!fence && inside) block.push_back(line);
    inside ^= fence;
  }
  EXPECT_FALSE(inside) << "a block has no end";
  EXPECT_GT(commands_, 0u) << "a page of the manual has something to try";
}

INSTANTIATE_TEST_SUITE_P(Of, ManualPage, testing::ValuesIn(pages()), [](const auto& one) {
  std::string name = one.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Manual, BecomesASiteWhoseLinksLeadSomewhere) {
  ScratchFolder folder;
  const ProgramResult r = run_command(WEFT_ROOT "/tools/manual", {folder.file("site")});
  if (r.code == 77) GTEST_SKIP() << r.err;
  ASSERT_EQ(r.code, 0) << r.err;
  static const std::regex link("href=\"([^\"#]+)(#[^\"]*)?\"");
  std::vector<std::string> names = pages();
  names.push_back("index");
  for (const std::string& name : names) {
    const std::string page = read_file(folder.file("site/" + name + ".html"));
    pugi::xml_document document;
    EXPECT_TRUE(document.load_string(page.c_str())) << name << " is well-formed";
    unsigned links = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), link), end; at != end; ++at) {
      const std::string to = (*at)[1];
      if (to.starts_with("http")) continue;
      ++links;
      EXPECT_TRUE(fs::exists(folder.file("site/" + to))) << name << " leads to " << to;
    }
    EXPECT_GE(links, names.size() - 1) << "each page leads to the others";
  }
}

TEST(Manual, ListsEveryPage) {
  const std::string list = read_file(WEFT_ROOT "/docs/manual/README.md");
  for (const std::string& name : pages()) EXPECT_THAT(list, testing::HasSubstr("(" + name + ".md)"));
}

TEST(Notebook, ReproducesTheFigure) {
  ScratchFolder folder;
  const ProgramResult r =
      run_command(WEFT_ROOT "/tools/run-notebook",
                  {WEFT_ROOT "/examples/tianhe2_latency.ipynb", "--pictures", folder.file("pictures")});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, testing::HasSubstr("4 distances, at worst 0.96% off"));
  pugi::xml_document document;
  ASSERT_TRUE(document.load_file(folder.file("pictures/cell-5.svg").c_str()));
  std::size_t circles = 0;
  for ([[maybe_unused]] const auto& circle : document.child("svg").children("circle")) ++circles;
  EXPECT_EQ(circles, 4u) << "the paper's";
}

}  // namespace
}  // namespace weft::test
