#include <gtest/gtest.h>

#include "app/verb.hpp"
#include "run_program.hpp"
#include "test_paths.hpp"

namespace weft::test {
namespace {

TEST(Reference, PageIsWhatTheDeclarationsSay) {
  // Not EXPECT_EQ: hundreds of lines of difference help nobody.
  EXPECT_TRUE(read_file(WEFT_ROOT "/docs/reference.md") == app::reference_page())
      << "docs/reference.md is out of date; write it anew:\n  ./weft help --reference > docs/reference.md";
}

}  // namespace
}  // namespace weft::test
