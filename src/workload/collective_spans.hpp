// Where the collectives that a program names begin and end in each of their members.
#pragma once

#include "workload/program.hpp"

namespace weft::workload {

/// Where a collective begins and has ended in a member.
struct Span {
  Step begin = 0, end = 0;
};

/// Of all members of all collectives, in their order. Throws UserError where the steps of a program do not
/// fit what it says of its collectives.
class CollectiveSpans {
 public:
  explicit CollectiveSpans(const Program& program);
  const Span& of(std::uint32_t collective, std::uint32_t place) const {
    return spans_[first_[collective] + place];
  }

 private:
  std::vector<std::uint64_t> first_;  // by collective
  std::vector<Span> spans_;
};

}  // namespace weft::workload
