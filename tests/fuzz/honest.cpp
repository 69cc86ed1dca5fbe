#include "honest.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::fuzz {

using abi::Call;
using nic::Descriptor;
using nic::Operation;

constexpr std::int64_t kExchange = 200'000'000;  // picoseconds; the spoiler begins before that
constexpr unsigned kPutBytes = 512;

void broken(const char* what) {
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

Honest::Honest(unsigned number, Known& known, const Known& peer)
    : number_(number), known_(known), peer_(peer) {
  std::fill(memory.begin(), memory.end(), kUntouched);
  for (unsigned i = 0; i < kRegion; ++i) memory[kOutbox + i] = pattern(number_, i);
  std::copy_n(secret, sizeof secret, memory.begin() + kSecret);
  before_ = memory;
}

void Honest::ask_to_register(std::uint64_t offset, std::uint32_t rights) {
  thread().argument[0] = kBase + offset;
  thread().argument[1] = kRegion;
  thread().argument[2] = rights;
  thread().argument[3] = 0;
  block(Call::Register, 0, abi::kNoDeadline);
}

void Honest::run() {
  if (stage_ > Stage::Open && stage_ < Stage::Exchange && thread().result != 0) broken("a call was refused");
  switch (stage_) {
    case Stage::Start:
      stage_ = Stage::Open;
      thread().argument[0] = thread().argument[1] = 0;
      return block(Call::Open, abi::kNoPort, abi::kNoDeadline);
    case Stage::Open:
      if (thread().result != 0 || thread().answer[0] != 0) broken("a port was refused");
      known_.node = static_cast<std::uint32_t>(thread().answer[1]);
      known_.port = static_cast<std::uint32_t>(thread().answer[2]);
      stage_ = Stage::Given;
      return ask_to_register(kGiven, nic::kAllRights);
    case Stage::Given:
      known_.given = thread().answer[0];
      stage_ = Stage::Inbox;
      return ask_to_register(kInbox, nic::kRemoteWrite);
    case Stage::Inbox:
      known_.inbox = thread().answer[0];
      stage_ = Stage::Outbox;
      return ask_to_register(kOutbox, 0);
    case Stage::Outbox:
      known_.kept = thread().answer[0];
      stage_ = Stage::LookUp;
      thread().argument[0] = 1 - number_;
      thread().argument[1] = 0;
      return block(Call::LookUp, 0, abi::kNoDeadline);
    case Stage::LookUp:
      if (thread().answer[0] != peer_.node || thread().answer[1] != peer_.port)
        broken("the peer is elsewhere");
      stage_ = Stage::Exchange;
      return block(Call::Sleep, abi::kNoPort, kExchange);
    case Stage::Exchange:
      take_all();
      send_round();
      if (messages_ < kRounds || puts_ < kRounds || answered_ < kRounds)
        return block(Call::Wait, 0, abi::kNoDeadline);
      stage_ = Stage::Leave;
      return block(Call::Leave, abi::kAnyPort, abi::kNoDeadline);
    case Stage::Leave:
      stage_ = Stage::Done;
      return exit({});
    case Stage::Done:
      return;
  }
}

void Honest::post(const Descriptor& descriptor) {
  Descriptor d = descriptor;
  d.node = peer_.node;
  d.port = peer_.port;
  d.posted = thread().clock.load();
  abi::submissions_of(&port(0))[posted_ % layout().limits.queue_slots] = d;
  port(0).posted.store(++posted_);
}

/// A message with the key, then a put by the key that came the other way; a round follows the peer's.
void Honest::send_round() {
  auto room = [&] { return posted_ - port(0).accepted.load() < layout().limits.queue_slots; };
  if (sent_ < kRounds && sent_ <= messages_ && room()) {
    Note note{number_, sent_++, known_.inbox};
    Descriptor d;
    d.operation = Operation::Message;
    d.length = sizeof note;
    std::memcpy(d.data, &note, sizeof note);
    post(d);
  }
  static_assert(kRounds * kPutBytes <= kRegion);
  for (; posted_ - sent_ < messages_ && room();) {
    unsigned round = posted_ - sent_;
    Descriptor d;
    d.operation = Operation::Put;
    d.flags = nic::kNotifyRemote | nic::kNotifyDone;
    d.length = kPutBytes;
    d.local_key = known_.kept;
    d.remote_key = peer_inbox_;
    d.local_offset = d.remote_offset = round * kPutBytes;
    post(d);
  }
}

void Honest::take_all() {
  for (; messages_taken_ != port(0).messages.load(); port(0).messages_taken.store(++messages_taken_)) {
    const nic::Message& m =
        abi::messages_of(&port(0), layout())[messages_taken_ % layout().limits.message_slots];
    if (m.node != peer_.node || m.port != peer_.port) continue;  // the spoiler may write to anyone
    Note note{};
    std::memcpy(&note, m.data, sizeof note);
    if (m.length != sizeof note || note.from != 1 - number_ || note.round != messages_)
      broken("a message that the peer did not send, or out of order");
    peer_inbox_ = note.inbox;
    ++messages_;
  }
  for (; events_taken_ != port(0).events.load(); port(0).events_taken.store(++events_taken_)) {
    const nic::Event& e = abi::events_of(&port(0), layout())[events_taken_ % layout().limits.event_slots];
    bool of_peer = e.node == peer_.node && e.port == peer_.port;
    if (e.kind == nic::EventKind::Failed) broken("an operation of an honest rank failed");
    puts_ += of_peer && e.kind == nic::EventKind::Arrived;
    answered_ += of_peer && e.kind == nic::EventKind::Done;
  }
}

void Honest::check() {
  for (unsigned i = 0; i < kRegion; ++i) {
    std::uint8_t& byte = memory[kInbox + i];
    if (byte != pattern(1 - number_, i) && (done() || byte != kUntouched))
      broken("somebody wrote into an inbox");
    byte = kUntouched;
  }
  std::fill_n(memory.begin() + kGiven, kRegion, kUntouched);
  if (memory != before_) broken("memory of an honest rank was written");
}

}  // namespace weft::fuzz
