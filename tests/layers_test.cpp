// The checks of includes, layers and headers: they pass on the project, and find what is planted in a copy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "run_program.hpp"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Said {
  int code;
  std::string text;
};

Said run_check(const std::string& words) {
  FILE* pipe = popen((WEFT_ROOT "/tools/" + words + " 2>&1").c_str(), "r");
  Said out{-1, ""};
  char buffer[4096];
  while (std::size_t got = fread(buffer, 1, sizeof buffer, pipe)) out.text.append(buffer, got);
  int status = pclose(pipe);
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

TEST(Layers, IncludesOfTheProjectKeepToThem) {
  Said said = run_check("check_includes.py");
  EXPECT_EQ(said.code, 0) << said.text;
}

// Every process of a run loads it: a library more would be a third of what it takes to start one.
TEST(Layers, WhatProgramsLinkNeedsNothingOfTheCppLibrary) {
  for (const char* name : {"libweft.so", "librma2.so", "libvelo2.so", "libglex.so", "libapenet.so"}) {
    ProgramResult said = run_command("readelf", {"-d", std::string(WEFT_BUILD "/") + name});
    ASSERT_EQ(said.code, 0) << said.err;
    EXPECT_THAT(said.out, HasSubstr("libc.so")) << name;
    EXPECT_THAT(said.out, testing::Not(HasSubstr("libstdc++"))) << name;
  }
}

/// A file with an include that must not be there, and what is said of it.
struct Planted {
  const char *name, *path, *line, *complaint;
};

class PlantedInclude : public testing::TestWithParam<Planted> {};

TEST_P(PlantedInclude, IsFoundByTheLayerCheck) {
  ScratchFolder scratch;
  std::string root = scratch.file("tree");
  fs::create_directories(root);
  fs::copy(WEFT_ROOT "/src", root + "/src", fs::copy_options::recursive);
  ASSERT_EQ(run_check("check_includes.py --root " + root).code, 0) << "nothing is wrong with the copy";
  const Planted& planted = GetParam();
  std::string path = root + "/src/" + planted.path, before = read_file(path);
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path) << before << "\n" << planted.line << "\n";
  Said said = run_check("check_includes.py --root " + root);
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text, HasSubstr(planted.complaint));
}

INSTANTIATE_TEST_SUITE_P(
    EveryKind, PlantedInclude,
    testing::Values(
        Planted{"Upward", "base/text.cpp", "#include \"app/verb.hpp\"", "base must not include app"},
        Planted{"UpwardBetweenSubFolders", "network/link/lanes.cpp", "#include \"network/network.hpp\"",
                "network/link must not include network"},
        Planted{"FromAFolderIntoItsOwnSubFolder", "network/packet.hpp",
                "#include \"network/flit/packets.hpp\"", "network must not include network/flit"},
        Planted{"BetweenSiblings", "measure/predict/predict.cpp", "#include \"measure/validate/figure.hpp\"",
                "measure/predict must not include measure/validate"},
        Planted{"InBrackets", "base/text.cpp", "#include <app/verb.hpp>", "is included in quotes"},
        Planted{"UpwardInBrackets", "base/text.cpp", "#include <app/verb.hpp>", "base must not include app"},
        Planted{"Relative", "app/list.cpp", "#include \"verb.hpp\"", "write includes from src/"},
        Planted{"FromTheLibraryOfPrograms", "lib/clocks.cpp", "#include \"report/svg.hpp\"", "lib is apart"},
        Planted{"FromCOfTheLibrary", "lib/random.c", "#include \"base/random.hpp\"", "lib is apart"},
        Planted{"FromAHeaderOfC", "lib/weft.h", "#include <base/text.hpp>", "lib is apart"},
        Planted{"IntoTheLibraryOfPrograms", "host/files.cpp", "#include \"lib/clocks.hpp\"",
                "which is apart"},
        Planted{"FromTheLibraryIntoItsProvider", "lib/clocks.cpp", "#include \"lib/fi/engine.hpp\"",
                "lib must not include lib/fi"},
        Planted{"CircleOfHeaders", "report/point.hpp", "#include \"report/svg.hpp\"",
                "headers include each other"},
        Planted{"CircleOfParts", "report/svg.cpp", "#include \"report/layout.hpp\"", "parts need each other"},
        Planted{"FolderThatNobodyOrdered", "measure/new/file.cpp", "#include \"base/text.hpp\"",
                "folder 'measure/new' is not in the layout"}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Headers, OneThatDoesNotCompileAloneIsFound) {
  ScratchFolder scratch;
  std::string path = scratch.file("needs_another.hpp");
  std::ofstream(path) << "#pragma once\ninline std::vector<int> numbers() { return {}; }\n";
  Said said = run_check("check_headers.py " + path);
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text, HasSubstr("does not compile alone"));
  std::ofstream(path)
      << "#pragma once\n#include <vector>\ninline std::vector<int> numbers() { return {}; }\n";
  EXPECT_EQ(run_check("check_headers.py " + path).code, 0);
}

}  // namespace
}  // namespace weft::test
