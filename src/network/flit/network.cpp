// The flit engine as a Network: packets handed over at a time become flits, cycles become times.
#include "network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>
#include <tuple>

#include "network/flit/buffers.hpp"
#include "network/flit/engine.hpp"

namespace weft::network::flit {

namespace {

unsigned largest_packet_flits(const machine::Machine& m) {
  const auto& router = m.description.router;
  if (router.switching == Switching::Wormhole) return Entry::kMaxFlits;
  unsigned channels = router.channels * router.message_classes;
  unsigned room = router.buffer_flits.given.value_or(usual_packet_flits(m));
  if (channels == 1 && router.buffer_flits.given) room += router.shared_flits;
  if (router.kind == RouterKind::Tiled)
    room = std::min(room,
                    std::max(1u, std::min(router.row_buffer_flits, router.column_buffer_flits) / channels));
  return std::min<unsigned>(room, Entry::kMaxFlits);
}

class FlitNetwork : public Network, private Traffic, private Observer {
 public:
  FlitNetwork(const machine::Machine& machine, const EngineOptions& options)
      : flit_(static_cast<std::uint64_t>(machine.description.router.flit.value)),
        largest_flits_(largest_packet_flits(machine)),
        guard_(make_guard(machine, options)),
        engine_(*machine.graph, *machine.routing, settings(machine, options), guard_.get()),
        waiting_(machine.graph->endpoints()) {
    message_classes_ = engine_.settings().message_classes;
  }

  Time now() const override { return now_; }
  std::uint64_t largest_packet() const override { return largest_flits_ * flit_; }
  bool idle() const override { return under_way_ == 0 && notices_.empty(); }

  void send(const Packet& packet, Time at) override {
    WEFT_CHECK(at >= now_, "packets are sent now or later");
    WEFT_CHECK(packet.bytes <= largest_packet(), "packets are no larger than the network takes");
    WEFT_CHECK(packet.message_class < message_classes_, "a message class the router has");
    auto flits = std::max<std::uint64_t>(1, (packet.bytes + flit_ - 1) / flit_);
    const CycleTime& clock = engine_.settings().cycle;
    Cycle cycle = std::max(engine_.now(), clock.cycles(at));
    auto& list = waiting_[packet.source];
    // In order of times; nearly always the last.
    auto place = list.end();
    while (place != list.begin() && std::prev(place)->at > cycle) --place;
    bool first = place == list.begin();
    list.insert(place, {{packet.destination, static_cast<std::uint16_t>(flits), packet.message_class,
                         packet.tag, clock.remainder(at, clock.cycles(at))},
                        cycle});
    if (first) engine_.ask(packet.source, cycle);
    ++under_way_;
  }

  void advance(Time until, std::vector<Notice>& notices) override {
    const CycleTime& clock = engine_.settings().cycle;
    for (;;) {
      if (!notices_.empty() && notices_.top().at <= std::min(until, clock.time(engine_.now()))) break;
      Time first = notices_.empty() ? until : std::min(until, notices_.top().at);
      Cycle last = clock.cycles(first);
      if (under_way_ == 0 || engine_.now() >= last) {
        if (!notices_.empty() && notices_.top().at <= until) break;
        now_ = std::max(now_, until);
        return;
      }
      engine_.run(*this, {this}, last);
      if (engine_.stalled()) throw Stalled(explain());
    }
    now_ = std::max(now_, notices_.top().at);
    Time at = notices_.top().at;
    for (; !notices_.empty() && notices_.top().at == at; notices_.pop()) notices.push_back(notices_.top());
  }

  std::vector<Incident> incidents() const override {
    std::vector<Incident> out;
    if (guard_)
      for (const auto& entry : guard_->timeline())
        out.push_back({engine_.settings().cycle.time(entry.at), entry.what});
    return out;
  }

  std::vector<std::string> explain() const override {
    std::vector<std::string> out;
    for (const Waiting& hop : engine_.explain_stall())
      out.push_back(fmt::format("{} channel {}: packet from endpoint {} to {}, made in cycle {}: {}",
                                hop.place, hop.channel, hop.source, hop.destination, hop.created,
                                hop.reason));
    return out;
  }

 private:
  static Settings settings(const machine::Machine& machine, const EngineOptions& options) {
    Settings s = settings_for(machine, largest_packet_flits(machine));
    s.seed = options.seed;
    s.tell_departures = true;
    return s;
  }

  /// For the cables that have bit errors or will break, where there are any.
  static std::unique_ptr<Guard> make_guard(const machine::Machine& machine, const EngineOptions& options) {
    if (!Guard::needed(machine, options.faults)) return nullptr;
    return std::make_unique<Guard>(machine, settings(machine, options), options.faults);
  }

  // What the engine asks and tells.
  Cycle first(EndpointId) override { return kNever; }  // send() asks
  bool create(EndpointId source, Cycle now, NewPacket& packet, Cycle& next) override {
    auto& list = waiting_[source];
    bool due = !list.empty() && list.front().at <= now;
    if (due) {
      packet = list.front().packet;
      list.pop_front();
    }
    if (!list.empty()) next = std::max(list.front().at, now + 1);
    return due;
  }
  void delivered(const Delivery& delivery) override {
    --under_way_;
    tell({delivery.tag, engine_.settings().cycle.time(delivery.delivered, delivery.remainder),
          Notice::Kind::Delivered});
  }
  void lost(const Delivery& report) override {
    --under_way_;
    tell({report.tag, engine_.settings().cycle.time(report.delivered), Notice::Kind::Lost});
  }
  void departed(Tag tag, Cycle cycle) override {
    tell({tag, engine_.settings().cycle.time(cycle + 1), Notice::Kind::Departed});
  }
  void tell(const Notice& notice) {
    notices_.push(notice);
    engine_.stop();
  }

  struct Due {
    NewPacket packet;
    Cycle at;
  };
  struct Later {
    bool operator()(const Notice& a, const Notice& b) const {
      return std::tie(a.at, a.kind, a.tag) > std::tie(b.at, b.kind, b.tag);
    }
  };
  std::uint64_t flit_;
  std::uint64_t largest_flits_;
  unsigned message_classes_ = 1;
  std::unique_ptr<Guard> guard_;
  Engine engine_;
  std::vector<std::deque<Due>> waiting_;  // by source
  std::priority_queue<Notice, std::vector<Notice>, Later> notices_;
  std::uint64_t under_way_ = 0;
  Time now_{0};
};

WEFT_REGISTER(EngineKind,
              {"flit", "every flit, buffer and credit, cycle by cycle: the reference",
               [](const machine::Machine& machine, const EngineOptions& options) -> std::unique_ptr<Network> {
                 return std::make_unique<FlitNetwork>(machine, options);
               },
               true});

}  // namespace

}  // namespace weft::network::flit
