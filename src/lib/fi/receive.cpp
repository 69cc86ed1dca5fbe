// Matching: receives that wait for messages, and messages that wait for receives.
#include <algorithm>

#include "lib/clocks.hpp"
#include "lib/fi/engine.hpp"
#include "lib/fi/entry.hpp"

namespace weft::fi {

using host::Lane;
using host::Protocol;

namespace {

bool fits(const Receive& r, const Incoming& in) {
  if (r.peer != kAnyPeer && r.peer != in.peer) return false;
  return !r.tagged || ((r.tag ^ in.tag) & ~r.ignore) == 0;
}

}  // namespace

/// The first receive for a message. Out of its queue, unless it is for several.
Receive* Engine::match(Lane& lane, const Incoming& in) {
  std::list<Receive*>& queue = posted_[in.tagged];
  std::uint64_t compared = 0;
  Receive* found = nullptr;
  for (auto at = queue.begin(); at != queue.end() && !found; ++at) {
    ++compared;
    if (!fits(**at, in)) continue;
    found = *at;
    if (!found->multi()) queue.erase(at);
    break;
  }
  sums.compared += compared;
  if (model.matching == 0)
    charge(lane, lib::bounded(static_cast<__int128>(compared) * model.match_cost), in.protocol);
  return found;
}

void Engine::attach(Incoming& in, Receive* receive) {
  in.receive = receive;
  if (!receive->multi()) {
    in.target = receive->buffer;
    return;
  }
  // Messages follow each other in the one buffer.
  iovec whole = receive->buffer.part[0];
  std::size_t room = std::min(in.length, whole.iov_len - receive->used);
  in.target = Buffer(static_cast<char*>(whole.iov_base) + receive->used, room);
  receive->used += room;
  ++receive->under_way;
  if (whole.iov_len - receive->used < std::max<std::size_t>(1, endpoint.least_multi_receive)) {
    receive->retired = true;
    posted_[receive->tagged].remove(receive);
  }
}

/// A message's envelope is here, with its first data.
void Engine::begin(Lane& lane, Incoming* in, const void* data, std::size_t bytes) {
  charge(lane, model.receive_cost, in->protocol);
  if (Receive* receive = match(lane, *in)) {
    ++sums.expected;
    attach(*in, receive);
  } else {
    ++sums.unexpected;
    unexpected_[in->tagged].push_back(in);
    sums.most_unexpected =
        std::max<std::uint64_t>(sums.most_unexpected, unexpected_[0].size() + unexpected_[1].size());
    if (!in->rendezvous && in->length) in->early.reset(new char[in->length]);
  }
  if (in->rendezvous) {
    if (in->receive) pull(lane, in);
    return;
  }
  store(lane, *in, data, bytes);
  if (in->arrived < in->length) {
    peers_[in->peer]->assembling = in;
  } else if (in->receive) {
    complete(lane, in, 0);
  }
}

/// More data of a message that has begun.
void Engine::more(Lane& lane, Peer& peer, Incoming* in, const void* data, std::size_t bytes) {
  store(lane, *in, data, bytes);
  if (in->arrived < in->length) return;
  peer.assembling = nullptr;
  if (in->receive) complete(lane, in, 0);
}

/// Data of a message sent at once: to its receive, or aside until there is one. An interface that matches
/// writes to the right place itself.
void Engine::store(Lane& lane, Incoming& in, const void* data, std::size_t bytes) {
  bytes = std::min(bytes, in.length - in.arrived);
  if (in.early) {
    std::copy_n(static_cast<const char*>(data), bytes, in.early.get() + in.arrived);
  } else if (in.arrived < in.target.length) {
    in.target.write(in.arrived, data, std::min(bytes, in.target.length - in.arrived));
  }
  if (in.early || model.matching == 0) copied(lane, bytes, in.protocol);
  in.arrived += bytes;
}

/// A message is wholly there, or has failed: its receive is done.
void Engine::complete(Lane& lane, Incoming* in, int error) {
  Receive* receive = in->receive;
  std::size_t stored = std::min(in->length, in->target.length);
  std::size_t lost = in->length - stored;
  if (!error && lost && !(receive->flags & FI_DISCARD)) error = FI_ETRUNC;
  std::uint64_t flags = FI_RECV | (in->tagged ? FI_TAGGED : FI_MSG) | (in->has_data ? FI_REMOTE_CQ_DATA : 0);
  bool last = false;
  if (receive->multi()) {
    --receive->under_way;
    last = receive->retired && !receive->under_way;
    if (last) flags |= FI_MULTI_RECV;
  }
  if (endpoint.receive_cq && ((receive->flags & FI_COMPLETION) || error || last)) {
    void* buffer = in->target.parts ? in->target.part[0].iov_base : nullptr;
    entry(lane, endpoint.receive_cq,
          {receive->context, flags, error == FI_ETRUNC ? stored : in->length, buffer, in->data, in->tag,
           peers_[in->peer]->handle, error, lost, 0});
  }
  if (endpoint.receive_counter)
    ++(error ? endpoint.receive_counter->errors : endpoint.receive_counter->value);
  if (!receive->multi() || last) delete receive;
  delete in;
}

/// A message that waited for its receive has one: its data may come.
void Engine::pull(Lane& lane, Incoming* in) {
  Request& request = new_request(Request::Kind::Receive, in->peer);
  request.incoming = in;
  request.protocol = in->protocol;
  request.buffer = in->target;
  request.length = std::min(in->length, in->target.length);
  bool get = model.rendezvous == 0;
  std::uint64_t key = 0;
  if (request.length && register_buffer(lane, request, get ? 0 : WEFT_REMOTE_WRITE, key) != 0)
    request.error = FI_EIO;
  weft_address from = peers_[in->peer]->address;
  if (request.error || (get && request.length == 0)) return pulled(lane, request);
  if (get) {
    bool notify = model.ack == 1 && request.length == in->length;
    return move(lane, request, nic::Operation::Get, {from, in->key}, 0, key, 0, in->id,
                notify ? nic::kNotifyRemote : 0);
  }
  ClearHead head{in->id, request.id, key, static_cast<std::uint32_t>(request.length), 0};
  ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
  small(lane, in->peer, Kind::Clear, 0, &head, sizeof head);
}

/// The data of such a message is here.
void Engine::pulled(Lane& lane, Request& request) {
  Incoming* in = request.incoming;
  if (request.bounce) {
    request.buffer.write(0, request.bounce.get(), request.length);
    copied(lane, request.length, request.protocol);
  }
  int error = request.error;
  bool told = model.ack == 1 && request.length == in->length && !error;
  if (model.rendezvous == 0 && !told) {
    FinishedHead head{in->id, error ? 1u : 0u};
    ++sums.protocol[static_cast<unsigned>(Protocol::Control)].count;
    small(lane, in->peer, Kind::Finished, 0, &head, sizeof head);
  }
  done(lane, request);
  complete(lane, in, error);
}

Incoming* Engine::find_unexpected(Lane& lane, const Receive& wanted, bool take_out) {
  std::list<Incoming*>& queue = unexpected_[wanted.tagged];
  std::uint64_t compared = 0;
  Incoming* found = nullptr;
  for (auto at = queue.begin(); at != queue.end(); ++at) {
    ++compared;
    if (!fits(wanted, **at)) continue;
    found = *at;
    if (take_out) queue.erase(at);
    break;
  }
  sums.compared += compared;
  if (model.matching == 0)
    charge(lane, lib::bounded(static_cast<__int128>(compared) * model.match_cost), Protocol::Small);
  return found;
}

/// A receive for a message that came before it.
void Engine::take_unexpected(Lane& lane, Incoming* in, const Receive& wanted) {
  auto* receive = new Receive(wanted);
  attach(*in, receive);
  if (in->rendezvous) return pull(lane, in);
  if (in->early) {
    std::size_t bytes = std::min(in->arrived, in->target.length);
    in->target.write(0, in->early.get(), bytes);
    copied(lane, bytes, in->protocol);
    in->early.reset();
  }
  if (in->arrived >= in->length) complete(lane, in, 0);
}

thread_local const void* last_receive = nullptr;

ssize_t Engine::receive(Lane& lane, const Receive& wanted) {
  lib::found_something();
  last_receive = wanted.context;
  if (wanted.multi()) {
    if (wanted.buffer.parts != 1) return -FI_EINVAL;
    auto* receive = new Receive(wanted);
    posted_[wanted.tagged].push_back(receive);
    while (!receive->retired) {
      Incoming* in = find_unexpected(lane, wanted, true);
      if (!in) return 0;
      attach(*in, receive);
      if (in->rendezvous) {
        pull(lane, in);
        continue;
      }
      if (in->early) {
        in->target.write(0, in->early.get(), std::min(in->arrived, in->target.length));
        copied(lane, in->arrived, in->protocol);
        in->early.reset();
      }
      if (in->arrived >= in->length) {
        bool last = receive->retired && receive->under_way == 1;
        complete(lane, in, 0);
        if (last) return 0;
      }
    }
    return 0;
  }
  if (Incoming* in = find_unexpected(lane, wanted, true)) {
    take_unexpected(lane, in, wanted);
  } else {
    posted_[wanted.tagged].push_back(new Receive(wanted));
  }
  return 0;
}

/// Is there a message for this? A look that finds none counts as one at an empty queue, or loops of them
/// would stand still in time.
ssize_t Engine::peek(Lane& lane, Receive wanted) {
  if (!endpoint.receive_cq) return refuse(FI_ENOCQ, FI_LOG_EP_DATA, "a look is answered in a queue\n");
  Incoming* in = nullptr;
  for (int turn = 0; turn < 2 && !in; ++turn) {
    if (turn && (lib::outside() || !lib::look_again(lane, wait_port(), host::kNoRank))) break;
    progress_others(*endpoint.domain, lane);
    Entry entered(*endpoint.domain, lane);
    progress_all(*endpoint.domain, lane);
    in = find_unexpected(lane, wanted, wanted.flags & FI_CLAIM);
    if (!in) continue;
    lib::found_something();
    if (wanted.flags & FI_CLAIM) claimed_[wanted.context] = in;
    if (wanted.flags & FI_DISCARD) {
      if (!(wanted.flags & FI_CLAIM)) in = find_unexpected(lane, wanted, true);
      claimed_.erase(wanted.context);
    }
    std::uint64_t flags =
        FI_RECV | (in->tagged ? FI_TAGGED : FI_MSG) | (in->has_data ? FI_REMOTE_CQ_DATA : 0);
    entry(lane, endpoint.receive_cq,
          {wanted.context, flags, in->length, nullptr, in->data, in->tag, peers_[in->peer]->handle, 0, 0, 0});
    if (wanted.flags & FI_DISCARD) {  // this look is its one completion
      wanted.buffer = Buffer();
      wanted.flags = FI_DISCARD;
      take_unexpected(lane, in, wanted);
    }
  }
  if (in) return 0;
  Entry entered(*endpoint.domain, lane);
  entry(lane, endpoint.receive_cq,
        {wanted.context, FI_RECV | (wanted.tagged ? FI_TAGGED : FI_MSG), 0, nullptr, 0, wanted.tag,
         FI_ADDR_NOTAVAIL, FI_ENOMSG, 0, 0});
  return 0;
}

ssize_t Engine::claim(Lane& lane, Receive wanted) {
  auto found = claimed_.find(wanted.context);
  if (found == claimed_.end()) return -FI_EINVAL;
  Incoming* in = found->second;
  claimed_.erase(found);
  lib::found_something();
  if (wanted.flags & FI_DISCARD) wanted.buffer = Buffer();
  take_unexpected(lane, in, wanted);
  return 0;
}

ssize_t Engine::cancel(void* context) {
  for (auto& queue : posted_)
    for (auto at = queue.begin(); at != queue.end(); ++at) {
      Receive* receive = *at;
      if (receive->context != context || receive->under_way) continue;
      queue.erase(at);
      std::uint64_t flags = FI_RECV | (receive->tagged ? FI_TAGGED : FI_MSG);
      if (receive->multi()) flags |= FI_MULTI_RECV;
      if (endpoint.receive_cq)
        endpoint.receive_cq->entries.push_back(
            {context, flags, 0, nullptr, 0, receive->tag, FI_ADDR_NOTAVAIL, FI_ECANCELED, 0, 0});
      if (endpoint.receive_cq) now_ready(*endpoint.receive_cq);
      if (endpoint.receive_counter) ++endpoint.receive_counter->errors;
      delete receive;
      return 0;
    }
  return -FI_ENOENT;
}

}  // namespace weft::fi
