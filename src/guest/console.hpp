// What nodes print on their consoles: gathered while they run, and passed on in whole lines, each with its
// node's name before it, when no node runs. So two runs print the same.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

namespace weft::guest {

class Console {
 public:
  explicit Console(std::string name) : prefix_(std::move(name) + ": ") {}

  /// Takes what a pipe has, without waiting; false at its end.
  bool gather(int pipe);
  static bool has_more(int pipe);
  void take(std::string_view text) { text_ += text; }
  /// Hands over all of it as it is, for a terminal.
  void pass_on_raw(const std::function<void(std::string_view text)>& print);
  /// Hands over whole lines; `all`: also a last one that was not ended.
  void pass_on(const std::function<void(std::string_view line)>& print, bool all = false);
  /// The last lines, for reports on what went wrong.
  const std::deque<std::string>& last_lines() const { return last_; }
  /// Why the kernel gave up, in its own words; empty where it has not.
  const std::string& panic() const { return panic_; }

 private:
  void keep(std::string_view line);
  static constexpr std::size_t kKept = 12, kLongestLine = 65'536;
  std::string prefix_, text_, panic_;
  std::deque<std::string> last_;
};

}  // namespace weft::guest
