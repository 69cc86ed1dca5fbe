// Whose work an interface takes next where classes of traffic share it: the class that is most behind, and
// the ports of a class in turn.
#pragma once

#include <utility>
#include <vector>

#include "nic/egress.hpp"

namespace weft::nic {

class ClassTurns {
 public:
  explicit ClassTurns(std::size_t classes) : last_(classes > 1 ? classes : 0, kNobody) {}
  bool there_are() const { return !last_.empty(); }

  /// Of ports with work, which are numbered by `turn`: false where none can send. `class_of` a port is that
  /// of what it has next. Whose class has its window full waits, and it counts as a stall where nobody else
  /// sends.
  template <class ClassOf, class CanSend>
  bool pick(const std::vector<PortNo>& working, const Egress& egress, std::uint64_t& stalls,
            std::size_t& turn, const ClassOf& class_of, const CanSend& can_send) {
    bool found = false, full = false;
    std::pair<std::uint64_t, PortNo> best;
    for (std::size_t at = 0; at < working.size(); ++at) {
      const unsigned c = class_of(working[at]);
      if (egress.full(c)) {
        full = true;
        continue;
      }
      const std::pair<std::uint64_t, PortNo> rank{egress.start(c), working[at] - last_[c] - 1};
      if ((found && best < rank) || !can_send(working[at])) continue;
      found = true;
      best = rank;
      turn = at;
    }
    stalls += !found && full;
    if (found) last_[class_of(working[turn])] = working[turn];
    return found;
  }

 private:
  std::vector<PortNo> last_;  // by class: who had the last turn
};

}  // namespace weft::nic
