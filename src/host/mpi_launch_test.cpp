#include "host/mpi_launch.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::host {
namespace {

std::string variable(const MpiLauncher& launcher, const std::string& name) {
  const Environment all = launcher.environment(0);
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& v) { return v.first == name; });
  return at == all.end() ? "" : at->second;
}

TEST(MpiLauncher, StartsTheNextJobAfterOneWhoseRanksWereKilled) {
  const std::vector<unsigned> nodes{0, 1};
  for (const char* name : {"weft", "weft-1", "weft-2"}) {
    MpiLauncher launcher(nodes, "/", MpiWindows::Auto);
    EXPECT_EQ(variable(launcher, "PMIX_NAMESPACE"), name) << "the library still knows the jobs before";
    launcher.killed();
  }
}

}  // namespace
}  // namespace weft::host
