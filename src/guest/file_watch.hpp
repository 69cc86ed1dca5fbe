// Which of the files of all nodes have something to read. The set lives as long as the nodes, so a look costs
// by what has come and not by how many files there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "guest/socket.hpp"

namespace weft::guest {

class FileWatch {
 public:
  struct Ready {
    std::uint32_t node;
    int file;
  };
  enum class Tell : std::uint8_t {
    WhileThere,  // as long as there is something
    OnNews,      // once, when something comes: what has come may lie there
  };

  /// Throws UserError where the system has none left.
  FileWatch();
  /// Until it is closed.
  void add(std::uint32_t node, int file, Tell tell);

  /// What has come for nodes that `runs` says run; what has come for others is told when they do. Nothing
  /// after so many milliseconds.
  template <class Runs>
  std::span<const Ready> wait(int milliseconds, const Runs& runs) {
    ready_.clear();
    std::erase_if(aside_, [&](const Watched& one) { return runs(one.node) && take_back(one); });
    look(ready_.empty() ? milliseconds : 0);
    for (const Watched& one : found_)
      if (runs(one.node))
        ready_.push_back({one.node, one.file});
      else
        put_aside(one);
    return ready_;
  }

 private:
  struct Watched {
    std::uint32_t node;
    int file;
    Tell tell;
  };
  void look(int milliseconds);
  void put_aside(const Watched& one);
  bool take_back(const Watched& one);

  File set_;
  std::vector<Watched> found_, aside_;
  std::vector<Ready> ready_;
};

}  // namespace weft::guest
