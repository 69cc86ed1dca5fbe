#include "host/call_log.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace weft::host {

namespace {

constexpr std::uint64_t kMostRecords = 1u << 20, kMostBytes = std::uint64_t{2} << 30;

CallLog* log_at(const SharedMemory& memory) { return static_cast<CallLog*>(memory.at()); }

}  // namespace

std::string time_text(double picoseconds) {
  struct Unit {
    double size;
    const char* name;
  };
  for (Unit unit : {Unit{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}})
    if (picoseconds >= unit.size) return fmt::format("{:.6g} {}", picoseconds / unit.size, unit.name);
  return fmt::format("{:.6g} ns", picoseconds / 1e3);
}

std::string time_text(Time time) { return time_text(static_cast<double>(time.value)); }

std::string doing_text(const Doing& doing) {
  if (doing.call() == 0) return "";
  const CallFacts& facts = call_facts(doing.call());
  if (!doing.inside()) return fmt::format("has returned from {}", facts.name);
  std::string about;
  auto add = [&](const std::string& text) { about += (about.empty() ? "" : ", ") + text; };
  if (facts.kind == CallKind::Collective) {
    if (doing.peer >= 0) add(fmt::format("root {}", doing.peer));
  } else if (doing.peer == kAnyPeer) {
    add("any rank");
  } else if (doing.peer >= 0) {
    add(fmt::format("rank {}", doing.peer));
  }
  if (facts.tag >= 0) add(doing.tag < 0 ? std::string("any tag") : fmt::format("tag {}", doing.tag));
  std::string since = time_text(Time{doing.since()});
  return fmt::format("is in {}{}{} since {}", facts.name, about.empty() ? "" : " (" + about,
                     about.empty() ? "" : ")", since);
}

Doing doing_of(const Thread& thread) {
  Doing copy;
  const volatile char* from = reinterpret_cast<const volatile char*>(&thread.doing);
  std::copy(from, from + sizeof copy, reinterpret_cast<char*>(&copy));
  if (copy.call() >= static_cast<std::uint16_t>(MpiCall::Count)) copy.packed = 0;
  return copy;
}

CallLogs::CallLogs(unsigned ranks)
    : capacity_(std::min(kMostRecords, kMostBytes / sizeof(CallRecord) / std::max(1u, ranks))) {
  for (unsigned rank = 0; rank < ranks; ++rank) {
    memory_.emplace_back(fmt::format("weft-calls-{}", rank), log_bytes(capacity_));
    new (memory_.back().at()) CallLog{capacity_, 0};
  }
}

std::vector<CallRecord> CallLogs::read(unsigned rank) const {
  CallLog* log = log_at(memory_[rank]);
  std::uint64_t count = std::min(log->count.load(std::memory_order_acquire), capacity_);
  std::vector<CallRecord> out;
  out.reserve(count);
  // A long log is not kept twice: what has been read is given back piece by piece, all but its first page,
  // which says how long it was. What is checked is the copy, since the process may still write.
  constexpr std::size_t kPage = 4096, kPiece = std::size_t{1} << 20;
  char* const memory = static_cast<char*>(memory_[rank].at());
  std::size_t given_back = kPage;
  for (std::uint64_t i = 0; i < count; ++i) {
    const CallRecord r = records_of(log)[i];
    const bool believed = r.call != 0 && r.call < static_cast<std::uint16_t>(MpiCall::Count) &&
                          r.begin >= 0 && r.end >= r.begin && r.end <= kLastClock && r.thread < kThreads;
    if (believed) out.push_back(r);
    if (const std::size_t read = log_bytes(i + 1) / kPage * kPage; read >= given_back + kPiece) {
      madvise(memory + given_back, read - given_back, MADV_REMOVE);
      given_back = read;
    }
  }
  return out;
}

std::uint64_t CallLogs::left_out(unsigned rank) const {
  std::uint64_t count = log_at(memory_[rank])->count.load(std::memory_order_acquire);
  return count > capacity_ ? count - capacity_ : 0;
}

}  // namespace weft::host
