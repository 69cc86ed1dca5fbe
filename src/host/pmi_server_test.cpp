#include "host/pmi_server.hpp"

#include <gtest/gtest.h>

namespace weft::host {
namespace {

std::string answer(PmiAnswers& pmi, const std::string& line) {
  auto answers = pmi.to(0, line);
  return answers.empty() ? "" : answers.front().line;
}

TEST(Pmi, KeepsWhatRanksPutAsLongAsItIsNoLongerThanTheyWereTold) {
  PmiAnswers pmi(2, "(vector,(0,1,2))");
  EXPECT_EQ(answer(pmi, "cmd=get_maxes"), "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
  EXPECT_EQ(answer(pmi, "cmd=put kvsname=weft key=a value=" + std::string(1024, 'x')),
            "cmd=put_result rc=0 msg=success");
  EXPECT_EQ(answer(pmi, "cmd=get kvsname=weft key=a"),
            "cmd=get_result rc=0 msg=success value=" + std::string(1024, 'x'));
  EXPECT_EQ(answer(pmi, "cmd=put kvsname=weft key=b value=" + std::string(1025, 'x')),
            "cmd=put_result rc=-1 msg=too_long");
  EXPECT_EQ(answer(pmi, "cmd=put kvsname=weft key=" + std::string(65, 'k') + " value=x"),
            "cmd=put_result rc=-1 msg=too_long");
}

TEST(Pmi, ARankCannotMakeItGrowWithoutEnd) {
  PmiAnswers pmi(1, "");
  unsigned kept = 0;
  for (unsigned i = 0; i < 20'000; ++i)
    kept +=
        answer(pmi, "cmd=put key=" + std::to_string(i) + " value=" + std::string(1000, 'x')).find("rc=0") !=
        std::string::npos;
  EXPECT_GT(kept, 4000u);
  EXPECT_LT(kept, 6000u);
}

}  // namespace
}  // namespace weft::host
