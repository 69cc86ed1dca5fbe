#include "live/board.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace weft::live {
namespace {

TEST(Board, WhoAsksOftenSeesItChangeAllTheSame) {
  Board board(1);
  std::atomic<bool> over{false};
  std::atomic<int> described{0};
  std::thread run([&] {
    while (!over) {
      board.look(
          0, [&] { return std::to_string(++described); }, [&] { return over.load(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  const std::string first = board.state();
  std::string last = first;
  for (int i = 0; i < 1000 && last.substr(last.find("parts")) == first.substr(first.find("parts")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // more often than it is described anew
    last = board.state();
  }
  over = true;
  run.join();
  EXPECT_NE(last.substr(last.find("parts")), first.substr(first.find("parts")));
}

}  // namespace
}  // namespace weft::live
