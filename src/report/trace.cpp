#include "report/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "measure/run/run_stats.hpp"

namespace weft::report {

namespace {

constexpr double kForOperations = 2.0 / 3;          // of the file
constexpr std::uint32_t kLinksProcess = 1'000'000;  // beyond all ranks

/// Microseconds, as the format wants them, exact to the picosecond.
std::string us(Time t) { return fmt::format("{}.{:06}", t.value / 1'000'000, t.value % 1'000'000); }

}  // namespace

Trace::Trace(const std::string& path, std::uint64_t most) : file_(path), most_(most) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  file_.write("{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"args\":{\"by\":\"weft\"}}");
  put(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"links\"}}}}",
                  kLinksProcess));
}

void Trace::finish() {
  file_.write("\n]}\n");
  file_.close();
}

void Trace::put(const std::string& event) {
  file_.write(",\n");
  file_.write(event);
  bytes_ += event.size() + 2;
}

bool Trace::has_room(double share) {
  if (static_cast<double>(bytes_) < share * static_cast<double>(most_)) return true;
  ++left_out_;
  return false;
}

void Trace::rank(std::uint32_t rank, std::uint32_t node) {
  put(fmt::format(
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"rank {} on node {}\"}}}}",
      rank, rank, node));
  put(fmt::format(
      "{{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":{},\"args\":{{\"sort_index\":{}}}}}", rank,
      rank));
  put(
      fmt::format("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":1,\"args\":{{\"name\":\"calls "
                  "and waits\"}}}}",
                  rank));
}

void Trace::node(std::uint32_t number, const std::string& name) {
  put(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                  number, name));
}

void Trace::frame(std::uint32_t number, bool sent, Time at, const std::string& what) {
  if (!has_room(kForOperations)) return;
  put(fmt::format(
      "{{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"frame\",\"pid\":{},\"tid\":{},\"ts\":{},\"name\":\"{}\"}}",
      number, sent ? 1 : 2, us(at), what));
}

void Trace::operation(const nic::Record& r, std::uint32_t from, std::uint32_t to) {
  if (!has_room(kForOperations)) return;
  std::uint64_t id = next_++;
  const char* name = measure::operation_name(static_cast<std::size_t>(r.operation));
  auto edge = [&](char which, const char* what, Time at, const std::string& more = "") {
    put(fmt::format(
        "{{\"ph\":\"{}\",\"cat\":\"network\",\"id\":{},\"pid\":{},\"tid\":0,\"ts\":{},\"name\":\"{}\"{}}}",
        which, id, from, us(at), what, more));
  };
  edge('b', name, r.begin,
       fmt::format(",\"args\":{{\"to rank\":{},\"bytes\":{},\"status\":{}}}", static_cast<std::int64_t>(to),
                   r.length, static_cast<unsigned>(r.status)));
  Time at = r.begin;
  for (int i = 0; i < nic::Breakdown::kParts; ++i) {
    if (r.parts.part[i].value == 0) continue;
    edge('b', nic::Breakdown::name(i), at);
    at = at + r.parts.part[i];
    edge('e', nic::Breakdown::name(i), at);
  }
  edge('e', name, r.end);
  if (from == to || r.status != nic::Status::Ok) return;
  // An arrow, from the slice in which it was posted to the one during which it arrives.
  auto arrow = [&](const char* which, std::uint32_t rank, Time when, const char* more) {
    put(fmt::format(
        "{{\"ph\":\"{}\",\"cat\":\"message\",\"id\":{},\"pid\":{},\"tid\":1,\"ts\":{},\"name\":\"{}\"{}}}",
        which, id, rank, us(when), name, more));
  };
  arrow("s", from, r.begin, "");
  arrow("f", to, r.end, ",\"bp\":\"e\"");
}

void Trace::wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, const char* what) {
  if (until <= from || !has_room(kForOperations)) return;
  put(fmt::format(
      "{{\"ph\":\"X\",\"cat\":\"rank\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{}\"}}", rank,
      lane + 1, us(from), us(until - from), what));
}

void Trace::calls(std::uint32_t rank, const std::vector<abi::CallRecord>& calls) {
  std::unordered_map<std::uint64_t, std::uint64_t> turns;  // of communicators: which of its collectives
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const abi::CallRecord& call = calls[i];
    const abi::CallFacts& facts = abi::call_facts(call.call);
    std::int64_t end = call.end;
    std::uint64_t times = 1;
    for (; facts.only_looks && i + 1 < calls.size() && calls[i + 1].call == call.call &&
           calls[i + 1].thread == call.thread;
         ++i) {
      end = calls[i + 1].end;
      ++times;
    }
    const bool collective = facts.kind == abi::CallKind::Collective && call.communicator != 0;
    const std::uint64_t turn = collective ? turns[call.communicator]++ : 0;
    if (!has_room(1)) continue;
    std::string arguments;
    auto add = [&](const char* name, std::int64_t value) {
      arguments += fmt::format("{}\"{}\":{}", arguments.empty() ? "" : ",", name, value);
    };
    if (facts.peer >= 0 && call.peer >= 0) add(collective ? "root" : "peer", call.peer);
    if (facts.peer >= 0 && call.peer == abi::kAnyPeer) arguments += "\"peer\":\"any\"";
    if (facts.tag >= 0) add("tag", call.tag);
    if (facts.count >= 0) add("bytes", static_cast<std::int64_t>(call.bytes));
    if (call.communicator) {
      arguments +=
          fmt::format("{}\"communicator\":\"{:x}\"", arguments.empty() ? "" : ",", call.communicator);
      add("members", call.members);
    }
    if (collective) add("collective", static_cast<std::int64_t>(turn));
    if (times > 1) add("times", static_cast<std::int64_t>(times));
    put(
        fmt::format("{{\"ph\":\"X\",\"cat\":\"mpi\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{}"
                    "\",\"args\":{{{}}}}}",
                    rank, call.thread + 1, us(Time{call.begin}),
                    us(Time{std::max<std::int64_t>(0, end - call.begin)}), facts.name, arguments));
  }
}

void Trace::link(const std::string& name, Time at, double share) {
  if (!has_room(1)) return;
  put(fmt::format("{{\"ph\":\"C\",\"pid\":{},\"ts\":{},\"name\":\"{}\",\"args\":{{\"percent\":{:.2f}}}}}",
                  kLinksProcess, us(at), name, 100 * share));
}

}  // namespace weft::report
