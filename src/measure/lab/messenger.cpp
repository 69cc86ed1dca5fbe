#include "measure/lab/messenger.hpp"

#include <algorithm>

#include "base/virtual_time.hpp"

namespace weft::measure::lab {

using nic::EventKind;
using nic::Operation;

namespace {

// A tag says what a packet is and how long the whole message.
constexpr std::uint32_t kLength = 0x0fff'ffff, kEagerTag = 0x1000'0000, kRequestTag = 0x2000'0000;

// What goes before the data of a message that is sent at once, and what asks for others to be fetched: as
// many bytes as in front of the messages of MPI programs.
constexpr std::uint64_t kHeadBytes = 16, kRequestBytes = 28;

}  // namespace

Time Messenger::copy_time(std::uint64_t bytes) const {
  __int128 time = static_cast<__int128>(bytes) * 8 * 1'000'000'000'000 / s_.copy_rate.value;
  return time > kEndOfTime.value ? kPastTheEnd : Time{static_cast<std::int64_t>(time)};
}

/// Where registrations are remembered, that of a buffer used again costs nothing.
void Messenger::register_memory(std::uint64_t bytes) {
  if (p_.lab().fabric().parameters().registration_cache == 0)
    p_.compute(p_.lab().fabric().registration_cost(0, bytes));
}

Task Messenger::send(Process& to, std::uint64_t bytes) {
  p_.compute(s_.send_cost);
  if (bytes <= static_cast<std::uint64_t>(s_.eager_limit.value)) {
    co_await send_eagerly(to, bytes);
  } else {
    register_memory(bytes);
    std::uint64_t limit = static_cast<std::uint64_t>(p_.lab().fabric().parameters().message_limit.value);
    nic::Descriptor request = p_.to(to, Operation::Message, std::min(limit, kRequestBytes));
    request.tag = kRequestTag | static_cast<std::uint32_t>(bytes & kLength);
    ++requests_open_;
    co_await p_.post(request);
  }
  auto kib = static_cast<std::int64_t>(bytes);
  p_.compute(s_.send_delay + Time{s_.send_delay_per_kib.value * kib / 1024});
}

Task Messenger::send_eagerly(Process& to, std::uint64_t bytes) {
  const machine::NicParameters& nic = p_.lab().fabric().parameters();
  std::uint64_t left = bytes + kHeadBytes;
  std::uint32_t tag = kEagerTag | static_cast<std::uint32_t>(bytes & kLength);
  if (s_.eager != machine::Eager::Messages) {
    bool immediate = left <= static_cast<std::uint64_t>(nic.immediate_limit.value);
    if (!immediate) p_.compute(copy_time(bytes));
    nic::Descriptor put =
        p_.to(to, immediate ? Operation::ImmediatePut : Operation::Put, left, nic::kNotifyRemote);
    put.tag = tag;
    co_await p_.post(put);
    co_return;
  }
  auto limit = static_cast<std::uint64_t>(nic.message_limit.value);
  do {
    std::uint64_t part = std::min(left, limit);
    left -= part;
    nic::Descriptor message = p_.to(to, Operation::Message, part, left ? nic::kMore : 0);
    message.tag = tag;
    co_await p_.post(message);
  } while (left > 0);
}

Task Messenger::sent() {
  while (requests_open_ > 0) co_await progress();
}

Task Messenger::receive(unsigned messages) {
  while (complete_ < messages) co_await progress();
  complete_ -= messages;
}

Task Messenger::test(bool& received) {
  p_.compute(s_.test_cost);
  co_await p_.in_step();
  received = false;
  if (complete_ == 0 && p_.waiting()) co_await progress();
  if (complete_ == 0) co_return;
  --complete_;
  received = true;
}

/// Takes the next thing that arrives and does what the library does with it.
Task Messenger::progress() {
  co_await p_.next();
  if (p_.item.is_message) {
    const nic::Message& m = p_.item.message;
    std::uint64_t bytes = m.tag & kLength;
    if (m.tag & kRequestTag) {
      p_.compute(s_.receive_cost);
      register_memory(bytes);
      Fetch fetch;
      fetch.get = p_.answer(m, Operation::Get);
      fetch.get.context = ++fetches_begun_;
      fetch.length = bytes;
      fetches_.push_back(fetch);
      co_await pump();
      co_return;
    }
    std::uint64_t& here = parts_[{m.node, m.port}];
    here += m.length;
    if (m.flags & nic::kMore) co_return;
    here = 0;
    complete(bytes, true);
    co_return;
  }
  const nic::Event& e = p_.item.event;
  if (e.kind == EventKind::Arrived) complete(e.tag & kLength, true);
  if (e.kind == EventKind::Responded) --requests_open_;
  if (e.kind == EventKind::Done) {
    --gets_open_;
    auto fetch = std::find_if(fetches_.begin(), fetches_.end(),
                              [&](const Fetch& f) { return f.get.context == e.context; });
    fetch->arrived += e.length;
    if (fetch->arrived == fetch->length) {
      complete(fetch->length, false);
      fetches_.erase(fetch);
    }
    co_await pump();
  }
}

/// Asks for as much as may be under way, the oldest message first.
Task Messenger::pump() {
  for (std::size_t i = 0; i < fetches_.size() && gets_open_ < s_.gets;) {
    Fetch& fetch = fetches_[i];
    if (fetch.asked == fetch.length) {
      ++i;
      continue;
    }
    std::uint64_t piece = std::min(static_cast<std::uint64_t>(s_.get_size.value), fetch.length - fetch.asked);
    nic::Descriptor get = fetch.get;
    get.length = piece;
    get.local_offset = get.remote_offset = fetch.asked;
    fetch.asked += piece;
    get.flags = nic::kNotifyDone | (fetch.asked == fetch.length ? nic::kNotifyRemote : 0);
    ++gets_open_;
    co_await p_.post(get);
  }
}

void Messenger::complete(std::uint64_t bytes, bool copied) {
  if (copied) p_.compute(s_.receive_cost + copy_time(bytes));
  ++complete_;
  last_length_ = bytes;
}

}  // namespace weft::measure::lab
