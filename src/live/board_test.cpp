#include "live/board.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
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

// However often somebody asks, describing takes about a hundredth of the run's time.
TEST(Board, WhoAsksOftenDoesNotSlowTheRun) {
  using namespace std::chrono_literals;
  Board board(1);
  std::atomic<bool> over{false};
  std::atomic<int> described{0};
  std::thread run([&] {
    while (!over) {
      board.look(
          0,
          [&] {
            const std::clock_t end =
                std::clock() + CLOCKS_PER_SEC / 50;  // of the whole process, and it waits
            while (std::clock() < end) {
            }
            return std::to_string(++described);
          },
          [&] { return over.load(); });
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 1500ms) {
    board.state();
    std::this_thread::sleep_for(20ms);
  }
  over = true;
  run.join();
  EXPECT_GE(described, 1);
  EXPECT_LE(described, 2) << "each took 20 ms";
}

}  // namespace
}  // namespace weft::live
