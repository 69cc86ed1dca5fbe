// Receives that wait for messages, and messages that wait for receives.
#pragma once

#include "mpi/costs.hpp"

namespace weft::mpi {

class Matching {
 public:
  explicit Matching(Costs& costs) : costs_(costs) {}

  Receive* new_receive(const Receive& wanted);
  /// A message begins that has such a head.
  template <class Head>
  Incoming* new_incoming(std::uint32_t peer, unsigned flags, const Head& head, Protocol protocol);

  /// The first receive for a message. Out of its queue, unless it is for several.
  Receive* match(Port& port, const Incoming& in);
  void post(Receive* receive) { posted_[receive->tagged].push_back(receive); }
  /// Takes a posted receive out of its queue; false where there is none of this context that can be.
  bool cancel(void* context, Receive& out);
  const Queue<Receive>& posted(bool tagged) const { return posted_[tagged]; }
  bool any_posted() const { return !posted_[0].empty() || !posted_[1].empty(); }

  /// A message that nobody has a receive for yet.
  void keep(Incoming* in);
  /// The oldest such message for a receive.
  Incoming* find_unexpected(Port& port, const Receive& wanted, bool take_out);

  /// A message has its receive. One for several that has less than `least_room` left is taken out.
  void attach(Incoming& in, Receive* receive, std::size_t least_room);
  /// A message is over, and its receive unless that is for several; true where it was the last of those.
  bool detach(Incoming& in);
  void end(Incoming* in, bool last);

 private:
  Costs& costs_;
  Pool<Receive> receives_;
  Pool<Incoming> incomings_;
  Queue<Receive> posted_[2];  // plain and tagged, in order
  Queue<Incoming> unexpected_[2];
};

template <class Head>
Incoming* Matching::new_incoming(std::uint32_t peer, unsigned flags, const Head& head, Protocol protocol) {
  Incoming* in = incomings_.take();
  std::vector<char> early = std::move(in->early);  // its memory is used again
  *in = Incoming();
  in->early = std::move(early);
  in->peer = peer;
  in->tagged = flags & kTagged;
  in->has_data = flags & kHasData;
  in->tag = head.tag;
  in->data = head.data;
  in->length = head.length;
  in->protocol = protocol;
  return in;
}

}  // namespace weft::mpi
