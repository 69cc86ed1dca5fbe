#include "measure/run/root_causes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace weft::measure {

using abi::CallKind;
using PieceKind = PathPiece::Kind;
using CauseKind = RunCause::Kind;

namespace {

// Shares of the run from which on somebody is named. Below, ranks that are not quite alike would be.
constexpr double kLateShare = 0.05, kNoiseShare = 0.08, kChainShare = 0.15, kContentionShare = 0.1,
                 kSerialisedShare = 0.2, kStallShare = 0.1, kTranslationShare = 0.1, kCreditShare = 0.1;
// Of the run as it is. The shares above are of what is left of it without the late ranks: beside one that
// takes most of a run, all others would seem small.
constexpr double kLeastShare = 0.03;
constexpr double kLongerThanOthers = 1.1;  // a rank that computes so much more than the others is late

/// The call with most time.
std::uint16_t heaviest(const std::map<std::uint16_t, double>& calls) {
  std::uint16_t out = 0;
  double most = 0;
  for (const auto& [call, time] : calls)
    if (time > most) most = time, out = call;
  return out;
}

bool sends(std::uint16_t call) {
  const std::string_view name = abi::call_facts(call).name;
  return name == "MPI_Send" || name == "MPI_Ssend" || name == "MPI_Bsend" || name == "MPI_Rsend";
}

/// What messages take on an empty network, by pair of nodes.
class Unloaded {
 public:
  explicit Unloaded(LinkLoads& loads) : loads_(loads) {}

  double wire_ps(network::EndpointId from, network::EndpointId to, std::uint64_t bytes) {
    Way& way = way_of(from, to);
    if (way.is_new) {
      way.is_new = false;
      const auto route = loads_.route(from, to);
      way.delay = static_cast<double>(loads_.delay_ps(route));
      for (const auto& share : route)
        if (const double rate = loads_.capacity(share.link); rate > 0)
          way.rate = way.rate > 0 ? std::min(way.rate, rate) : rate;
    }
    return way.delay + (way.rate > 0 ? static_cast<double>(loads_.links().wire_bytes(bytes)) / way.rate : 0);
  }

 private:
  using Ends = std::pair<network::EndpointId, network::EndpointId>;
  struct Way {
    double delay = 0, rate = 0;  // bytes in a picosecond
    bool is_new = true;
  };
  /// Often the same few pairs in turn.
  Way& way_of(network::EndpointId from, network::EndpointId to) {
    Recent& recent = recent_[(from + 3 * to) % recent_.size()];
    if (!recent.way || recent.ends != Ends{from, to}) recent = {{from, to}, &ways_[{from, to}]};
    return *recent.way;
  }
  struct Recent {
    Ends ends;
    Way* way = nullptr;
  };
  LinkLoads& loads_;
  std::map<Ends, Way> ways_;
  std::array<Recent, 64> recent_{};
};

class CauseFinder {
 public:
  CauseFinder(const RunHistory& history, const CauseFacts& facts)
      : history_(history),
        facts_(facts),
        loads_(facts.machine),
        unloaded_(loads_),
        blamed_(history.ranks()),
        computed_(history.ranks()),
        on_path_(history.ranks()),
        in_mpi_on_path_(history.ranks()),
        waited_(history.ranks()) {
    for (std::uint32_t r = 0; r < history.ranks(); ++r) length_ = std::max(length_, history.end(r).value);
  }

  RunAnswer find() {
    RunAnswer out;
    if (length_ <= 0 || history_.ranks() < 2) return out;
    out.known = true;
    path_ = history_.critical_path();
    add_up(out);
    look_at_stretches();
    late_ranks(out);
    slow_ranks(out);
    noise_or_chain(out);
    contention(out);
    serialised(out);
    credits(out);
    if (facts_.stalled_share >= kStallShare)
      out.causes.push_back({.kind = CauseKind::FullQueues, .share = facts_.stalled_share, .link = {}});
    const double translation = facts_.translation_share * out.network;
    if (translation >= kTranslationShare)
      out.causes.push_back({.kind = CauseKind::Translation,
                            .share = translation,
                            .times = facts_.translation_misses,
                            .link = {}});
    std::stable_sort(out.causes.begin(), out.causes.end(),
                     [](const RunCause& a, const RunCause& b) { return a.share > b.share; });
    return out;
  }

 private:
  double share(double picoseconds) const { return picoseconds / static_cast<double>(length_); }
  /// Is a time worth a name, late ranks apart?
  bool counts(double picoseconds, double least) const {
    const double left = std::max(1.0, static_cast<double>(length_) - explained_);
    return picoseconds >= least * left && share(picoseconds) >= kLeastShare;
  }
  double mean_of_others(std::uint32_t rank) const {
    const double all = std::accumulate(computed_.begin(), computed_.end(), 0.0);
    return (all - computed_[rank]) / static_cast<double>(history_.ranks() - 1);
  }

  void add_up(RunAnswer& out) {
    for (const PathPiece piece : path_) {
      const double time = share(static_cast<double>(piece.time()));
      switch (piece.kind) {
        case PieceKind::Computing:
          out.computing += time;
          on_path_[piece.rank] += static_cast<double>(piece.time());
          break;
        case PieceKind::InMpi:
          out.in_mpi += time;
          in_mpi_on_path_[piece.rank] += static_cast<double>(piece.time());
          break;
        case PieceKind::Network:
          out.network += time;
          break;
        case PieceKind::Meeting:
          out.meeting += time;
      }
    }
    double alive = 0, waiting = 0;
    for (std::uint32_t r = 0; r < history_.ranks(); ++r) {
      double outside = static_cast<double>(history_.end(r).value);
      alive += outside;
      std::int64_t in_calls_until = 0;
      for (const RankCall& call : history_.calls(r)) {
        outside -=
            static_cast<double>(std::max<std::int64_t>(0, call.end - std::max(call.begin, in_calls_until)));
        in_calls_until = std::max(in_calls_until, call.end);
      }
      for (const RankWait& wait : history_.waits(r)) {
        const auto time = static_cast<double>(wait.until - wait.from);
        waited_[r] += time;
        if (!history_.call_at(r, wait.until)) outside -= time;
        classify(r, wait, out);
      }
      computed_[r] = std::max(0.0, outside);
      waiting += waited_[r];
    }
    out.waiting = alive > 0 ? waiting / alive : 0;
  }

  /// How much of a time a rank waited itself.
  double waited_between(std::uint32_t rank, std::int64_t from, std::int64_t until) const {
    const auto& all = history_.waits(rank);
    double out = 0;
    constexpr std::size_t kEnough = 64;  // waits to look at
    const std::size_t first = history_.wait_after(rank, from);
    for (std::size_t i = first; i < all.size() && all[i].from < until && i < first + kEnough; ++i)
      out += static_cast<double>(std::min(all[i].until, until) - std::max(all[i].from, from));
    return out;
  }

  void classify(std::uint32_t rank, const RankWait& wait, RunAnswer& out) {
    auto add = [&](WaitKind kind, double time) {
      out.waits[static_cast<std::size_t>(kind)] += Time{static_cast<std::int64_t>(time)};
    };
    const std::uint32_t i = history_.cause(rank, wait);
    const auto whole = static_cast<double>(wait.until - wait.from);
    if (i == kNoArrival) return add(WaitKind::Meeting, whole);
    const Arrival& what = history_.arrivals()[i];
    const double late = what.from == rank
                            ? 0
                            : static_cast<double>(std::clamp(what.begin, wait.from, wait.until) - wait.from);
    if (late > 0) {
      const RankCall* call = history_.call_at(rank, wait.until);
      if (call) blamed_[what.from][call->call] += late;
      const bool in_chain = waited_between(what.from, wait.from, what.begin) > late / 2;
      add(call && abi::call_facts(call->call).kind == CallKind::Collective ? WaitKind::Imbalance
          : in_chain                                                       ? WaitKind::Chain
          : call && sends(call->call)                                      ? WaitKind::LateReceiver
                                                                           : WaitKind::LateSender,
          late);
    }
    const double rest = whole - late, queued = std::min(rest, what.queue_ns * 1000.0);
    const double crowded = std::min(rest - queued, excess_ps(what));
    if (queued > 0) add(WaitKind::Queues, queued);
    if (crowded > 0) add(WaitKind::Contention, crowded);
    add(WaitKind::Network, rest - queued - crowded);
  }

  /// What an arrival took on the wire beyond what an empty network takes.
  double excess_ps(const Arrival& what) {
    constexpr double kAsUsual = 1.25, kSlack = 300'000,
                     kSlackBack = 3'000'000;  // the model of an empty network is not exact
    const network::EndpointId from = facts_.nodes[what.from], to = facts_.nodes[what.to];
    if (from == to) return 0;
    const double empty = what.comes_back
                             ? unloaded_.wire_ps(from, to, 0) + unloaded_.wire_ps(to, from, what.bytes)
                             : unloaded_.wire_ps(from, to, what.bytes);
    // What comes back in many packets waits in the other interface for its way to be free.
    const double took = what.comes_back ? static_cast<double>(what.end - what.begin) - what.queue_ns * 1000.0
                                        : what.wire_ns * 1000.0;
    return std::max(0.0, took - kAsUsual * empty - (what.comes_back ? kSlackBack : kSlack));
  }

  /// The call in which others wait for what a rank computes on the path, weighted by that.
  struct Waiters {
    std::map<std::uint16_t, double> calls;
    std::uint64_t pieces = 0, bytes = 0;
  };

  /// The path goes back in time: what waits for a piece comes before it.
  Waiters waiters_for(std::uint32_t rank) const {
    Waiters out;
    std::uint16_t call = 0;
    double longest = 0;
    for (const PathPiece piece : path_)
      if (piece.kind == PieceKind::Computing && piece.rank == rank)
        longest = std::max(longest, static_cast<double>(piece.time()));
    for (const PathPiece piece : path_) {
      if (piece.rank != rank && (piece.kind == PieceKind::Network || piece.kind == PieceKind::Meeting))
        call = piece.call;
      if (piece.kind != PieceKind::Computing || piece.rank != rank) continue;
      out.calls[call] += static_cast<double>(piece.time());
      out.pieces += static_cast<double>(piece.time()) > 0.2 * longest;
    }
    return out;
  }

  std::uint32_t waiting_longer_than(double picoseconds, std::uint32_t except) const {
    std::uint32_t count = 0;
    for (std::uint32_t r = 0; r < history_.ranks(); ++r) count += r != except && waited_[r] > picoseconds;
    return count;
  }

  void late_ranks(RunAnswer& out) {
    for (std::uint32_t r = 0; r < history_.ranks(); ++r) {
      const double others = mean_of_others(r);
      if (computed_[r] <= kLongerThanOthers * others || on_path_[r] <= 0) continue;
      const double extra = on_path_[r] * (1 - others / computed_[r]);
      if (share(extra) < kLateShare) continue;
      // Late now and then, as many others are: noise, which hit this one more often.
      const auto unusual = stretches_.unusual.find(r);
      if (stretches_.unusual.size() > 2 && unusual != stretches_.unusual.end() && unusual->second > extra / 2)
        continue;
      const Waiters waiters = waiters_for(r);
      RunCause cause{.kind = CauseKind::LateRank, .share = share(extra), .rank = r, .link = {}};
      cause.call = heaviest(waiters.calls);
      if (!cause.call) cause.call = heaviest(blamed_[r]);  // those that wait for it are not on the path
      cause.times = std::max<std::uint64_t>(1, waiters.pieces);
      cause.extra_ps = extra / static_cast<double>(cause.times);
      cause.waiting = waiting_longer_than(extra / 2, r);
      cause.to_send = sends(cause.call);
      if (cause.to_send) cause.bytes = bytes_sent_to(r);
      explained_ += extra;
      out.causes.push_back(cause);
    }
  }

  /// A rank's own work in calls, by call.
  struct Work {
    double time = 0, bytes = 0;
    std::uint64_t count = 0;
  };
  using WorkOfCalls = std::vector<Work>;

  WorkOfCalls work_of(std::uint32_t rank) const {
    WorkOfCalls out(static_cast<std::size_t>(abi::MpiCall::Count));
    const auto& waits = history_.waits(rank);
    auto wait = waits.begin();
    for (const RankCall& call : history_.calls(rank)) {
      Work& work = out[call.call];
      ++work.count;
      work.bytes += static_cast<double>(call.bytes);
      work.time += static_cast<double>(call.end - call.begin);
      while (wait != waits.end() && wait->until <= call.begin) ++wait;
      for (; wait != waits.end() && wait->from < call.end; ++wait)
        work.time -= static_cast<double>(std::min(wait->until, call.end) - std::max(wait->from, call.begin));
    }
    return out;
  }

  /// How many times as long a rank takes for the same calls as the others do; the least over all calls that
  /// ranks make alike, since one who has more to do in some of them is not slow.
  double times_as_slow(const WorkOfCalls& mine, const WorkOfCalls& all) const {
    double whole = 0, least = 0;
    for (const Work& work : mine) whole += work.time;
    for (std::size_t i = 1; i < mine.size(); ++i) {
      const abi::CallFacts& facts = abi::call_facts(static_cast<std::uint16_t>(i));
      const bool alike =
          facts.kind == CallKind::Message || (facts.kind == CallKind::Collective && facts.peer < 0);
      const auto others = static_cast<double>(all[i].count - mine[i].count),
                 own = static_cast<double>(mine[i].count);
      if (!alike || mine[i].time < 0.05 * whole || others < own) continue;
      const double their_bytes = (all[i].bytes - mine[i].bytes) / others,
                   their_time = (all[i].time - mine[i].time) / others;
      if (std::abs(mine[i].bytes / own - their_bytes) > 0.1 * their_bytes || their_time <= 0) continue;
      const double times = mine[i].time / own / their_time;
      least = least > 0 ? std::min(least, times) : times;
    }
    return least;
  }

  void slow_ranks(RunAnswer& out) {
    constexpr double kSlower = 1.3;
    std::vector<std::uint32_t> suspects;
    for (std::uint32_t r = 0; r < history_.ranks(); ++r)
      if (share(in_mpi_on_path_[r]) * (1 - 1 / kSlower) >= kLateShare / 2) suspects.push_back(r);
    if (suspects.empty()) return;
    WorkOfCalls all(static_cast<std::size_t>(abi::MpiCall::Count));
    for (std::uint32_t r = 0; r < history_.ranks(); ++r) {
      const WorkOfCalls one = work_of(r);
      for (std::size_t i = 0; i < all.size(); ++i)
        all[i].time += one[i].time, all[i].bytes += one[i].bytes, all[i].count += one[i].count;
    }
    for (std::uint32_t r : suspects) {
      const double times = times_as_slow(work_of(r), all);
      if (times < kSlower) continue;
      const double extra = in_mpi_on_path_[r] * (1 - 1 / times);
      if (share(extra) < kLateShare) continue;
      RunCause cause{.kind = CauseKind::SlowRank, .share = share(extra), .rank = r, .link = {}};
      cause.call = heaviest(blamed_[r]);
      cause.extra_ps = extra;
      cause.factor = times;
      cause.waiting = waiting_longer_than(extra / 2, r);
      explained_ += extra;
      out.causes.push_back(cause);
    }
  }

  /// What is under way on the path to or from ranks that are short of credit, as far as no link was busy
  /// meanwhile: who fills a link waits for it, whatever the credit.
  void credits(RunAnswer& out) {
    if (facts_.short_of_credit.empty()) return;
    double held = 0;
    std::map<std::uint16_t, double> calls;
    std::vector<double> by_rank(history_.ranks());
    for (const PathPiece piece : path_) {
      if (piece.kind != PieceKind::Network) continue;
      const Arrival& what = history_.arrivals()[piece.arrival];
      const std::uint32_t who =
          facts_.short_of_credit[what.from] >= facts_.short_of_credit[what.to] ? what.from : what.to;
      const double time = static_cast<double>(piece.time()) * facts_.short_of_credit[who];
      held += time;
      by_rank[who] += time;
      calls[piece.call] += time;
    }
    if (!counts(held, kCreditShare)) return;
    const auto loads = loads_.between(facts_.transfers, Time{0}, Time{length_});
    if (!loads.empty()) held -= loads.front().share * static_cast<double>(length_);
    if (!counts(held, kCreditShare)) return;
    RunCause cause{.kind = CauseKind::Credits, .share = share(held), .link = {}};
    cause.rank =
        static_cast<std::uint32_t>(std::max_element(by_rank.begin(), by_rank.end()) - by_rank.begin());
    cause.call = heaviest(calls);
    for (double part : facts_.short_of_credit) cause.waiting += part > 0.5;
    out.causes.push_back(cause);
  }

  /// The largest message for a rank that others wait to send.
  std::uint64_t bytes_sent_to(std::uint32_t rank) const {
    std::uint64_t most = 0;
    for (std::uint32_t other = 0; other < history_.ranks(); ++other)
      for (const RankCall& call : history_.calls(other))
        if (other != rank && sends(call.call) && call.peer == static_cast<std::int32_t>(rank))
          most = std::max<std::uint64_t>(most, call.bytes);
    return most;
  }

  /// What a rank computes at a stretch: three of four are no longer. Stretches that are nothing beside the
  /// longest one are left out.
  double usual_stretch(std::uint32_t rank, double longest) const {
    std::vector<double> all;
    std::int64_t at = 0;
    auto stretch = [&](std::int64_t until) {
      if (static_cast<double>(until - at) > 0.01 * longest) all.push_back(static_cast<double>(until - at));
    };
    for (const RankCall& call : history_.calls(rank)) {
      stretch(call.begin);
      at = std::max(at, call.end);
    }
    stretch(history_.end(rank).value);
    if (all.empty()) return 0;
    const std::size_t at_quarter = all.size() * 3 / 4;
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at_quarter), all.end());
    return all[at_quarter];
  }

  /// The computing on the path, stretch by stretch: how much of it is longer than its rank's usual ones.
  void look_at_stretches() {
    double longest = 0;
    for (const PathPiece piece : path_)
      if (piece.kind == PieceKind::Computing) longest = std::max(longest, static_cast<double>(piece.time()));
    std::vector<double> usual(history_.ranks(), -1);
    std::uint16_t call = 0;
    for (const PathPiece piece : path_) {
      const auto time = static_cast<double>(piece.time());
      if (piece.kind == PieceKind::Network || piece.kind == PieceKind::Meeting) call = piece.call;
      if (piece.kind != PieceKind::Computing || time < 0.01 * longest) continue;
      const std::uint32_t r = piece.rank;
      if (usual[r] < 0) usual[r] = usual_stretch(r, longest);
      stretches_.ranks.push_back(r);
      stretches_.calls[call] += time;
      const double more = time - kLongerThanOthers * usual[r];
      if (more <= 0) continue;
      stretches_.unusual[r] += more;
      if (more > stretches_.worst) stretches_.worst = more, stretches_.worst_rank = r;
    }
  }

  void noise_or_chain(RunAnswer& out) {
    const double mean = std::accumulate(computed_.begin(), computed_.end(), 0.0) / history_.ranks();
    const double all = std::accumulate(on_path_.begin(), on_path_.end(), 0.0), left = all - mean - explained_;
    if (share(left) < kNoiseShare) return;
    double unusual = 0;
    for (const auto& [rank, time] : stretches_.unusual) unusual += time;
    const bool noise = unusual > 0.5 * left;
    if (!noise && share(left) < kChainShare) return;
    RunCause cause{.kind = noise ? CauseKind::Noise : CauseKind::Chain, .share = share(left), .link = {}};
    cause.call = heaviest(stretches_.calls);
    if (noise) {
      cause.rank = stretches_.worst_rank;
      cause.waiting = static_cast<std::uint32_t>(stretches_.unusual.size());
      cause.extra_ps = stretches_.worst;
    } else {
      cause.rank = stretches_.ranks.back();  // the path goes back in time
      cause.last_rank = stretches_.ranks.front();
      cause.waiting = static_cast<std::uint32_t>(
          std::set<std::uint32_t>(stretches_.ranks.begin(), stretches_.ranks.end()).size());
      wait_to_send(cause);
    }
    out.causes.push_back(cause);
  }

  /// Do most of those who wait in a chain wait to send? Then it is their messages that are not taken yet.
  void wait_to_send(RunCause& cause) const {
    double to_send = 0, all = 0;
    std::map<std::uint16_t, double> calls;
    for (const auto& by_call : blamed_)
      for (const auto& [call, time] : by_call) {
        all += time;
        if (!sends(call)) continue;
        to_send += time;
        calls[call] += time;
      }
    if (to_send < 0.4 * all) return;
    cause.to_send = true;
    cause.call = heaviest(calls);
    for (std::uint32_t rank = 0; rank < history_.ranks(); ++rank)
      cause.bytes = std::max(cause.bytes, bytes_sent_to(rank));
  }

  void contention(RunAnswer& out) {
    double crowded = 0;
    std::map<network::flow::LinkId, double> links;
    std::map<std::uint16_t, double> calls;
    for (const PathPiece piece : path_) {
      if (piece.kind != PieceKind::Network) continue;
      const Arrival& what = history_.arrivals()[piece.arrival];
      const double time = std::min(static_cast<double>(piece.time()), excess_ps(what));
      if (time <= 0) continue;
      crowded += time;
      calls[piece.call] += time;
      const bool back = what.comes_back;
      for (const auto& s :
           loads_.route(facts_.nodes[back ? what.to : what.from], facts_.nodes[back ? what.from : what.to]))
        links[s.link] += time * s.weight;
    }
    if (!counts(crowded, kContentionShare)) return;
    RunCause cause{.kind = CauseKind::Contention, .share = share(crowded), .link = {}};
    cause.call = heaviest(calls);
    name_link(links, cause);
    out.causes.push_back(cause);
  }

  /// Of the links that crowded messages crossed, the one that carried most for its rate.
  void name_link(const std::map<network::flow::LinkId, double>& crossed, RunCause& cause) {
    for (const LinkLoad& load : loads_.between(facts_.transfers, Time{0}, Time{length_})) {
      if (!crossed.contains(load.link)) continue;
      cause.link = loads_.links().name(load.link);
      cause.bytes = load.bytes;
      cause.between_routers = loads_.between_routers(load.link);
      std::set<std::pair<network::EndpointId, network::EndpointId>> seen;
      for (const Transfer& t : facts_.transfers) {
        if (!seen.insert({t.from, t.to}).second) continue;
        for (const auto& s : loads_.route(t.from, t.to)) cause.pairs += s.link == load.link;
      }
      return;
    }
  }

  void serialised(RunAnswer& out) {
    if (history_.ranks() < 4) return;
    std::vector<double> talks(history_.ranks());
    double all = 0;
    std::vector<std::map<std::uint16_t, double>> calls(history_.ranks());
    for (const PathPiece piece : path_) {
      const auto time = static_cast<double>(piece.time());
      if (piece.kind == PieceKind::Computing || piece.kind == PieceKind::Meeting) continue;
      all += time;
      const CallKind kind = abi::call_facts(piece.call).kind;
      if (kind != CallKind::Message && kind != CallKind::Finish) continue;
      calls[piece.rank][piece.call] += time;
      if (piece.kind == PieceKind::Network) {  // both ends have a part in it, whoever posted it
        const Arrival& what = history_.arrivals()[piece.arrival];
        talks[what.from] += time;
        if (what.to != what.from) talks[what.to] += time;
      } else {
        talks[piece.rank] += time;
      }
    }
    const auto rank =
        static_cast<std::uint32_t>(std::max_element(talks.begin(), talks.end()) - talks.begin());
    if (!counts(talks[rank], kSerialisedShare) || talks[rank] < 0.6 * all) return;
    std::set<std::uint32_t> peers;
    for (const Arrival& what : history_.arrivals())
      if (what.from == rank || what.to == rank) peers.insert(what.from == rank ? what.to : what.from);
    if (peers.size() < std::max<std::size_t>(3, history_.ranks() / 2)) return;
    RunCause cause{.kind = CauseKind::Serialised, .share = share(talks[rank]), .rank = rank, .link = {}};
    cause.times = peers.size();
    cause.waiting = waiting_longer_than(talks[rank] / 4, rank);
    cause.call = heaviest(calls[rank]);
    out.causes.push_back(cause);
  }

  const RunHistory& history_;
  const CauseFacts& facts_;
  LinkLoads loads_;
  Unloaded unloaded_;
  std::int64_t length_ = 0;
  double explained_ = 0;
  CriticalPath path_;
  struct {
    std::vector<std::uint32_t> ranks;         // the last first
    std::map<std::uint16_t, double> calls;    // in which others waited meanwhile
    std::map<std::uint32_t, double> unusual;  // by rank: what was longer than usual
    double worst = 0;
    std::uint32_t worst_rank = 0;
  } stretches_;
  std::vector<std::map<std::uint16_t, double>> blamed_;               // by rank that was late, and call
  std::vector<double> computed_, on_path_, in_mpi_on_path_, waited_;  // picoseconds, by rank
};

}  // namespace

const char* wait_kind_name(WaitKind kind) {
  static constexpr const char* names[kWaitKinds] = {
      "late sender",         "late receiver",        "in a chain",         "imbalance at a collective",
      "contention on links", "queues of interfaces", "messages under way", "at the start and the end"};
  return names[static_cast<std::size_t>(kind)];
}

RunAnswer find_causes(const RunHistory& history, const CauseFacts& facts) {
  return CauseFinder(history, facts).find();
}

}  // namespace weft::measure
