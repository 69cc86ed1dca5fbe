#include "report/trace.hpp"

#include <fmt/format.h>

#include "measure/run/run_stats.hpp"

namespace weft::report {

namespace {

constexpr std::uint64_t kMostEvents = 4'000'000;

/// Microseconds, as the format wants them, exact to the picosecond.
std::string us(Time t) { return fmt::format("{}.{:06}", t.value / 1'000'000, t.value % 1'000'000); }

}  // namespace

Trace::Trace(const std::string& path) : file_(path) {
  file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  file_.write("{\"ph\":\"M\",\"name\":\"trace\",\"pid\":0,\"args\":{\"by\":\"weft\"}}");
}

void Trace::finish() {
  file_.write("\n]}\n");
  file_.close();
}

void Trace::put(const std::string& event) {
  file_.write(",\n");
  file_.write(event);
  ++events_;
}

void Trace::rank(std::uint32_t rank, std::uint32_t node) {
  put(fmt::format(
      "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"rank {} on node {}\"}}}}",
      rank, rank, node));
}

void Trace::node(std::uint32_t number, const std::string& name) {
  put(fmt::format("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":\"{}\"}}}}",
                  number, name));
}

void Trace::frame(std::uint32_t number, bool sent, Time at, const std::string& what) {
  if (events_ > kMostEvents) {
    ++left_out_;
    return;
  }
  put(fmt::format(
      "{{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"frame\",\"pid\":{},\"tid\":{},\"ts\":{},\"name\":\"{}\"}}",
      number, sent ? 1 : 2, us(at), what));
}

void Trace::operation(const nic::Record& r, std::uint32_t from, std::uint32_t to) {
  if (events_ > kMostEvents) {
    ++left_out_;
    return;
  }
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
}

void Trace::wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, const char* what) {
  if (events_ > kMostEvents || until <= from) return;
  put(fmt::format(
      "{{\"ph\":\"X\",\"cat\":\"rank\",\"pid\":{},\"tid\":{},\"ts\":{},\"dur\":{},\"name\":\"{}\"}}", rank,
      lane + 1, us(from), us(until - from), what));
}

}  // namespace weft::report
