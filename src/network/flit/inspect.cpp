// The slow side of the engine: what it looks like from outside, why nothing moves, and whether everything
// adds up.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/flit/worker.hpp"

namespace weft::network::flit {

using topology::kNone;

namespace {

/// With virtual output queues a packet bids for the switch before it has a channel.
bool has_channel(const State& s, const Queue& queue) {
  return queue.active() && !(s.output_bits && queue.offered);
}

}  // namespace

/// Reads an engine at rest.
class Inspector {
 public:
  explicit Inspector(const Engine& engine) : e_(engine), s_(engine.state_) {}

  std::vector<QueueNumber> occupied() const {
    std::vector<QueueNumber> out;
    for (QueueNumber q = 0; q < s_.queues.size(); ++q)
      if (!s_.queues[q].empty()) out.push_back(q);
    return out;
  }

  bool empty(QueueNumber q) const { return s_.queues[q].empty(); }
  const PacketRecord& first_packet(QueueNumber q) const {
    return e_.packets_[Entry(s_.queues[q].entry).id()];
  }

  /// What the first packet of a queue waits for, and which other queues must move before it can.
  Waiting describe(QueueNumber q, std::vector<QueueNumber>& waits_for) const;

 private:
  std::string name(PortNumber p) const {
    if (p < e_.graph_.ports()) return e_.graph_.port_name(p);
    std::uint32_t r = e_.inner_.router[p - e_.graph_.ports()];
    return fmt::format("r{} {}", r, e_.inner_.layout_of(r).names[p - e_.inner_.begin[r]]);
  }

  /// The queues of the router's part that a port's input side belongs to. Looking at every input that could
  /// send to the same output is enough: those with a packet for it.
  template <class Use>
  void for_each_rival(PortNumber out, Use use) const {
    std::uint32_t router = router_of(out);
    for (QueueNumber q : occupied()) {
      PortNumber in = s_.port_of(q);
      if (router_of(in) == router && has_channel(s_, s_.queues[q]) && s_.queues[q].out == out) use(q);
    }
  }
  std::uint32_t router_of(PortNumber p) const {
    return p < e_.graph_.ports() ? e_.graph_.port_router(p) : e_.inner_.router[p - e_.graph_.ports()];
  }
  /// The queues a channel of an output leads to.
  void queues_behind(PortNumber out, unsigned channel, std::vector<QueueNumber>& into) const {
    if (s_.ports[out].flags & Port::kEndpoint) return;
    QueueNumber first = (s_.ports[out].peer + channel) << s_.output_bits;
    for (QueueNumber q = first; q < first + (1u << s_.output_bits); ++q) into.push_back(q);
  }

  const Engine& e_;
  const State& s_;
};

Waiting Inspector::describe(QueueNumber q, std::vector<QueueNumber>& waits_for) const {
  const Queue& queue = s_.queues[q];
  const PacketRecord& record = first_packet(q);
  PortNumber in = s_.port_of(q);
  Waiting out{name(in), s_.channel_of(q), record.source, record.destination, record.created, record.injected,
              ""};
  const bool has = has_channel(s_, queue);
  if (!has && queue.out >= s_.ports.size()) {
    out.reason = "all ways its routing offers are taken, or there is none";
    std::uint32_t router = router_of(in);
    for (QueueNumber other : occupied())
      if (other != q && has_channel(s_, s_.queues[other]) && router_of(s_.port_of(other)) == router)
        waits_for.push_back(other);
  } else if (!has) {
    out.reason = fmt::format("asks for a channel of {}", name(queue.out));
    for_each_rival(queue.out, [&](QueueNumber other) {
      if (queue.channels >> s_.queues[other].out_channel() & 1) waits_for.push_back(other);
    });
    if (waits_for.empty() && !(s_.ports[queue.out].flags & Port::kEndpoint)) {
      out.reason =
          fmt::format("asks for room for {} flits behind {}", Entry(queue.entry).flits(), name(queue.out));
      for (unsigned c = 0; c < e_.settings_.all_channels(); ++c)
        if (queue.channels >> c & 1) queues_behind(queue.out, c, waits_for);
    }
  } else if (queue.flits == 0) {
    out.reason = "the rest of it has not come yet";
    PortNumber before = s_.ports[in].peer >> s_.channel_bits;
    if (!(s_.ports[in].flags & Port::kEndpoint))
      for_each_rival(before, [&](QueueNumber other) {
        if (s_.queues[other].out_channel() == out.channel) waits_for.push_back(other);
      });
  } else {
    out.reason = fmt::format("holds channel {} of {} and waits for room behind it", queue.out_channel(),
                             name(queue.out));
    queues_behind(queue.out, queue.out_channel(), waits_for);
  }
  return out;
}

std::optional<Waiting> Engine::oldest_packet() const {
  Inspector look(*this);
  std::vector<QueueNumber> places = look.occupied(), ignored;
  if (places.empty()) return std::nullopt;
  auto older = [&](QueueNumber a, QueueNumber b) {
    return look.first_packet(a).injected < look.first_packet(b).injected;
  };
  return look.describe(*std::min_element(places.begin(), places.end(), older), ignored);
}

bool Engine::older_than(Cycle age) const {
  for (const Queue& queue : state_.queues)
    if (!queue.empty() && now_ - packets_[Entry(queue.entry).id()].injected > age) return true;
  return false;
}

std::vector<Waiting> Engine::explain_stall() const {
  if (aged_) {
    // Not a standstill: the packet that has stood longest, and what it waits for in turn.
    Waiting oldest = *oldest_packet();
    oldest.reason += fmt::format("; it has been in the network for {} cycles, more than the {} allowed",
                                 now_ - oldest.injected, settings_.age_limit);
    return {oldest};
  }
  // From the oldest packet on, follow what each waits for, depth first; a queue met again closes a circle.
  Inspector look(*this);
  std::vector<QueueNumber> places = look.occupied();
  std::stable_sort(places.begin(), places.end(), [&](QueueNumber a, QueueNumber b) {
    return look.first_packet(a).created < look.first_packet(b).created;
  });
  enum class Seen { New, OnPath, Done };
  std::map<QueueNumber, Seen> seen;
  std::vector<std::pair<QueueNumber, std::vector<QueueNumber>>> path;
  std::vector<Waiting> longest;
  auto words = [&](auto from) {
    std::vector<Waiting> out;
    std::vector<QueueNumber> ignored;
    for (auto at = from; at != path.end(); ++at) out.push_back(look.describe(at->first, ignored));
    return out;
  };
  auto enter = [&](QueueNumber q) {
    seen[q] = Seen::OnPath;
    std::vector<QueueNumber> next;
    look.describe(q, next);
    path.emplace_back(q, next);
  };
  for (QueueNumber start : places) {
    if (seen[start] != Seen::New) continue;
    enter(start);
    while (!path.empty()) {
      auto& [place, next] = path.back();
      if (next.empty()) {
        if (path.size() > longest.size()) longest = words(path.begin());
        seen[place] = Seen::Done;
        path.pop_back();
        continue;
      }
      QueueNumber to = next.back();
      next.pop_back();
      if (seen[to] == Seen::OnPath)
        return words(
            std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == to; }));
      if (seen[to] == Seen::New && !look.empty(to)) enter(to);
    }
  }
  return longest;
}

void Engine::check_conservation() const {
  const State& s = state_;
  std::vector<std::uint32_t> coming(s.channels.size(), 0), credits(s.channels.size(), 0);
  for (const Inbox& inbox : s.inboxes) {
    for (const HeadFlit& head : inbox.heads) ++coming[head.to];
    for (ChannelNumber body : inbox.bodies) ++coming[body];
    for (ChannelNumber credit : inbox.credits) ++credits[credit];
  }
  // Room is taken for a whole packet at once under cut-through: what of it is still to come is promised.
  std::vector<std::uint32_t> promised(s.channels.size(), 0), here(s.channels.size(), 0);
  const bool cut_through = settings_.switching == Switching::CutThrough;
  std::uint64_t flits = 0;
  for (QueueNumber q = 0; q < s.queues.size(); ++q) {
    const Queue& queue = s.queues[q];
    here[q >> s.output_bits] += queue.flits;
    if (cut_through && has_channel(s, queue))
      promised[(queue.out << s.channel_bits) + queue.out_channel()] += queue.left();
  }
  for (PortNumber p = 0; p < s.ports.size(); ++p) {
    const bool endpoint = s.ports[p].flags & Port::kEndpoint;
    WEFT_CHECK(s.ports[p].spare <= s.rests[p].shared,
               fmt::format("port {}: {} flits of the shared buffer free, which has {}", p,
                           static_cast<std::int16_t>(s.ports[p].spare), s.rests[p].shared));
    EndpointId e = endpoint ? graph_.port_endpoint(p) : kNone;
    for (unsigned c = 0; c < settings_.all_channels(); ++c) {
      // The output side of p, or the endpoint behind it, against the queues it sends to.
      ChannelNumber own = (p << s.channel_bits) + c, to = s.ports[p].peer + c;
      std::uint64_t owed = promised[own];
      if (endpoint) {
        owed = 0;
        if (cut_through && senders_[e].current != kNoPacket && senders_[e].channel == c)
          owed = senders_[e].left;
      }
      if (p < graph_.ports() && !endpoint && graph_.peer(p) == kNone) continue;
      if (s.ports[p].flags & Port::kGuarded) continue;  // its link knows what is under way
      WEFT_CHECK(
          s.channels[own].used == here[to] + coming[to] + credits[own] + owed,
          fmt::format(
              "port {} channel {}: {} taken, but {} there, {} coming, {} credits on their way, {} promised",
              p, c, s.channels[own].used, here[to], coming[to], credits[own], owed));
      flits += here[to] + coming[to];
    }
  }
  const std::uint64_t in_network = flits_in_network();
  WEFT_CHECK(guard_ || flits == in_network,
             fmt::format("{} flits found, {} on the books", flits, in_network));
}

}  // namespace weft::network::flit
