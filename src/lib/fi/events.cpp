// Event queues. Nothing of the provider's happens later, so there are the events that a program puts there
// itself.
#include <stdio.h>

#include <algorithm>
#include <deque>

#include "lib/fi/objects.hpp"
#include "lib/turns.hpp"

namespace weft::fi {

namespace {

struct UserEvent {
  std::uint32_t what;
  std::vector<char> data;
};

struct Eq {
  fid_eq fid;
  bool may_write;
  std::deque<UserEvent> events;
};

int close_eq(fid* f) {
  delete reinterpret_cast<Eq*>(f);
  return 0;
}
ssize_t take_event(Eq& eq, std::uint32_t* event, void* out, std::size_t length, std::uint64_t flags) {
  if (eq.events.empty()) return -FI_EAGAIN;
  const UserEvent& first = eq.events.front();
  if (length < first.data.size()) return -FI_ETOOSMALL;
  auto bytes = static_cast<ssize_t>(first.data.size());
  *event = first.what;
  std::copy(first.data.begin(), first.data.end(), static_cast<char*>(out));
  if (!(flags & FI_PEEK)) eq.events.pop_front();
  return bytes;
}

ssize_t read_eq(fid_eq* f, std::uint32_t* event, void* out, std::size_t length, std::uint64_t flags) {
  ssize_t taken = take_event(*reinterpret_cast<Eq*>(f), event, out, length, flags);
  // Who looks again and again waits.
  abi::Thread* l = taken == -FI_EAGAIN ? this_thread() : nullptr;
  if (l && !lib::outside()) lib::look_again(*l, wait_port(), abi::kNoRank);
  return taken;
}
ssize_t read_eq_error(fid_eq*, fi_eq_err_entry*, std::uint64_t) { return -FI_EAGAIN; }

ssize_t write_eq(fid_eq* f, std::uint32_t event, const void* data, std::size_t length, std::uint64_t) {
  auto& eq = *reinterpret_cast<Eq*>(f);
  if (!eq.may_write)
    return refuse(FI_EINVAL, FI_LOG_EQ, "an event queue to write to is opened with FI_WRITE\n");
  auto* from = static_cast<const char*>(data);
  eq.events.push_back({event, std::vector<char>(from, from + length)});
  return static_cast<ssize_t>(length);
}

ssize_t wait_eq(fid_eq* f, std::uint32_t* event, void* out, std::size_t length, int timeout,
                std::uint64_t flags) {
  auto& eq = *reinterpret_cast<Eq*>(f);
  abi::Thread* l = this_thread();
  if (!l) return -FI_EAGAIN;
  lib::enter(*l);
  std::int64_t deadline = deadline_after(*l, timeout);
  ssize_t taken;
  // Only another thread can put something there.
  while ((taken = take_event(eq, event, out, length, flags)) == -FI_EAGAIN && lib::now(*l) < deadline)
    lib::wait_or_be_called(*l, abi::kNoPort, deadline, abi::kNoRank);
  lib::leave();
  return taken;
}
const char* eq_error_text(fid_eq*, int error, const void*, char* text, std::size_t length) {
  const char* words = fi_strerror(error);
  if (text && length) snprintf(text, length, "%s", words);
  return words;
}

fi_ops eq_object = {sizeof(fi_ops), close_eq, refused, refused, refused, refused, refused};
fi_ops_eq eq_calls = {sizeof(fi_ops_eq), read_eq, read_eq_error, write_eq, wait_eq, eq_error_text};

}  // namespace

int open_eq(fid_fabric*, fi_eq_attr* attributes, fid_eq** out, void* context) {
  if (attributes && attributes->wait_obj != FI_WAIT_NONE && attributes->wait_obj != FI_WAIT_UNSPEC &&
      attributes->wait_obj != FI_WAIT_YIELD)
    return refuse(FI_ENOSYS, FI_LOG_EQ, "event queues have no wait objects to hand out\n");
  auto* eq = new Eq{};
  eq->fid.fid = {FI_CLASS_EQ, context, &eq_object};
  eq->fid.ops = &eq_calls;
  eq->may_write = attributes && (attributes->flags & FI_WRITE);
  *out = &eq->fid;
  return 0;
}

}  // namespace weft::fi
