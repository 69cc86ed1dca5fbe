// What README.md shows is what the program prints: every `$ ./weft ...` in it is run.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/text.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string command;
  std::vector<std::string> lines;
};

struct Block {
  std::string language;
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::vector<Block> blocks(const std::string& markdown) {
  std::vector<Block> out;
  bool inside = false;
  for (const std::string& line : lines_of(markdown)) {
    bool fence = line.starts_with("```");
    if (fence && !inside) out.push_back({line.substr(3), {}});
    if (!fence && inside) out.back().lines.push_back(line);
    inside ^= fence;
  }
  return out;
}

std::vector<Example> examples(const std::vector<Block>& all) {
  constexpr std::string_view prompt = "$ ./weft ";
  std::vector<Example> out;
  for (const Block& block : all)
    for (const std::string& line : block.lines)
      if (line.starts_with(prompt))
        out.push_back({line.substr(prompt.size()), {}});
      else if (block.lines.front().starts_with(prompt))
        out.back().lines.push_back(line);
  return out;
}

/// What is the same every time: how long something took is not.
std::vector<std::string> lasting(const std::vector<std::string>& lines) {
  static const std::regex seconds("[0-9.]+ s\\b");
  std::vector<std::string> out;
  bool timing = false;
  for (const std::string& line : lines) {
    timing = line.starts_with("time  ") || (timing && line.starts_with("      "));
    if (!timing) out.push_back(std::regex_replace(line, seconds, "T s"));
  }
  return out;
}

std::vector<std::string> output_of(const std::string& folder, const std::string& arguments) {
  std::string command = "cd '" + folder + "' && '" WEFT_PROGRAM "' " + arguments + " 2>&1", text;
  FILE* pipe = popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  pclose(pipe);
  return lines_of(without_progress(text));
}

TEST(Readme, ShowsWhatTheProgramPrints) {
  // A place like the repository, so that what examples write does not end up in the real one.
  ScratchFolder folder;
  fs::create_directory_symlink(WEFT_ROOT "/tests", folder.file("tests"));
  std::vector<Block> all = blocks(read_file(WEFT_ROOT "/README.md"));
  for (const Block& block : all)
    if (block.language == "toml")
      std::ofstream(folder.file("my-cluster.toml")) << join(block.lines, "\n") << "\n";

  std::vector<Example> shown = examples(all);
  EXPECT_GE(shown.size(), 4u);
  for (const Example& example : shown) {
    std::vector<std::string> printed = output_of(folder.file("."), example.command);
    EXPECT_EQ(join(lasting(example.lines), "\n"), join(lasting(printed), "\n"))
        << "README.md shows something else than weft " << example.command << " prints:\n"
        << join(printed, "\n");
  }
}

}  // namespace
}  // namespace weft::test
