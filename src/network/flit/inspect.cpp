// The slow side of the engine: what it looks like from outside, why nothing moves, and whether everything
// adds up.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "network/flit/worker.hpp"

namespace weft::network::flit {

using topology::kNone;
using topology::PortId;
using topology::RouterId;

template <int W>
const InputQueue& Engine::queue_at(Place place) const {
  return view<W>(graph_.port_router(place.port))
      .queue[graph_.port_index(place.port) * layout_.stride() + place.channel];
}

std::vector<Engine::Place> Engine::occupied() const {
  return with_width([&]<int W>() {
    std::vector<Place> out;
    for (PortId p = 0; p < graph_.ports(); ++p)
      for (unsigned c = 0; c < settings_.all_channels(); ++c)
        if (queue_at<W>({p, c}).packets > 0) out.push_back({p, c});
    return out;
  });
}

/// Says what the first packet of a queue waits for, and which other queues must move before it can.
template <int W>
Waiting Engine::describe(Place place, std::vector<Place>& waits_for) const {
  RouterId r = graph_.port_router(place.port);
  View<W> v = view<W>(r);
  unsigned bit = graph_.port_index(place.port) * layout_.stride() + place.channel;
  const InputQueue& q = v.queue[bit];
  Entry entry(v.ring[std::size_t{bit} * layout_.ring() + q.first]);
  const PacketRecord& record = packets_[entry.id()];
  Waiting out{place.port, place.channel, record.source, record.destination, record.created, ""};

  auto has = [&](const std::uint64_t(&mask)[W], unsigned b) { return View<W>::has(mask, b); };
  bool waits = has(v.masks->waiting, bit) || has(v.masks->soon, bit) || has(v.masks->later, bit);
  bool undecided = q.out_port >= v.header->ports;
  auto name = [&](unsigned p) { return graph_.port_name(v.header->port_begin + p); };
  if (waits && undecided) {
    out.reason = "all ways its routing offers are taken, or there is none";
    for (unsigned other = 0; other < v.header->ports * layout_.stride(); ++other)
      if (other != bit && has(v.masks->active, other))
        waits_for.push_back({v.header->port_begin + other / layout_.stride(), other % layout_.stride()});
  } else if (waits) {
    out.reason = fmt::format("asks for a channel of {}", name(q.out_port));
    for (unsigned other = 0; other < v.header->ports * layout_.stride(); ++other) {
      const InputQueue& holder = v.queue[other];
      bool holds = has(v.masks->active, other) && holder.out_port == q.out_port &&
                   (q.channels >> holder.out_channel & 1);
      if (holds)
        waits_for.push_back({v.header->port_begin + other / layout_.stride(), other % layout_.stride()});
    }
    if (waits_for.empty() && v.port[q.out_port].peer != kNone) {
      out.reason = fmt::format("asks for room for {} flits behind {}", entry.flits(), name(q.out_port));
      for (unsigned c = 0; c < settings_.all_channels(); ++c)
        if (q.channels >> c & 1) waits_for.push_back({v.port[q.out_port].peer, c});
    }
  } else if (q.flits == 0) {
    out.reason = "the rest of it has not come yet";
    PortId before = graph_.peer(place.port);
    if (before != kNone) {
      View<W> u = view<W>(graph_.port_router(before));
      for (unsigned other = 0; other < u.header->ports * layout_.stride(); ++other)
        if (View<W>::has(u.masks->active, other) && u.queue[other].out_port == graph_.port_index(before) &&
            u.queue[other].out_channel == place.channel)
          waits_for.push_back({u.header->port_begin + other / layout_.stride(), other % layout_.stride()});
    }
  } else {
    out.reason =
        fmt::format("holds channel {} of {} and waits for room behind it", q.out_channel, name(q.out_port));
    if (v.port[q.out_port].peer != kNone) waits_for.push_back({v.port[q.out_port].peer, q.out_channel});
  }
  return out;
}

std::optional<Waiting> Engine::oldest_packet() const {
  return with_width([&]<int W>() -> std::optional<Waiting> {
    std::optional<Waiting> oldest;
    for (Place place : occupied()) {
      std::vector<Place> ignored;
      Waiting here = describe<W>(place, ignored);
      if (!oldest || here.created < oldest->created) oldest = here;
    }
    return oldest;
  });
}

std::vector<Waiting> Engine::explain_stall() const {
  return with_width([&]<int W>() {
    // From the oldest packet on, follow what each waits for, depth first; a queue met again closes a circle.
    std::vector<Place> places = occupied();
    auto created = [&](Place place) {
      std::vector<Place> ignored;
      return describe<W>(place, ignored).created;
    };
    std::stable_sort(places.begin(), places.end(), [&](Place a, Place b) { return created(a) < created(b); });
    enum class Seen { New, OnPath, Done };
    std::map<Place, Seen> seen;
    std::vector<std::pair<Place, std::vector<Place>>> path;
    std::vector<Waiting> longest;
    auto words = [&](auto from) {
      std::vector<Waiting> out;
      std::vector<Place> ignored;
      for (auto at = from; at != path.end(); ++at) out.push_back(describe<W>(at->first, ignored));
      return out;
    };
    auto enter = [&](Place place) {
      seen[place] = Seen::OnPath;
      std::vector<Place> next;
      if (queue_at<W>(place).packets > 0) describe<W>(place, next);
      path.emplace_back(place, next);
    };
    for (Place start : places) {
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
        Place to = next.back();
        next.pop_back();
        if (seen[to] == Seen::OnPath)
          return words(
              std::find_if(path.begin(), path.end(), [&](const auto& step) { return step.first == to; }));
        if (seen[to] == Seen::New && queue_at<W>(to).packets > 0) enter(to);
      }
    }
    return longest;
  });
}

void Engine::check_conservation() const {
  with_width([&]<int W>() {
    std::uint64_t flits = 0;
    for (PortId p = 0; p < graph_.ports(); ++p) {
      View<W> v = view<W>(graph_.port_router(p));
      unsigned i = graph_.port_index(p);
      for (unsigned c = 0; c < settings_.all_channels(); ++c) {
        std::uint64_t here = v.queue[i * layout_.stride() + c].flits;
        std::uint64_t coming = 0, credits = 0;
        PortId from = graph_.peer(p);
        PortId credit_port = from == kNone ? p : from;
        for (std::uint32_t slot = 0; slot < links_.slots; ++slot) {
          auto flit = static_cast<unsigned>(links_.flit[slot * links_.ports + p]);
          auto credit = static_cast<unsigned>(links_.credit[slot * links_.ports + credit_port]);
          coming += flit != 0 && (flit & static_cast<unsigned>(FlitByte::kChannel)) == c;
          credits += credit == c + 1;
        }
        flits += here + coming;
        std::uint64_t used = 0, promised = 0;
        if (from != kNone) {
          View<W> u = view<W>(graph_.port_router(from));
          used = u.used[graph_.port_index(from) * layout_.stride() + c];
          if (settings_.switching == Switching::CutThrough)  // room is taken for the whole packet at once
            for (unsigned other = 0; other < u.header->ports * layout_.stride(); ++other)
              if (View<W>::has(u.masks->active, other) &&
                  u.queue[other].out_port == graph_.port_index(from) && u.queue[other].out_channel == c)
                promised += u.queue[other].left;
        } else if (EndpointId e = graph_.port_endpoint(p); e != kNone) {
          used = sender_used_[std::size_t{e} * layout_.stride() + c];
          if (settings_.switching == Switching::CutThrough && senders_[e].current != kNoPacket &&
              senders_[e].channel == c)
            promised = senders_[e].left;
        }
        WEFT_CHECK(
            used == here + coming + credits + promised,
            fmt::format(
                "{} channel {}: {} taken, but {} here, {} coming, {} credits on their way, {} promised",
                graph_.port_name(p), c, used, here, coming, credits, promised));
      }
    }
    std::uint64_t in_network = 0;
    for (const auto& worker : workers_) in_network += worker->in_network;
    WEFT_CHECK(flits == in_network, fmt::format("{} flits found, {} on the books", flits, in_network));
  });
}

}  // namespace weft::network::flit
