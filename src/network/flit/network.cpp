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
  const unsigned channels = router.channels * router.message_classes;
  unsigned room = router.buffer_flits.given.value_or(usual_packet_flits(m));
  if (channels == 1 && router.buffer_flits.given) room += router.shared_flits;
  const unsigned inner =
      m.description.router_kind->model(m.description.router_parameters.get()).smallest_inner_flits;
  room = std::min(room, std::max(1u, inner / channels));
  return std::min<unsigned>(room, Entry::kMaxFlits);
}

class FlitNetwork final : public Network, private Traffic {
 public:
  FlitNetwork(const machine::Machine& machine, const EngineOptions& options)
      : flit_(static_cast<std::uint64_t>(machine.description.router.flit.value)),
        largest_flits_(largest_packet_flits(machine)),
        links_(make_links(machine, options)),
        engine_(*machine.graph, *machine.routing, settings(machine, options), links_.get()),
        message_classes_(engine_.settings().message_classes),
        waiting_(machine.graph->endpoints()) {
    for (unsigned t = 0; t < engine_.settings().threads; ++t) ears_.push_back(std::make_unique<Ear>(*this));
    for (auto& ear : ears_) observers_.push_back(ear.get());
  }

  std::uint64_t largest_packet() const override { return largest_flits_ * flit_; }
  bool idle() const override { return under_way_ == 0 && notices_.empty(); }

  std::vector<Incident> incidents() const override {
    std::vector<Incident> out;
    if (links_)
      for (const auto& entry : links_->timeline())
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
    s.threads = options.threads;
    s.tell_departures = true;
    return s;
  }

  /// For the cables that have bit errors or will break, where there are any.
  static std::unique_ptr<LinkLayer> make_links(const machine::Machine& machine,
                                               const EngineOptions& options) {
    if (!LinkLayer::needed(machine, options.faults)) return nullptr;
    return std::make_unique<LinkLayer>(machine, settings(machine, options), options.faults);
  }

  const CycleTime& clock() const { return engine_.settings().cycle; }

  void accept(const Packet& packet, Time at) override {
    WEFT_CHECK(packet.bytes <= largest_packet(), "packets are no larger than the network takes");
    WEFT_CHECK(packet.message_class < message_classes_, "a message class the router has");
    auto flits = std::max<std::uint64_t>(1, (packet.bytes + flit_ - 1) / flit_);
    Cycle cycle = std::max(engine_.now(), clock().cycles(at));
    auto& list = waiting_[packet.source];
    // In order of times; nearly always the last.
    auto place = list.end();
    while (place != list.begin() && std::prev(place)->at > cycle) --place;
    bool first = place == list.begin();
    list.insert(place, {{packet.destination, static_cast<std::uint16_t>(flits), packet.message_class,
                         packet.tag, clock().remainder(at, clock().cycles(at))},
                        cycle});
    if (first) engine_.ask(packet.source, cycle);
    ++under_way_;
  }

  /// What is told in a cycle is known at its end and answered from the next one on, a reaction time later:
  /// for so long tiles may run alone.
  void reaction_time_changed() override {
    constexpr std::uint64_t kMost = 1u << 16;
    engine_.limit_window(static_cast<unsigned>(1 + std::min(kMost, clock().whole_cycles(reaction_time()))));
  }

  void run(Time until, std::vector<Notice>& notices) override {
    while (under_way_ > 0 && !engine_.stalled()) {
      Time bound = notices_.empty() ? until : std::min(until, later(notices_.top().at, reaction_time()));
      Cycle last = clock().cycles(bound);
      if (engine_.now() >= last) break;
      engine_.run(*this, observers_, last);
      for (auto& ear : ears_) gather(*ear);
    }
    // Of a network that stands still, what happened before it did.
    if (engine_.stalled()) {
      until = std::min(until, clock().time(engine_.now()));
      if (notices_.empty() || notices_.top().at > until) throw Stalled(explain());
    }
    if (notices_.empty()) return;
    const Time first = notices_.top().at;
    for (; !notices_.empty() && notices_.top().at <= until && in_batch(first, notices_.top().at);
         notices_.pop())
      notices.push_back(notices_.top());
  }

  // What the engine asks, from the thread that owns the source.
  Cycle first(EndpointId) override { return kNever; }  // accept() asks
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

  /// What the engine tells, heard by one of its threads.
  class alignas(64) Ear final : public Observer {
   public:
    explicit Ear(FlitNetwork& network) : network_(network) {}
    void delivered(const Delivery& delivery) override {
      ++settled;
      tell({delivery.tag, network_.clock().time(delivery.delivered, delivery.remainder),
            Notice::Kind::Delivered});
    }
    void lost(const Delivery& report) override {
      ++settled;
      tell({report.tag, network_.clock().time(report.delivered), Notice::Kind::Lost});
    }
    void departed(Tag tag, Cycle cycle) override {
      tell({tag, network_.clock().time(cycle + 1), Notice::Kind::Departed});
    }

    std::vector<Notice> notices;
    std::uint64_t settled = 0;  // packets that are no longer under way

   private:
    /// The caller may answer a reaction time later: no cycle runs that the answer could change.
    void tell(const Notice& notice) {
      notices.push_back(notice);
      network_.engine_.stop_by(network_.clock().cycles(later(notice.at, network_.reaction_time())));
    }
    FlitNetwork& network_;
  };

  void gather(Ear& ear) {
    for (const Notice& notice : ear.notices) notices_.push(notice);
    ear.notices.clear();
    under_way_ -= std::exchange(ear.settled, 0);
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
  std::unique_ptr<LinkLayer> links_;
  Engine engine_;
  unsigned message_classes_;
  std::vector<std::deque<Due>> waiting_;    // by source
  std::vector<std::unique_ptr<Ear>> ears_;  // by thread
  std::vector<Observer*> observers_;        // the same
  std::priority_queue<Notice, std::vector<Notice>, Later> notices_;
  std::uint64_t under_way_ = 0;
};

WEFT_REGISTER(EngineKind,
              {"flit", "every flit, buffer and credit, cycle by cycle: the reference",
               [](const machine::Machine& machine, const EngineOptions& options) -> std::unique_ptr<Network> {
                 return std::make_unique<FlitNetwork>(machine, options);
               },
               true});

}  // namespace

}  // namespace weft::network::flit
