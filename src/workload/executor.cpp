#include "workload/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.hpp"
#include "base/memory_left.hpp"
#include "base/text.hpp"
#include "network/joined_network.hpp"

namespace weft::workload {

using Kind = Operation::Kind;
using network::kForever;
using network::Notice;

namespace {

using Id = std::uint64_t;  // of an operation
constexpr Id kNobody = ~Id{0};
constexpr std::size_t kMostLines = 24;

class Executor final : public event::EventHandler {
 public:
  Executor(const Program& program, const std::vector<network::EndpointId>& endpoint,
           network::Network& network, event::EventQueue& events, const ExecutorOptions& options)
      : p_(program),
        endpoint_(endpoint),
        network_(network),
        events_(events),
        me_(events.join(*this)),
        options_(options) {
    WEFT_CHECK(endpoint.size() == p_.ranks(), "every rank has a place");
    // A rank's processor is busy with a message before it is sent.
    Time reaction = options.send_cost;
    for (const Operation& o : p_.operations)
      if (o.kind == Kind::Delay) reaction = std::min(reaction, Time{static_cast<std::int64_t>(o.amount)});
    network_.set_reaction_time(reaction);
    if (const auto* joined = dynamic_cast<const network::JoinedNetwork*>(&network);
        joined && joined->has_control())
      class_of_interfaces_ = network::JoinedNetwork::kControl;
    busy_until_.assign(p_.ranks(), {0});
    result_.rank_end.assign(p_.ranks(), {0});
    state_.resize(p_.operations.size());
    rank_.resize(p_.operations.size());
    for (Rank r = 0; r < p_.ranks(); ++r)
      std::fill(rank_.begin() + p_.begin[r], rank_.begin() + p_.begin[r + 1], r);
    link_followers();
    name_channels();
  }

  ExecutionResult run() {
    events_.advance_to(network_.now());
    start_ = now();
    if (options_.observer) options_.observer->starts(endpoint_);
    for (Id i = 0; i < state_.size(); ++i)
      if (state_[i].missing == 0) ready_.push_back(i);
    drain();
    std::vector<Notice> notices;
    while (ended_ < state_.size()) {
      const Time next = events_.next();
      if (next == kForever && network_.idle()) return stalled({});
      notices.clear();
      try {
        if (!network_.idle() || next > now()) network_.advance(next, notices);
      } catch (const network::Stalled& stall) {
        return stalled(stall.who);
      }
      if (notices.empty() && next == kForever) return stalled(network_.explain());
      if (notices.empty()) step();
      for (std::size_t i = 0; i < notices.size();) {
        // What a notice causes may come before the next one of its batch.
        while (events_.next() < notices[i].at) step();
        move_to(notices[i].at, notices[i].tag);
        for (const Time at = notices[i].at; i < notices.size() && notices[i].at == at; ++i) hear(notices[i]);
        finish_time();
      }
    }
    for (Time t : result_.rank_end) result_.completion = std::max(result_.completion, t);
    result_.finished = true;
    return std::move(result_);
  }

  void handle(const event::Event& event) override {
    if (now() > kEndOfTime) past_the_end(event.data);
    if (event.kind == kHandOver)
      hand_over(event.data);
    else
      end(event.data);
  }

 private:
  enum EventKind : std::uint32_t {
    kEnd,       // a step has ended
    kHandOver,  // a send's cost is paid: now to the network
  };

  Time now() const { return events_.now(); }

  /// The clock goes on to the next event; all events of that time and what they let start.
  void step() {
    events_.step();
    finish_time();
  }

  void finish_time() {
    while (events_.next() <= now()) events_.step();
    drain();
  }

  void move_to(Time at, Id because_of) {
    if (at > kEndOfTime) past_the_end(because_of);
    events_.advance_to(at);
  }

  [[noreturn]] void past_the_end(Id i) const {
    throw UserError({{{p_.source}, "", fmt::format("{}: {}", p_.describe(i), OutOfTime().what())}});
  }

  struct State {
    std::uint32_t missing = 0;  // steps it still waits for
    std::uint32_t channel = 0;
    Id partner = kNobody;  // the receive of a send and the other way round; or the next in a queue
    Time since{0};
    bool paired = false, arrived = false, started = false, ended = false;
  };
  struct Channel {
    Id first_sent = kNobody, last_sent = kNobody;      // messages without a receive yet
    Id first_posted = kNobody, last_posted = kNobody;  // receives without a message yet
  };
  void link_followers() {
    follower_begin_.assign(state_.size() + 1, 0);
    auto each = [&](auto&& visit) {
      for (Rank r = 0; r < p_.ranks(); ++r)
        for (Id i = p_.begin[r]; i < p_.begin[r + 1]; ++i)
          for (auto d = p_.dependency_begin[i]; d < p_.dependency_begin[i + 1]; ++d)
            visit(p_.begin[r] + p_.dependencies[d].on, i, p_.dependencies[d].started);
    };
    each([&](Id on, Id i, bool) {
      ++follower_begin_[on + 1];
      ++state_[i].missing;
    });
    for (std::size_t i = 1; i < follower_begin_.size(); ++i) follower_begin_[i] += follower_begin_[i - 1];
    followers_.resize(follower_begin_.back());
    std::vector<std::uint64_t> at(follower_begin_.begin(), follower_begin_.end() - 1);
    each([&](Id on, Id i, bool started) { followers_[at[on]++] = i << 1 | started; });
  }

  // Sends and receives that can match share a channel, found once so that no look-up is needed later.
  void name_channels() {
    std::vector<std::tuple<Rank, Rank, std::uint32_t, Id>> all;  // to, from, tag
    for (Id i = 0; i < state_.size(); ++i) {
      const Operation& o = p_.operations[i];
      if (o.kind == Kind::Send) all.emplace_back(o.peer, rank_[i], o.tag, i);
      if (o.kind == Kind::Receive) all.emplace_back(rank_[i], o.peer, o.tag, i);
    }
    std::sort(all.begin(), all.end());
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto channel = [&](std::size_t k) {
        return std::tie(std::get<0>(all[k]), std::get<1>(all[k]), std::get<2>(all[k]));
      };
      if (i == 0 || channel(i) != channel(i - 1)) channels_.emplace_back();
      state_[std::get<3>(all[i])].channel = static_cast<std::uint32_t>(channels_.size() - 1);
    }
  }

  /// Steps that can start now are started one after the other, not one within the other.
  void drain() {
    for (std::size_t i = 0; i < ready_.size(); ++i) start(ready_[i]);
    ready_.clear();
  }

  void release(Id i, bool by_start) {
    for (auto k = follower_begin_[i]; k < follower_begin_[i + 1]; ++k)
      if (static_cast<bool>(followers_[k] & 1) == by_start && --state_[followers_[k] >> 1].missing == 0)
        ready_.push_back(followers_[k] >> 1);
  }

  void start(Id i) {
    const Operation& o = p_.operations[i];
    state_[i].started = true;
    state_[i].since = now();
    release(i, true);
    switch (o.kind) {
      case Kind::Join:
        return end(i);
      case Kind::Compute:
        result_.compute += Time{static_cast<std::int64_t>(o.amount)};
        return work(i, Time{static_cast<std::int64_t>(o.amount)}, kEnd);
      case Kind::Delay:
        return events_.at(later(now(), Time{static_cast<std::int64_t>(o.amount)}), me_, kEnd, i);
      case Kind::Send:
        if (o.by_interface) return hand_over(i);
        return options_.send_cost.value > 0 ? work(i, options_.send_cost, kHandOver) : hand_over(i);
      case Kind::Receive:
        return post(i);
    }
  }

  /// The rank's processor does one thing after the other.
  void work(Id i, Time time, EventKind then) {
    Time& busy = busy_until_[rank_[i]];
    const Time from = std::max(busy, now());
    busy = later(from, time);
    if (options_.observer) options_.observer->busy(rank_[i], from - start_, busy - start_);
    events_.at(busy, me_, then, i);
  }

  void hand_over(Id i) {
    const Operation& o = p_.operations[i];
    State& s = state_[i];
    Channel& c = channels_[s.channel];
    if (c.first_posted != kNobody) {
      Id receive = c.first_posted;
      c.first_posted = state_[receive].partner;
      pair(i, receive);
    } else {
      append(c.first_sent, c.last_sent, i);
    }
    ++result_.messages;
    result_.bytes += o.amount;
    network::EndpointId from = endpoint_[rank_[i]], to = endpoint_[o.peer];
    if (from == to) {
      ++result_.local_messages;
      end(i);
      return arrive(i);
    }
    const std::uint64_t most = network_.largest_packet();
    const std::uint64_t packets = std::max<std::uint64_t>(1, o.amount / most + (o.amount % most != 0));
    take_room(i, packets);
    s.since = now();
    std::uint8_t message_class = options_.message_class.empty() ? 0 : options_.message_class[rank_[i]];
    if (o.by_interface && class_of_interfaces_) message_class = class_of_interfaces_;
    network_.send_message({from, to, o.amount, message_class, i}, now());
    result_.packets += packets;
  }

  /// The packets of a message are handed over at once and kept until they have arrived: there must be memory
  /// for them.
  void take_room(Id i, std::uint64_t packets) {
    constexpr double kBytesEach = 96;
    constexpr std::uint64_t kFew = 1u << 20;  // for which there is room anywhere
    if ((unasked_ += packets) <= kFew) [[likely]]
      return;
    std::string what = fmt::format("{}: keeping its {} of at most {} bytes until they arrive", p_.describe(i),
                                   count_of(packets, "packet"), network_.largest_packet());
    const char* instead = "the engines flow and ideal take messages whole";
    require_memory(static_cast<double>(std::exchange(unasked_, 0)) * kBytesEach, what, instead);
    if (packets > ~std::uint32_t{0})
      throw UserError(fmt::format("{}: they are more than a message may have; {}", what, instead));
  }

  void hear(const Notice& notice) {
    Id i = notice.tag;
    if (notice.kind == Notice::Kind::Departed) {
      end(i);
    } else if (notice.kind == Notice::Kind::Delivered) {
      result_.message_time += now() - state_[i].since;
      if (options_.observer) {
        const Operation& o = p_.operations[i];
        options_.observer->message(rank_[i], o.peer, o.amount, state_[i].since - start_, now() - start_,
                                   o.by_interface);
      }
      arrive(i);
    } else {
      lost_.push_back(i);
    }
  }

  void arrive(Id send) {
    state_[send].arrived = true;
    if (state_[send].paired) complete(state_[send].partner);
  }

  void post(Id i) {
    Channel& c = channels_[state_[i].channel];
    if (c.first_sent == kNobody) return append(c.first_posted, c.last_posted, i);
    Id send = c.first_sent;
    c.first_sent = state_[send].partner;
    pair(send, i);
    if (state_[send].arrived) complete(i);
  }

  void append(Id& first, Id& last, Id i) {
    state_[i].partner = kNobody;
    (first == kNobody ? first : state_[last].partner) = i;
    last = i;
  }

  void pair(Id send, Id receive) {
    if (p_.operations[send].amount > p_.operations[receive].amount)
      throw UserError(
          fmt::format("{}: the message of {} is longer", p_.describe(receive), p_.describe(send)));
    state_[send].partner = receive;
    state_[receive].partner = send;
    state_[send].paired = state_[receive].paired = true;
  }

  void complete(Id receive) {
    if (options_.receive_cost.value > 0 && !p_.operations[receive].by_interface)
      work(receive, options_.receive_cost, kEnd);
    else
      end(receive);
  }

  void end(Id i) {
    WEFT_CHECK(!state_[i].ended, "a step ends once");
    state_[i].ended = true;
    ++ended_;
    Time& last = result_.rank_end[rank_[i]];
    last = std::max(last, now() - start_);
    release(i, false);
  }

  /// Nothing can happen any more: who waits for what, and the cycle of waits if there is one.
  ExecutionResult stalled(const std::vector<std::string>& network) {
    std::vector<Id> waits(p_.ranks(), kNobody);  // a receive that has started and has no message
    std::uint64_t ranks = 0;
    for (Id i = 0; i < state_.size(); ++i)
      if (state_[i].started && !state_[i].ended && waits[rank_[i]] == kNobody) {
        waits[rank_[i]] = i;
        ++ranks;
      }
    auto& lines = result_.stall;
    lines.push_back(fmt::format("{} of {} ranks wait and nothing can happen any more", ranks, p_.ranks()));
    for (Id i : lost_)
      lines.push_back(fmt::format("{}: lost, there is no way to its destination", p_.describe(i)));
    std::vector<std::uint32_t> seen(p_.ranks());
    for (Rank first = 0, walk = 1; first < p_.ranks(); ++first, ++walk) {
      Rank r = first;
      while (waits[r] != kNobody && !seen[r]) {
        seen[r] = walk;
        r = p_.operations[waits[r]].peer;
      }
      if (waits[r] == kNobody || seen[r] != walk) continue;
      std::string cycle = fmt::format("rank {}", r);
      for (Rank k = p_.operations[waits[r]].peer; k != r; k = p_.operations[waits[k]].peer)
        cycle += fmt::format(" -> rank {}", k);
      lines.push_back(fmt::format("they wait in a cycle: {} -> rank {}", cycle, r));
      break;
    }
    for (Rank r = 0; r < p_.ranks() && lines.size() < kMostLines; ++r)
      if (waits[r] != kNobody) lines.push_back(p_.describe(waits[r]) + " waits" + why(waits[r]));
    for (const std::string& line : network)
      if (lines.size() < kMostLines) lines.push_back("network: " + line);
    return std::move(result_);
  }

  std::string why(Id i) const {
    const State& s = state_[i];
    if (p_.operations[i].kind != Kind::Receive) return "";
    if (s.paired) return ": the message has not arrived";
    return fmt::format(": rank {} has not sent it", p_.operations[i].peer);
  }

  const Program& p_;
  const std::vector<network::EndpointId>& endpoint_;
  network::Network& network_;
  event::EventQueue& events_;
  const event::ComponentId me_;
  ExecutorOptions options_;
  std::uint8_t class_of_interfaces_ = 0;  // what interfaces send may have a network of its own
  std::vector<State> state_;
  std::vector<Rank> rank_;  // by operation
  std::vector<std::uint64_t> follower_begin_,
      followers_;  // operation * 2 + whether it waits only for the start
  std::vector<Channel> channels_;
  std::vector<Time> busy_until_;  // by rank
  std::vector<Id> ready_, lost_;
  std::uint64_t ended_ = 0;
  std::uint64_t unasked_ = 0;  // packets sent since it was asked whether there is memory for them
  Time start_{0};
  ExecutionResult result_;
};

}  // namespace

ExecutionResult execute(const Program& program, const std::vector<network::EndpointId>& endpoint,
                        network::Network& network, event::EventQueue& events,
                        const ExecutorOptions& options) {
  return Executor(program, endpoint, network, events, options).run();
}

}  // namespace weft::workload
