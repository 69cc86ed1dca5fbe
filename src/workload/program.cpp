#include "workload/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"

namespace weft::workload {

using Kind = Operation::Kind;

namespace {
constexpr std::uint32_t kMostTags = 0xf000'0000;  // of a program that others are added to
}

Rank Program::rank_of(std::uint64_t operation) const {
  return static_cast<Rank>(std::upper_bound(begin.begin(), begin.end(), operation) - begin.begin() - 1);
}

std::string Program::describe(std::uint64_t operation) const {
  const Operation& o = operations[operation];
  Rank rank = rank_of(operation);
  std::string what;
  switch (o.kind) {
    case Kind::Compute:
      what = fmt::format("compute {}", to_text(Time{static_cast<std::int64_t>(o.amount)}));
      break;
    case Kind::Send:
      what = fmt::format("send {} bytes to rank {}, tag {}", o.amount, o.peer, o.tag);
      break;
    case Kind::Receive:
      what = fmt::format("receive {} bytes from rank {}, tag {}", o.amount, o.peer, o.tag);
      break;
    case Kind::Join:
      what = "wait";
      break;
    case Kind::Delay:
      what = fmt::format("the interface works for {}", to_text(Time{static_cast<std::int64_t>(o.amount)}));
      break;
  }
  std::string line = lines.empty() ? "" : fmt::format(", line {}", lines[operation]);
  return fmt::format("rank {}, step {}{} ({})", rank, operation - begin[rank], line, what);
}

std::uint64_t Program::bytes_sent() const {
  std::uint64_t sum = 0;
  for (const Operation& o : operations) sum += o.kind == Kind::Send ? o.amount : 0;
  return sum;
}

std::uint64_t Program::messages() const {
  return static_cast<std::uint64_t>(
      std::count_if(operations.begin(), operations.end(), [](auto& o) { return o.kind == Kind::Send; }));
}

Program side_by_side(const std::vector<Program>& programs) {
  Program all;
  for (const Program& p : programs) {
    Rank first = all.ranks();
    std::uint64_t operations = all.operations.size(), dependencies = all.dependencies.size();
    for (Operation o : p.operations) {
      if (o.kind == Kind::Send || o.kind == Kind::Receive) o.peer += first;
      all.operations.push_back(o);
    }
    for (Rank r = 0; r < p.ranks(); ++r) all.begin.push_back(operations + p.begin[r + 1]);
    for (std::size_t i = 1; i < p.dependency_begin.size(); ++i)
      all.dependency_begin.push_back(dependencies + p.dependency_begin[i]);
    all.dependencies.insert(all.dependencies.end(), p.dependencies.begin(), p.dependencies.end());
    all.name += (all.name.empty() ? "" : " + ") + p.name;
  }
  return all;
}

void ProgramBuilder::count_step() {
  constexpr std::uint64_t kAskEvery = 1u << 20;
  constexpr double kBytesEach = 120;  // to put together, check and run
  if (++steps_ % kAskEvery) return;
  require_memory(static_cast<double>(steps_) * kBytesEach,
                 fmt::format("a workload of more than {}", count_of(steps_, "step")),
                 "ask for fewer ranks, iterations or partners");
}

Step ProgramBuilder::add(Rank r, Operation operation) {
  WEFT_CHECK(r < ranks() && operation.peer < ranks(), "a skeleton names a rank that does not exist");
  count_step();
  Script& s = scripts_[r];
  auto step = static_cast<Step>(s.operations.size());
  s.operations.push_back(operation);
  if (s.last != Script::kNone) s.dependencies.push_back({s.last});
  s.dependency_begin.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
  return step;
}

void ProgramBuilder::compute(Rank r, Time time) {
  if (time.value > 0)
    scripts_[r].last = add(r, {Kind::Compute, false, 0, 0, static_cast<std::uint64_t>(time.value)});
}

void ProgramBuilder::send(Rank r, Rank to, std::uint64_t bytes, std::uint32_t tag) {
  scripts_[r].pending.push_back(add(r, {Kind::Send, false, to, tag, bytes}));
}

void ProgramBuilder::receive(Rank r, Rank from, std::uint64_t bytes, std::uint32_t tag) {
  scripts_[r].pending.push_back(add(r, {Kind::Receive, false, from, tag, bytes}));
}

void ProgramBuilder::wait(Rank r) {
  Script& s = scripts_[r];
  if (s.pending.empty()) return;
  auto step = static_cast<Step>(s.operations.size());
  s.operations.push_back({});
  if (s.last != Script::kNone) s.dependencies.push_back({s.last});
  for (Step p : s.pending) s.dependencies.push_back({p});
  s.dependency_begin.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
  s.pending.clear();
  s.last = step;
}

void ProgramBuilder::exchange(Rank r, Rank to, Rank from, std::uint64_t bytes, std::uint32_t tag) {
  receive(r, from, bytes, tag);
  send(r, to, bytes, tag);
  wait(r);
}

Step ProgramBuilder::interface_delay(Rank r, const std::vector<Step>& after, Time time) {
  count_step();
  Script& s = scripts_[r];
  auto step = static_cast<Step>(s.operations.size());
  s.operations.push_back({Kind::Delay, true, 0, 0, static_cast<std::uint64_t>(time.value)});
  // A post comes when the processor has come to it; what follows in the interface has its own order.
  if (after.empty() && s.last != Script::kNone) s.dependencies.push_back({s.last});
  for (Step before : after) s.dependencies.push_back({before});
  s.dependency_begin.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
  return step;
}

Step ProgramBuilder::interface_send(Rank r, Step after, Rank to, std::uint64_t bytes, std::uint32_t tag) {
  WEFT_CHECK(to < ranks(), "a skeleton names a rank that does not exist");
  count_step();
  Script& s = scripts_[r];
  auto step = static_cast<Step>(s.operations.size());
  s.operations.push_back({Kind::Send, true, to, tag, bytes});
  s.dependencies.push_back({after});
  s.dependency_begin.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
  return step;
}

/// It waits from the beginning: a sequence is armed before it is used.
Step ProgramBuilder::interface_receive(Rank r, Rank from, std::uint64_t bytes, std::uint32_t tag) {
  WEFT_CHECK(from < ranks(), "a skeleton names a rank that does not exist");
  count_step();
  Script& s = scripts_[r];
  auto step = static_cast<Step>(s.operations.size());
  s.operations.push_back({Kind::Receive, true, from, tag, bytes});
  s.dependency_begin.push_back(static_cast<std::uint32_t>(s.dependencies.size()));
  return step;
}

ProgramBuilder::ProgramBuilder(const Program& p) : scripts_(p.ranks()), steps_(p.operations.size()) {
  std::uint32_t most = 0;
  for (const Operation& o : p.operations) most = std::max(most, o.tag);
  if (most >= kMostTags)
    throw UserError({{{p.source}, "", fmt::format("its messages have tags of {} and more", kMostTags)}});
  next_tag_ = most + 1;
  for (Rank r = 0; r < p.ranks(); ++r) {
    Script& s = scripts_[r];
    auto at = [](const auto& all, std::uint64_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    const std::uint64_t first = p.begin[r], last = p.begin[r + 1], base = p.dependency_begin[first];
    s.operations.assign(at(p.operations, first), at(p.operations, last));
    s.dependencies.assign(at(p.dependencies, base), at(p.dependencies, p.dependency_begin[last]));
    for (std::uint64_t i = first; i < last; ++i)
      s.dependency_begin.push_back(static_cast<std::uint32_t>(p.dependency_begin[i + 1] - base));
  }
}

Program ProgramBuilder::finish(std::string name) && {
  Program p;
  p.name = std::move(name);
  for (Script& s : scripts_) {
    p.operations.insert(p.operations.end(), s.operations.begin(), s.operations.end());
    std::stable_sort(s.late.begin(), s.late.end(), [](auto& a, auto& b) { return a.step < b.step; });
    auto late = s.late.begin();
    for (Step i = 0; i < s.operations.size(); ++i) {
      p.dependencies.insert(p.dependencies.end(), s.dependencies.begin() + s.dependency_begin[i],
                            s.dependencies.begin() + s.dependency_begin[i + 1]);
      for (; late != s.late.end() && late->step == i; ++late) p.dependencies.push_back(late->on);
      p.dependency_begin.push_back(p.dependencies.size());
    }
    p.begin.push_back(p.operations.size());
    s = {};
  }
  return p;
}

}  // namespace weft::workload
