#include "network/flit/inspector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace weft::network::flit {

using topology::EndpointId;
using topology::kNone;

namespace {

/// With virtual output queues a packet requests the switch before it has a channel.
bool has_channel(const State& s, const Queue& queue) {
  return queue.active() && !(s.output_bits && queue.offered);
}

}  // namespace

std::vector<QueueNumber> Inspector::occupied() const {
  std::vector<QueueNumber> out;
  for (const Run& run : s_.queues.own())
    for (std::size_t q = run.begin; q < run.end; ++q)
      if (!s_.queues[q].empty()) out.push_back(static_cast<QueueNumber>(q));
  return out;
}

std::string Inspector::name(PortNumber p) const {
  if (p < fabric_.graph.ports()) return fabric_.graph.port_name(p);
  std::uint32_t r = fabric_.inner.router[p - fabric_.graph.ports()];
  return fmt::format("r{} {}", r, fabric_.inner.layout_of(r).names[p - fabric_.inner.begin[r]]);
}

std::uint32_t Inspector::router_of(PortNumber p) const {
  return p < fabric_.graph.ports() ? fabric_.graph.port_router(p)
                                   : fabric_.inner.router[p - fabric_.graph.ports()];
}

template <class Use>
void Inspector::for_each_rival(PortNumber out, Use use) const {
  std::uint32_t router = router_of(out);
  for (QueueNumber q : occupied()) {
    PortNumber in = s_.port_of(q);
    if (router_of(in) == router && has_channel(s_, s_.queues[q]) && s_.queues[q].out == out) use(q);
  }
}

void Inspector::queues_behind(PortNumber out, unsigned channel, std::vector<QueueNumber>& into) const {
  if (s_.ports[out].flags & Port::kEndpoint) return;
  QueueNumber first = (s_.ports[out].peer + channel) << s_.output_bits;
  for (QueueNumber q = first; q < first + (1u << s_.output_bits); ++q) into.push_back(q);
}

Waiting Inspector::describe(QueueNumber q, std::vector<QueueNumber>& waits_for) const {
  const Queue& queue = s_.queues[q];
  const PacketRecord& record = first_packet(q);
  PortNumber in = s_.port_of(q);
  Waiting out{name(in), s_.channel_of(q), record.source, record.destination, record.created, record.injected,
              ""};
  const bool has = has_channel(s_, queue);
  if (fabric_.multicast.there_is() && out.channel >= fabric_.multicast.first_channel) {
    out.destination = kNone;
    describe_copies(q, out, waits_for);
  } else if (!has && queue.out >= s_.ports.size()) {
    out.reason = "all channels its routing offers are taken, or there is no route";
    std::uint32_t router = router_of(in);
    for (QueueNumber other : occupied())
      if (other != q && has_channel(s_, s_.queues[other]) && router_of(s_.port_of(other)) == router)
        waits_for.push_back(other);
  } else if (!has) {
    out.reason = fmt::format("requests a channel of {}", name(queue.out));
    for_each_rival(queue.out, [&](QueueNumber other) {
      if (queue.channels >> s_.queues[other].out_channel() & 1) waits_for.push_back(other);
    });
    if (waits_for.empty() && !(s_.ports[queue.out].flags & Port::kEndpoint)) {
      out.reason =
          fmt::format("requests room for {} flits behind {}", Entry(queue.entry).flits(), name(queue.out));
      for (unsigned c = 0; c < fabric_.settings.all_channels(); ++c)
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

/// A packet for many waits for each of its branches.
void Inspector::describe_copies(QueueNumber q, Waiting& out, std::vector<QueueNumber>& waits_for) const {
  const MulticastState& copies = fabric_.multicast;
  const Queue& queue = s_.queues[q];
  const TreeHop& hop = trees_->hop(Entry(queue.entry).destination());
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < hop.count; ++i) {
    const BranchState& branch = copies.branches_of(q)[i];
    if (branch.sent == Entry(queue.entry).flits()) continue;
    const PortNumber port = trees_->branch(hop.first + i).out;
    names.push_back(name(port));
    for (unsigned c = 0; c < copies.channels; ++c) queues_behind(port, copies.first_channel + c, waits_for);
  }
  out.reason = fmt::format("for many; still to be copied to {}", join(names, ", "));
}

std::optional<Waiting> Inspector::oldest_packet() const {
  std::vector<QueueNumber> places = occupied(), ignored;
  if (places.empty()) return std::nullopt;
  auto older = [&](QueueNumber a, QueueNumber b) {
    return first_packet(a).injected < first_packet(b).injected;
  };
  return describe(*std::min_element(places.begin(), places.end(), older), ignored);
}

bool Inspector::older_than(Cycle age, Cycle now) const {
  for (const Queue& queue : s_.queues)
    if (!queue.empty() && now - sources_.packets[Entry(queue.entry).id()].injected > age) return true;
  return false;
}

std::vector<Waiting> Inspector::who_waits() const {
  // From the oldest packet on, follow what each waits for, depth first; a queue met again closes a cycle.
  std::vector<QueueNumber> places = occupied();
  std::stable_sort(places.begin(), places.end(), [&](QueueNumber a, QueueNumber b) {
    return first_packet(a).created < first_packet(b).created;
  });
  enum class Seen { New, OnPath, Done };
  std::map<QueueNumber, Seen> seen;
  std::vector<std::pair<QueueNumber, std::vector<QueueNumber>>> path;
  std::vector<Waiting> longest;
  auto words = [&](auto from) {
    std::vector<Waiting> out;
    std::vector<QueueNumber> ignored;
    for (auto at = from; at != path.end(); ++at) out.push_back(describe(at->first, ignored));
    return out;
  };
  auto enter = [&](QueueNumber q) {
    seen[q] = Seen::OnPath;
    std::vector<QueueNumber> next;
    describe(q, next);
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
      if (seen[to] == Seen::New && !empty(to)) enter(to);
    }
  }
  return longest;
}

void Inspector::check_conservation(std::optional<std::uint64_t> in_network) const {
  const State& s = s_;
  std::vector<std::uint32_t> coming(s.channels.size(), 0), credits(s.channels.size(), 0);
  for (const Inbox& inbox : s.inboxes) {
    for (const HeadFlit& head : inbox.heads) ++coming[head.to];
    for (ChannelNumber body : inbox.bodies) ++coming[body];
    for (ChannelNumber credit : inbox.credits) ++credits[credit];
  }
  // Room is taken for a whole packet at once under cut-through: what of it is still to come is promised.
  std::vector<std::uint32_t> promised(s.channels.size(), 0), here(s.channels.size(), 0);
  const bool cut_through = fabric_.settings.switching == Switching::CutThrough;
  std::uint64_t flits = 0;
  for (QueueNumber q = 0; q < s.queues.size(); ++q) {
    const Queue& queue = s.queues[q];
    here[q >> s.output_bits] += queue.flits;
    if (cut_through && has_channel(s, queue))
      promised[(queue.out << s.channel_bits) + queue.out_channel()] += queue.left();
  }
  for (const auto& tile : fabric_.multicast.active)
    for (QueueNumber q : tile) {
      const Entry entry(s.queues[q].entry);
      const TreeHop& hop = trees_->hop(entry.destination());
      for (std::uint32_t i = 0; i < hop.count; ++i)
        if (const BranchState& branch = fabric_.multicast.branches_of(q)[i]; branch.has_channel())
          promised[(trees_->branch(hop.first + i).out << s.channel_bits) + branch.channel] +=
              entry.flits() - branch.sent;
    }
  for (PortNumber p = 0; p < s.ports.size(); ++p) {
    const bool endpoint = s.ports[p].flags & Port::kEndpoint;
    WEFT_CHECK(s.ports[p].spare <= s.rests[p].shared,
               fmt::format("port {}: {} flits of the shared buffer free, which has {}", p,
                           static_cast<std::int16_t>(s.ports[p].spare), s.rests[p].shared));
    EndpointId e = endpoint ? fabric_.graph.port_endpoint(p) : kNone;
    for (unsigned c = 0; c < fabric_.settings.all_channels(); ++c) {
      // The output side of p, or the endpoint behind it, against the queues it sends to.
      ChannelNumber own = (p << s.channel_bits) + c, to = s.ports[p].peer + c;
      std::uint64_t owed = promised[own];
      if (endpoint) {
        owed = 0;
        for (std::size_t i = e; cut_through && i < sources_.senders.size(); i += sources_.endpoints)
          if (const Sender& sender = sources_.senders[i]; sender.current != kNoPacket && sender.channel == c)
            owed = sender.left;
      }
      if (p < fabric_.graph.ports() && !endpoint && fabric_.graph.peer(p) == kNone) continue;
      if (s.ports[p].flags & Port::kLinkLayer) continue;  // its link knows what is under way
      WEFT_CHECK(
          s.channels[own].used == here[to] + coming[to] + credits[own] + owed,
          fmt::format(
              "port {} channel {}: {} taken, but {} there, {} coming, {} credits on their way, {} promised",
              p, c, s.channels[own].used, here[to], coming[to], credits[own], owed));
      flits += here[to] + coming[to];
    }
  }
  WEFT_CHECK(!in_network || flits == *in_network,
             fmt::format("{} flits found, {} on the books", flits, in_network.value_or(0)));
}

}  // namespace weft::network::flit
