#include "measure/run/trace_recorder.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace weft::measure {

using Kind = workload::Operation::Kind;
using workload::Step;

void TraceRecorder::operation(const nic::Record& r, std::uint32_t from, std::uint32_t to) {
  if (nic::is_triggered(r.operation)) return;  // no rank sends them: a trace has no step for them
  if (r.status != nic::Status::Ok || from >= ranks_ || to >= ranks_) return;
  bool answered = r.operation == nic::Operation::Get || r.operation == nic::Operation::FetchAdd ||
                  r.operation == nic::Operation::CompareSwap || r.operation == nic::Operation::BoundedAdd;
  messages_.push_back({r.begin, r.end, r.length, from, to, 0, answered, 0, r.mark, 0});
}

void TraceRecorder::wait(std::uint32_t rank, std::uint32_t lane, Time from, Time until, abi::Call call) {
  if (lane == 0 && rank < ranks_) waits_[rank].push_back({from, until, !host::waits_for_others(call)});
}

/// The steps of one rank, in the order of its own time.
class TraceRecorder::RankScript {
 public:
  RankScript(workload::Program& program, const std::vector<Message>& messages)
      : program_(program), messages_(messages), first_(program.operations.size()) {}

  /// From now on it is in a collective, one more than whose number is given; 0: in none.
  void enter(Time time, std::uint32_t collective) {
    run_until(time);
    collective_ = collective ? collective : collective_;
    last_ = add({}, after_last());
    collective_ = collective;
  }

  /// The rank is busy up to `time`.
  void run_until(Time time) {
    if (time > now_) {
      last_ =
          add({Kind::Compute, false, 0, 0, static_cast<std::uint64_t>((time - now_).value)}, after_last());
      now_ = time;
    }
  }
  /// Time passes without work.
  void skip_to(Time time) { now_ = std::max(now_, time); }

  void send(std::uint32_t message) {
    const Message& m = messages_[message];
    run_until(m.begin);
    Step step = add({Kind::Send, false, m.to, m.tag, m.answered ? 0 : m.bytes}, after_last(), m.collective);
    under_way_.push_back({m.end, step});
  }

  /// Nobody waits for it yet; what follows `join_arrived` does.
  void receive(std::uint32_t message) {
    const Message& m = messages_[message];
    arrived_.push_back(m.answered ? add({Kind::Receive, false, m.to, m.answer_tag, m.bytes}, {}, 0)
                                  : add({Kind::Receive, false, m.from, m.tag, m.bytes}, {}, m.collective));
  }

  /// The interface answers as soon as it is asked.
  void answer(std::uint32_t message) {
    const Message& m = messages_[message];
    Step asked = add({Kind::Receive, false, m.from, m.tag, 0}, {}, 0);
    add({Kind::Send, false, m.from, m.answer_tag, m.bytes}, {{asked}}, 0);
  }

  void join_arrived(Time until) {
    std::vector<workload::Dependency> on = after_last();
    for (Step step : arrived_) on.push_back({step});
    if (arrived_.empty()) {  // it was not a message that ended the wait: the end of something it had sent,
                             // perhaps
      std::erase_if(under_way_, [&](const UnderWay& u) {
        if (u.end > until) return false;
        on.push_back({u.step});
        return true;
      });
      if (on.size() == (last_ == kNone ? 0u : 1u)) return;
    }
    last_ = add({}, on);
    arrived_.clear();
  }

  /// What a rank did, each in the order of time.
  struct History {
    const std::vector<std::uint32_t>&sent, &heard;  // messages, by when they left and arrived
    const std::vector<Wait>& waits;
    const std::vector<RecordedCollectives::Call>& calls;
    Time end;
  };

  void play(const History& h) {
    std::size_t next_sent = 0, next_heard = 0, next_call = 0;
    auto send_until = [&](Time time) {
      for (; next_sent < h.sent.size() && messages_[h.sent[next_sent]].begin <= time; ++next_sent)
        send(h.sent[next_sent]);
    };
    auto hear_until = [&](Time time) {
      for (; next_heard < h.heard.size() && messages_[h.heard[next_heard]].end <= time; ++next_heard)
        receive(h.heard[next_heard]);
      join_arrived(time);
    };
    // Up to that time it has begun or left collectives.
    auto call_until = [&](Time time) {
      for (; next_call < h.calls.size(); ++next_call) {
        const RecordedCollectives::Call& call = h.calls[next_call];
        if (call.collective == RecordedCollectives::kNone) continue;
        if (collective_ == 0) {
          if (call.begin > time) return;
          send_until(call.begin);
          enter(call.begin, call.collective + 1);
        }
        if (call.end > time) return;
        send_until(call.end);
        enter(call.end, 0);
      }
    };
    for (const Wait& wait : h.waits) {
      call_until(wait.from);
      send_until(wait.from);
      run_until(wait.own_time ? wait.until : wait.from);
      skip_to(wait.until);
      hear_until(wait.until);
    }
    call_until(Time{INT64_MAX});
    send_until(Time{INT64_MAX});
    run_until(h.end);
    hear_until(Time{INT64_MAX});
    program_.begin.push_back(program_.operations.size());
  }

 private:
  static constexpr Step kNone = ~Step{0};
  struct UnderWay {
    Time end;
    Step step;
  };

  std::vector<workload::Dependency> after_last() const {
    return last_ == kNone ? std::vector<workload::Dependency>() : std::vector<workload::Dependency>{{last_}};
  }

  Step add(workload::Operation operation, const std::vector<workload::Dependency>& on) {
    return add(operation, on, collective_);
  }

  Step add(workload::Operation operation, const std::vector<workload::Dependency>& on,
           std::uint32_t collective) {
    program_.operations.push_back(operation);
    program_.collective_of.push_back(collective);
    program_.dependencies.insert(program_.dependencies.end(), on.begin(), on.end());
    program_.dependency_begin.push_back(program_.dependencies.size());
    return static_cast<Step>(program_.operations.size() - 1 - first_);
  }

  workload::Program& program_;
  const std::vector<Message>& messages_;
  std::uint64_t first_;
  Time now_{0};
  Step last_ = kNone;
  std::uint32_t collective_ = 0;
  std::vector<Step> arrived_;
  std::vector<UnderWay> under_way_;
};

/// Messages know which call of their sender they are of. Where one does not arrive within the same collective
/// of its receiver, or leads to others that bear no number, the collective cannot be taken out.
void TraceRecorder::find_collectives(std::vector<Message>& messages, RecordedCollectives& collectives) const {
  for (Message& m : messages) {
    const std::uint64_t number = m.mark & ~abi::kOthersFollow;
    const auto& calls = collectives.calls(m.from);
    if (number == 0 || number > calls.size()) continue;
    const RecordedCollectives::Call& call = calls[number - 1];
    if (call.collective == RecordedCollectives::kNone) continue;
    const RecordedCollectives::Call* at_receiver = collectives.call_of(call.collective, m.to);
    const bool fits = m.begin >= call.begin && at_receiver && m.end <= at_receiver->end;
    if (!fits || m.answered || (m.mark & abi::kOthersFollow)) {
      collectives.is_not_whole(call.collective);
      continue;
    }
    m.collective = call.collective + 1;
  }
}

workload::Program TraceRecorder::finish(const std::string& name, const std::vector<Time>& ends,
                                        RecordedCollectives& collectives) const {
  std::vector<Message> messages = messages_;
  find_collectives(messages, collectives);
  std::vector<std::vector<std::uint32_t>> sent(ranks_), heard(ranks_), asked(ranks_);
  std::unordered_map<std::uint64_t, std::uint32_t> tags;  // by pair: a tag of its own for each message
  auto next_tag = [&](std::uint64_t from, std::uint64_t to) { return tags[from * ranks_ + to]++; };
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    Message& m = messages[i];
    m.tag = next_tag(m.from, m.to);
    if (m.answered) m.answer_tag = next_tag(m.to, m.from);
    sent[m.from].push_back(i);
    heard[m.answered ? m.from : m.to].push_back(i);
    if (m.answered) asked[m.to].push_back(i);
  }

  workload::Program program;
  program.name = name;
  for (unsigned rank = 0; rank < ranks_; ++rank) {
    auto by = [&](auto time) {
      return [&messages, time](std::uint32_t a, std::uint32_t b) {
        return messages[a].*time < messages[b].*time;
      };
    };
    std::stable_sort(sent[rank].begin(), sent[rank].end(), by(&Message::begin));
    std::stable_sort(heard[rank].begin(), heard[rank].end(), by(&Message::end));
    RankScript script(program, messages);
    for (std::uint32_t message : asked[rank]) script.answer(message);
    script.play({sent[rank], heard[rank], waits_[rank], collectives.calls(rank),
                 rank < ends.size() ? ends[rank] : Time{0}});
  }
  program.groups = collectives.groups();
  program.collectives = collectives.all();
  if (program.collectives.empty()) program.collective_of.clear();
  return program;
}

}  // namespace weft::measure
