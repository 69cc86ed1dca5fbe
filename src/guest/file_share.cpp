#include "guest/file_share.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/virtual_time.hpp"

namespace weft::guest {

namespace {

constexpr std::uint64_t kVersion1 = std::uint64_t{1} << 32, kHasTag = 1;
constexpr std::uint32_t kNone = ~0u;
/// More who wait for locks ask again by themselves: the ring must not fill with them.
constexpr std::size_t kMostWaiting = 64;

/// The device's configuration: the length of its tag, and the tag.
std::vector<std::uint8_t> configuration(std::string_view tag) {
  std::vector<std::uint8_t> out{static_cast<std::uint8_t>(tag.size()), 0};
  out.insert(out.end(), tag.begin(), tag.end());
  return out;
}

}  // namespace

FileShare::FileShare(host::StorageCalls& files, std::uint32_t user, event::EventQueue& queue,
                     const machine::HostParameters& host, std::int64_t date)
    : files_(files),
      user_(user),
      queue_(queue),
      component_(queue.join(*this)),
      system_call_(host.system_call),
      interrupt_(host.interrupt),
      session_(user, date - files.epoch()),
      vhost_(kVersion1 | kHasTag, 1) {
  std::fill(std::begin(in_place_), std::end(in_place_), kNone);
  vhost_.set_config(configuration(kTag));
  vhost_.on_kick = [this](unsigned) { kicked(); };
  session_.on_reset = [this] { files_.user_ended(user_); };
}

// --- The guest's ring.

/// The guest stands still until its kick is answered: what it offers is taken now.
void FileShare::kicked() {
  while (!stopped_ && vhost_.queue(0).pop(vhost_.memory(), chain_))
    if (!take(chain_)) return;
}

bool FileShare::take(const Chain& chain) {
  if (works_.used() == Virtqueue::kMostEntries || chain.readable_bytes() > FileSession::kMostMessage) {
    vhost_.queue(0).fail(works_.used() == Virtqueue::kMostEntries
                             ? std::string("more messages are under way than it has room for")
                             : fmt::format("a message of {} bytes", chain.readable_bytes()));
    return false;
  }
  const std::uint32_t index = works_.take();
  Work& work = works_[index];
  work.kicked = guest_time();
  work.head = chain.head;
  work.generation_of_ring = vhost_.generation();
  work.writable = chain.writable;
  work.request = {};
  work.request.tag = ninep::kNoTag;
  work.in.clear();
  for (const Chain::Piece& piece : chain.readable)
    work.in.insert(work.in.end(), piece.bytes, piece.bytes + piece.length);
  kicks_.push_back(index);
  under_way_.push_back(index);
  return true;
}

void FileShare::take_kicks() {
  kicked();
  for (std::uint32_t index : kicks_)
    queue_.at(std::max(queue_.now(), works_[index].kicked), component_, kBegin, index);
  kicks_.clear();
}

void FileShare::handle(const event::Event& event) {
  const auto index = static_cast<std::uint32_t>(event.data);
  if (event.kind == kBegin) return begin(index);
  if (event.kind == kAnswer) return answer(index);
  tries_ = false;
  for (std::uint32_t each : std::exchange(waiting_, {})) place_call(each, queue_.now());
}

// --- A message and its calls.

void FileShare::begin(std::uint32_t index) {
  Work& work = works_[index];
  ++counters_.messages;
  work.flushes.clear();
  const FileSession::Next next = session_.begin(work, work.call);
  if (work.request.kind == ninep::Kind::Flush && next == FileSession::Next::Answer) return flush(index);
  go_on(index, next, later(queue_.now(), system_call_));
}

/// A message that the guest does not wait for any more: who says so is answered after it.
void FileShare::flush(std::uint32_t index) {
  const std::uint16_t tag = works_[index].request.old_tag;
  const auto old = std::find_if(under_way_.begin(), under_way_.end(), [&](std::uint32_t each) {
    return each != index && works_[each].request.tag == tag &&
           works_[each].request.kind != ninep::Kind::Flush;
  });
  const Time at = later(queue_.now(), system_call_);
  if (old == under_way_.end()) return answer_at(index, at);
  works_[*old].flushes.push_back(index);
  const std::uint32_t flushed = *old;
  if (std::erase(waiting_, flushed)) {
    FileSession::fail(works_[flushed], -EINTR);
    answer_at(flushed, at);
  }
}

void FileShare::go_on(std::uint32_t index, FileSession::Next next, Time at) {
  switch (next) {
    case FileSession::Next::Answer:
      return answer_at(index, at);
    case FileSession::Next::Ask:
      if (!stopped_) return place_call(index, at);
      FileSession::fail(works_[index], -EINTR);
      return answer_at(index, at);
    case FileSession::Next::Wait:
      if (waiting_.size() < kMostWaiting) return waiting_.push_back(index);
      FileSession::refuse_lock(works_[index]);
      return answer_at(index, at);
  }
}

void FileShare::place_call(std::uint32_t index, Time at) {
  const auto free = std::find(std::begin(in_place_), std::end(in_place_), kNone);
  if (free == std::end(in_place_)) return queued_.emplace_back(index, at), void();
  *free = index;
  const auto place = static_cast<std::uint32_t>(free - std::begin(in_place_));
  files_.ask({user_, place}, at, std::move(works_[index].call));
}

void FileShare::answered(std::uint32_t place, std::int32_t result, std::uint64_t answer, Time at) {
  const std::uint32_t index = std::exchange(in_place_[place], kNone);
  Work& work = works_[index];
  go_on(index, session_.go_on(work, result, answer, work.call), at);
  if (queued_.empty()) return;
  const auto [next, since] = queued_.front();
  queued_.pop_front();
  place_call(next, std::max(since, at));
}

void FileShare::lock_free() {
  if (waiting_.empty() || std::exchange(tries_, true)) return;
  queue_.at(queue_.now(), component_, kTryLocks, 0);
}

// --- Its answer.

void FileShare::answer_at(std::uint32_t index, Time at) {
  Work& work = works_[index];
  queue_.at(std::max({queue_.now(), at, later(work.kicked, interrupt_)}), component_, kAnswer, index);
}

void FileShare::answer(std::uint32_t index) {
  Work& work = works_[index];
  const ninep::Request& r = work.request;
  const bool well = work.out.size() > 4 && work.out[4] == static_cast<std::uint8_t>(r.kind) + 1;
  if (well && r.kind == ninep::Kind::Read) counters_.bytes_read += work.out.size() - ninep::kDataHead;
  if (well && r.kind == ninep::Kind::Write) counters_.bytes_written += r.count;
  deliver(work);
  const std::vector<std::uint32_t> flushes = std::exchange(work.flushes, {});
  std::erase(under_way_, index);
  works_.give(index);
  for (std::uint32_t each : flushes) answer_at(each, queue_.now());
  if (stopped_ && works_.used() == 0) files_.user_ended(user_);  // what was being opened when it went
}

/// The guest has its buffers back, with the answer in them.
void FileShare::deliver(Work& work) {
  Virtqueue& ring = vhost_.queue(0);
  if (stopped_ || !ring.ready() || work.generation_of_ring != vhost_.generation()) return;
  if (work.out.size() > Chain::sum(work.writable)) {
    FileSession::fail(work, -EMSGSIZE);
    if (work.out.size() > Chain::sum(work.writable))
      return ring.fail(fmt::format("no room for an answer of {} bytes", work.out.size()));
  }
  std::size_t done = 0;
  for (const Chain::Piece& piece : work.writable) {
    const std::size_t part = std::min<std::size_t>(piece.length, work.out.size() - done);
    std::memcpy(piece.bytes, work.out.data() + done, part);
    done += part;
  }
  ring.push(work.head, static_cast<std::uint32_t>(done));
  if (ring.wants_interrupt()) interrupt_guest();
}

void FileShare::stop() {
  if (std::exchange(stopped_, true)) return;
  vhost_.disconnect();
  for (std::uint32_t index : std::exchange(waiting_, {})) {
    FileSession::fail(works_[index], -EINTR);
    answer_at(index, queue_.now());
  }
  files_.user_ended(user_);
}

}  // namespace weft::guest
