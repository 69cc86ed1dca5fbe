// What a fence must know of operations whose end nobody tells: a target that does not answer by itself is
// asked to, by a packet that says how many it was sent.
#pragma once

#include "nic/context.hpp"
#include "nic/egress.hpp"

namespace weft::nic {

class Fences {
 public:
  Fences(Context& context, NicId interface, Egress& egress)
      : context_(context), interface_(interface), egress_(egress) {}

  /// All packets of such an operation have been sent.
  void count(PortNo port, NicId target);
  /// It was lost on the way: its target will not count it.
  void uncount(PortNo port, NicId target);
  /// Are there some that may not have ended? Then their targets are asked.
  bool wait(PortNo port);
  bool waiting(PortNo port) const { return port < ports_.size() && !ports_[port].open.empty(); }
  void flushed(const Header& header);
  /// Nothing more is to be heard of a target.
  void cut_off(PortNo port, NicId target);

 private:
  struct Unanswered {
    std::uint32_t sent = 0, flushed = 0, requested = 0;
  };
  struct Of {
    std::vector<Unanswered> targets;
    std::vector<NicId> open;  // those with some of which nothing is known
  };
  void request(PortNo port, NicId target);

  Context& context_;
  NicId interface_;
  Egress& egress_;
  std::vector<Of> ports_;  // counts go on when a port has another user, as they do at the targets
};

}  // namespace weft::nic
