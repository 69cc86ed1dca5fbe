#include "guest/file_watch.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::guest {
namespace {

struct Line {
  Line() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here = File(ends[0]);
    there = File(ends[1]);
  }
  void say() { EXPECT_EQ(write(there.number(), "x", 1), 1); }
  void hear() {
    char byte;
    EXPECT_EQ(read(here.number(), &byte, 1), 1);
  }
  File here, there;
};

TEST(FileWatch, TellsOfNodesThatRunAndLaterOfOthers) {
  FileWatch watch;
  Line console, clock;
  watch.add(3, console.here.number(), FileWatch::Tell::WhileThere);
  watch.add(3, clock.here.number(), FileWatch::Tell::OnNews);
  bool runs = true;
  auto look = [&] { return watch.wait(0, [&](std::size_t node) { return node == 3 && runs; }).size(); };
  EXPECT_EQ(look(), 0u);
  console.say();
  EXPECT_EQ(look(), 1u);
  EXPECT_EQ(look(), 1u) << "while it is there";
  console.hear();
  EXPECT_EQ(look(), 0u);
  clock.say();
  EXPECT_EQ(look(), 1u);
  EXPECT_EQ(look(), 0u) << "what is no news may lie there";
  clock.say();
  EXPECT_EQ(look(), 1u);
  runs = false;
  console.say();
  clock.say();
  EXPECT_EQ(look(), 0u);
  EXPECT_EQ(look(), 0u);
  runs = true;
  EXPECT_EQ(look(), 2u) << "both have waited";
  EXPECT_EQ(look(), 1u);
}

TEST(FileWatch, ALostLineIsToldToo) {
  FileWatch watch;
  Line line;
  watch.add(0, line.here.number(), FileWatch::Tell::OnNews);
  line.there.close();
  EXPECT_EQ(watch.wait(0, [](std::size_t) { return true; }).size(), 1u);
  const int closed = line.here.number();
  line.here.close();
  EXPECT_TRUE(watch.wait(0, [](std::size_t) { return true; }).empty()) << closed;
}

}  // namespace
}  // namespace weft::guest
