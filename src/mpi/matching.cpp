#include "mpi/matching.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

bool fits(const Receive& r, const Incoming& in) {
  if (r.peer != kAnyPeer && r.peer != in.peer) return false;
  return !r.tagged || ((r.tag ^ in.tag) & ~r.ignore) == 0;
}

}  // namespace

Receive* Matching::new_receive(const Receive& wanted) {
  Receive* receive = receives_.take();
  *receive = wanted;
  return receive;
}

Receive* Matching::match(Port& port, const Incoming& in) {
  std::uint64_t compared = 0;
  Receive* found = nullptr;
  for (Receive* at = posted_[in.tagged].first(); at && !found; at = at->next) {
    ++compared;
    if (fits(*at, in)) found = at;
  }
  if (found && !found->multi) posted_[in.tagged].erase(found);
  costs_.compared(port, compared, in.protocol);
  return found;
}

bool Matching::cancel(void* context, Receive& out) {
  for (auto& queue : posted_)
    for (Receive* at = queue.first(); at; at = at->next) {
      if (at->context != context || at->under_way) continue;
      queue.erase(at);
      out = *at;
      receives_.give(at);
      return true;
    }
  return false;
}

void Matching::keep(Incoming* in) {
  unexpected_[in->tagged].push_back(in);
  abi::MpiSums& sums = costs_.sums();
  sums.most_unexpected =
      std::max<std::uint64_t>(sums.most_unexpected, unexpected_[0].size() + unexpected_[1].size());
  if (in->rendezvous || !in->length) return;
  in->has_early = true;
  in->early.resize(in->length);
}

Incoming* Matching::find_unexpected(Port& port, const Receive& wanted, bool take_out) {
  std::uint64_t compared = 0;
  Incoming* found = nullptr;
  for (Incoming* at = unexpected_[wanted.tagged].first(); at && !found; at = at->next) {
    ++compared;
    if (fits(wanted, *at)) found = at;
  }
  if (found && take_out) unexpected_[wanted.tagged].erase(found);
  costs_.compared(port, compared, Protocol::Small);
  return found;
}

void Matching::attach(Incoming& in, Receive* receive, std::size_t least_room) {
  in.receive = receive;
  if (!receive->multi) {
    in.target = receive->buffer;
    return;
  }
  // Messages follow each other in the one buffer.
  iovec whole = receive->buffer.part[0];
  std::size_t room = std::min(in.length, whole.iov_len - receive->used);
  in.target = Buffer(static_cast<char*>(whole.iov_base) + receive->used, room);
  receive->used += room;
  ++receive->under_way;
  if (whole.iov_len - receive->used < std::max<std::size_t>(1, least_room)) {
    receive->retired = true;
    posted_[receive->tagged].erase(receive);
  }
}

bool Matching::detach(Incoming& in) {
  Receive& receive = *in.receive;
  if (!receive.multi) return false;
  --receive.under_way;
  return receive.retired && !receive.under_way;
}

void Matching::end(Incoming* in, bool last) {
  if (!in->receive->multi || last) receives_.give(in->receive);
  incomings_.give(in);
}

}  // namespace weft::mpi
