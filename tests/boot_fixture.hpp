// Linux nodes for tests: a script that every node runs, in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "run_program.hpp"

namespace weft::test {

class Boot : public testing::Test {
 protected:
  /// The kernel is built where it is missing; where it cannot be, the tests fail and say why.
  static void SetUpTestSuite() {
    FILE* pipe = popen(WEFT_ROOT "/tools/build-linux", "r");
    char room[4096];
    while (pipe && std::fgets(room, sizeof room, pipe)) kernel = room;
    ASSERT_TRUE(pipe && pclose(pipe) == 0) << "there is no kernel; tools/build-linux says why";
    kernel.pop_back();  // the end of the line
  }
  inline static std::string kernel;  // its file

  std::string script(const std::string& body) {
    const std::string path = folder.file("job.sh");
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  ProgramResult boot(const std::string& body, std::vector<std::string> options) {
    options.insert(options.begin(), "boot");
    options.insert(options.end(), {"--", script(body)});
    return run_program(options);
  }

  /// What node 1 sent is what node 0 got: both have printed a checksum (SHA-256) first of all.
  static void expect_same_sum(const std::string& out) {
    auto sum_of = [&](const std::string& node) {
      const std::size_t at = out.find(node + ": ");
      return at == std::string::npos ? node + " printed nothing" : out.substr(at + node.size() + 2, 64);
    };
    EXPECT_EQ(sum_of("node1"), sum_of("node0")) << out;
  }

  ScratchFolder folder;
};

}  // namespace weft::test
