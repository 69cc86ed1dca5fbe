// Runs that repeat: what a program's time depends on is the program, not where the system puts its memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <set>

#include "mpi_programs.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

struct Way {
  const char* name;
  Words options;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class Repeat : public testing::TestWithParam<Way> {};

// Three at once, which makes the machine busy and process numbers differ, each with an environment of another
// size. The program itself brings its heap into another state each time.
TEST_P(Repeat, GivesOneValue) {
  std::string way = GetParam().name;
  way = way.substr(0, way.find('_'));
  unsigned most = std::getenv("WEFT_LONG_TESTS") ? 21 : 3;
  std::set<std::string> outputs;
  for (unsigned done = 0; done < most;) {
    std::vector<std::future<ProgramResult>> runs;
    for (unsigned i = 0; i < 3 && done < most; ++i, ++done) {
      Words command{"/usr/bin/env", "PAD=" + std::string(137 * done * done, 'x'), kPrograms + "repeat", way};
      Words options = GetParam().options;
      if (done % 3 == 2) options.insert(options.end(), {"--cores", "all"});
      runs.push_back(std::async(std::launch::async, [=] { return run_ranks(kTorus, 4, command, options); }));
    }
    for (auto& run : runs) {
      ProgramResult r = run.get();
      EXPECT_EQ(r.code, 0) << r.out << r.err;
      EXPECT_THAT(r.out, HasSubstr(" 0 failed"));
      outputs.insert(r.out + r.err);
    }
  }
  EXPECT_EQ(outputs.size(), 1u) << *outputs.begin() << *outputs.rbegin();
}

INSTANTIATE_TEST_SUITE_P(
    Memory, Repeat,
    testing::Values(Way{"heap", {}},
                    Way{"heap_ofAnInterfaceThatRemembers", {"--set", "nic.registration_cache=16"}},
                    Way{"mmap", {"--per-node", "2"}}, Way{"brk", {}}, Way{"stack", {}}, Way{"threads", {}},
                    Way{"windows", {}}, Way{"windows_byRdma", {"--windows", "rdma"}},
                    Way{"windows_byRdmaOnANode", {"--windows", "rdma", "--per-node", "2"}}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace weft::test
