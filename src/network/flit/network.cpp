// The flit engine as a Network: packets handed over at a time become flits, cycles become times.
#include "network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <queue>

#include "network/flit/buffers.hpp"
#include "network/flit/engine.hpp"
#include "network/part.hpp"

namespace weft::network::flit {

namespace {

unsigned largest_packet_flits(const machine::Machine& m) {
  const auto& router = m.description.router;
  if (router.switching == Switching::Wormhole) return Entry::kMaxFlits;
  const machine::RouterModel model = m.description.router_kind->model(m.description.router_parameters.get());
  const unsigned channels = router.channels * (router.all_classes() + model.multicast);
  unsigned room = router.buffer_flits.given.value_or(usual_packet_flits(m));
  if (channels == 1 && router.buffer_flits.given) room += router.shared_flits;
  room = std::min(room, std::max(1u, model.smallest_inner_flits / channels));
  return std::min<unsigned>(room, Entry::kMaxFlits);
}

class FlitNetwork final : public Network, private Traffic, private Companion {
 public:
  FlitNetwork(const machine::Machine& machine, const EngineOptions& options)
      : graph_(*machine.graph),
        ranks_(options.ranks && options.ranks->count() > 1 ? options.ranks : nullptr),
        part_(part_of(graph_, ranks_)),
        flit_(static_cast<std::uint64_t>(machine.description.router.flit.value)),
        largest_flits_(largest_packet_flits(machine)),
        links_(make_links(machine, options)),
        engine_(*machine.graph, *machine.routing, settings(machine, options), links_.get()),
        message_classes_(engine_.settings().message_classes),
        waiting_(part_.endpoints.size() * engine_.settings().traffic_classes()),
        last_asked_(engine_.settings().weighted() ? part_.endpoints.size() : 0) {
    for (unsigned t = 0; t < engine_.threads(); ++t) listeners_.push_back(std::make_unique<Listener>(*this));
    for (auto& listener : listeners_) observers_.push_back(listener.get());
    if (ranks_) engine_.take_along(*this);
  }

  std::uint64_t largest_packet() const override { return largest_flits_ * flit_; }
  // What is for many, and what many make, is not shared among ranks: callers send and combine themselves.
  bool multicasts() const override { return !ranks_ && engine_.settings().multicast(); }
  GroupNumber group(std::span<const EndpointId> members) override {
    WEFT_CHECK(multicasts(), "a packet for many is sent only where routers copy it");
    return engine_.group(members);
  }
  bool reduces() const override { return !ranks_ && engine_.settings().reduces(); }
  ReductionNumber reserve_reduction(std::span<const EndpointId> members, unsigned rounds) override {
    WEFT_CHECK(reduces(), "reductions are asked for only where routers reduce");
    return engine_.reserve_reduction(members, rounds);
  }
  void release_reduction(ReductionNumber number) override { engine_.reductions().release(number); }
  std::vector<ReductionStep> reduction_steps(ReductionNumber number) const override {
    return engine_.reductions().steps(number);
  }
  bool idle() const override { return under_way_ == 0 && notices_.empty(); }

  PortState port_state(topology::PortId port) const override {
    if (ranks_) return {};  // each rank knows its own part, and callers must all hear the same
    const topology::PortId peer = graph_.peer(port);
    PortState state = links_ ? links_->port_state(port) : PortState{};
    state.counts = true;
    state.sent = engine_.sent(port);
    for (unsigned c = 0; engine_.settings().weighted() && c < engine_.settings().traffic_classes(); ++c)
      state.sent_of_class[c] = engine_.sent(port, c);
    if (peer != topology::kNone) state.received = engine_.sent(peer);
    return state;
  }
  const routing::Routing* routes_in_force() const override { return links_ ? &links_->routing() : nullptr; }

  std::vector<Incident> incidents() const override {
    std::vector<Incident> out;
    if (links_)
      for (const auto& entry : links_->timeline())
        out.push_back({engine_.settings().cycle.time(entry.at), entry.what});
    return out;
  }

  std::vector<std::string> explain() const override {
    std::vector<std::string> out;
    if (ranks_ && engine_.stalled())
      out.emplace_back("who waits for whom goes across ranks, and none sees it whole: one process does");
    for (const Waiting& hop : engine_.explain_stall())
      out.push_back(fmt::format("{} channel {}: packet from endpoint {} to {}, made in cycle {}: {}",
                                hop.place, hop.channel, hop.source, hop.destination, hop.created,
                                hop.reason));
    return out;
  }

 private:
  struct Message;
  static constexpr std::uint32_t kNoRound = 0xffff'ffff;
  static constexpr unsigned kFewFlits = 8;  // packets below this are counted: no window is longer
  /// What one rank tells the others: these, and so many numbers of messages; then notices.
  struct Told {
    std::array<std::uint64_t, kFewFlits> short_ends;
    std::uint64_t settled, losses;
  };

  static Settings settings(const machine::Machine& machine, const EngineOptions& options) {
    Settings s = settings_for(machine, largest_packet_flits(machine));
    s.seed = options.seed;
    s.threads = options.threads;
    s.ranks = options.ranks && options.ranks->count() > 1 ? options.ranks : nullptr;
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
    accept_message(packet, at);
  }

  void accept_message(const Packet& message, Time at) override {
    WEFT_CHECK(message.message_class < message_classes_, "a message class the router has");
    Cycle cycle = std::max(engine_.now(), clock().cycles(at));
    const auto flits = std::max<std::uint64_t>(1, (message.bytes + flit_ - 1) / flit_);
    const auto packets = static_cast<std::uint32_t>((flits + largest_flits_ - 1) / largest_flits_);
    const auto last_flits = static_cast<unsigned>(flits - std::uint64_t{packets - 1} * largest_flits_);
    const std::uint32_t number = take_number(message.tag, packets, last_flits);
    std::uint32_t round = 0;
    if (message.group != kNoGroup) prepare_for_many(message, packets, messages_[number]);
    if (message.reduction != kNoReduction) round = hand_in(message, number, static_cast<unsigned>(flits));
    if (part_.has_endpoint(message.source))
      wait(message, {number, message.destination, message.message_class, message.group, message.reduction,
                     round, flits, clock().remainder(at, clock().cycles(at)), cycle});
    ++under_way_;
    if (last_flits < kFewFlits) ++short_ends_[last_flits];
  }

  struct Due;
  /// At its source, which is here.
  void wait(const Packet& message, const Due& due) {
    auto& list = waiting_[lane(message.source, engine_.settings().traffic_class_of(message.message_class))];
    // In order of times; nearly always the last.
    auto place = list.end();
    while (place != list.begin() && std::prev(place)->at > due.at) --place;
    const bool first = place == list.begin();
    list.insert(place, due);
    if (first) engine_.ask(message.source, due.at);
  }

  void prepare_for_many(const Packet& packet, std::uint32_t packets, Message& message) {
    const auto& members = engine_.members(packet.group);
    const auto others = static_cast<std::uint32_t>(
        members.size() - std::binary_search(members.begin(), members.end(), packet.source));
    WEFT_CHECK(packets == 1 && others > 0, "what is for many is one packet, and for somebody");
    engine_.plant_tree(packet.group, packet.source);
    message.for_many = true;
    message.arriving.store(others, std::memory_order_relaxed);
  }

  /// A contribution is under way until it has departed. What it is delivered with is under way as soon as all
  /// of its round have been handed in: before that nothing that is under way can bring it about.
  std::uint32_t hand_in(const Packet& packet, std::uint32_t number, unsigned flits) {
    WEFT_CHECK(flits <= largest_flits_, "a contribution is one packet");
    Reductions& all = engine_.reductions();
    const std::uint32_t index = round_index(packet.reduction, packet.round);
    ReductionRound& round = engine_.reduction_rounds()[index];
    ReductionRound::Given& given = round.given[all.index_of(packet.reduction, packet.source)];
    WEFT_CHECK(!given.handed_in, "a member contributes once to a round");
    given = {number, static_cast<std::uint16_t>(flits), true};
    Message& message = messages_[number];
    message.round = index;
    const bool complete =
        std::all_of(round.given.begin(), round.given.end(), [](const auto& each) { return each.handed_in; });
    if (complete && all.entry(packet.reduction, packet.source) != kNoHop) {
      complete_[index] = true;
      under_way_ += round.given.size();
    }
    return index;
  }

  /// Rounds under way are fewer than twice those that a member may be ahead of another.
  std::uint32_t round_index(ReductionNumber reduction, std::uint64_t number) {
    auto& rounds = engine_.reduction_rounds();
    if (open_.size() <= reduction) open_.resize(reduction + 1);
    auto& open = open_[reduction];
    const std::uint64_t places = 2 * engine_.reductions().rounds(reduction);
    open.resize(places, kNoRound);
    std::uint32_t& index = open[number % places];
    if (index != kNoRound && rounds[index].number == number) return index;
    WEFT_CHECK(index == kNoRound, "no member is further ahead of another than there are rounds");
    if (free_rounds_.empty()) {
      free_rounds_.push_back(static_cast<std::uint32_t>(rounds.size()));
      rounds.emplace_back();
      awaited_.push_back(0);
      complete_.push_back(false);
    }
    index = free_rounds_.back();
    free_rounds_.pop_back();
    ReductionRound& round = rounds[index];
    round.reduction = reduction;
    round.number = number;
    round.slot = static_cast<std::uint32_t>(number % engine_.reductions().rounds(reduction));
    round.one_by_one = false;
    round.given.assign(engine_.reductions().members(reduction).size(), {});
    awaited_[index] = static_cast<std::uint32_t>(round.given.size());
    complete_[index] = false;
    return index;
  }

  /// A message under way has a number, which is the tag of its packets.
  std::uint32_t take_number(Tag tag, std::uint32_t packets, unsigned last_flits) {
    if (free_numbers_.empty()) {
      free_numbers_.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.emplace_back();
    }
    const std::uint32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    Message& message = messages_[number];
    message.tag = tag;
    message.leaving = packets;
    message.last_flits = last_flits;
    message.arrived = {0};
    message.arriving.store(packets, std::memory_order_relaxed);
    message.for_many = false;
    message.round = kNoRound;
    message.lost.store(false, std::memory_order_relaxed);
    return number;
  }

  void reaction_time_changed() override { set_window(); }

  /// What is told in a cycle is of a later time, and answered a reaction time after that: for so long tiles
  /// may run alone. A delivery is told a way out of the last router ahead; a departure a packet's length
  /// ahead, and only that of a message's last packet counts.
  void set_window() {
    constexpr std::uint64_t kMost = 1u << 16;
    unsigned lead = std::min(engine_.delivery_lead(), kFewFlits);
    for (unsigned flits = 1; flits < kFewFlits; ++flits)
      if (short_ends_[flits] > 0) lead = std::min(lead, flits);
    if (!engine_.tells_ahead()) lead = 1;
    engine_.limit_window(
        static_cast<unsigned>(lead + std::min(kMost, clock().whole_cycles(reaction_time()))));
  }

  void run(Time until, std::vector<Notice>& notices) override {
    while (under_way_ > 0 && !engine_.stalled()) {
      Time bound = notices_.empty() ? until : std::min(until, later(notices_.top().at, reaction_time()));
      Cycle last = clock().cycles(bound);
      if (engine_.now() >= last) break;
      set_window();
      engine_.run(*this, observers_, last);
      if (ranks_)
        settle_late();
      else
        for (auto& listener : listeners_) gather(*listener);
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
    auto& list = waiting_[next_lane(source, now)];
    bool due = !list.empty() && list.front().at <= now;
    if (due) {
      Due& message = list.front();
      const std::uint64_t flits = std::min(message.left, largest_flits_);
      packet = {message.destination,   static_cast<std::uint16_t>(flits),
                message.message_class, message.number,
                message.remainder,     message.group,
                message.reduction,     message.round};
      if (message.reduction != kNoReduction)
        engine_.reduction_rounds()[message.round]
            .given[engine_.reductions().index_of(message.reduction, source)]
            .made = true;
      message.left -= flits;
      if (message.left == 0) list.pop_front();
    }
    for (unsigned c = 0; c < engine_.settings().traffic_classes(); ++c)
      if (const auto& waiting = waiting_[lane(source, c)]; !waiting.empty())
        next = std::min(next, std::max(waiting.front().at, now + 1));
    return due;
  }

  std::size_t lane(EndpointId source, unsigned traffic_class) const {
    return source - part_.endpoints.begin + std::size_t{traffic_class} * part_.endpoints.size();
  }
  /// Messages of one class are made packets of in their order, classes in turn: none waits for another's.
  std::size_t next_lane(EndpointId source, Cycle now) {
    const unsigned classes = engine_.settings().traffic_classes();
    if (classes == 1) return lane(source, 0);
    std::uint8_t& last = last_asked_[source - part_.endpoints.begin];
    for (unsigned i = 1; i <= classes; ++i) {
      const unsigned c = (last + i) % classes;
      const auto& list = waiting_[lane(source, c)];
      if (list.empty() || list.front().at > now) continue;
      last = static_cast<std::uint8_t>(c);
      return lane(source, c);
    }
    return lane(source, 0);
  }

  /// What the engine tells, heard by one of its threads.
  class alignas(64) Listener final : public Observer {
   public:
    explicit Listener(FlitNetwork& network) : network_(network) {}
    void delivered(const Delivery& delivery) override {
      if (delivery.tag & kResultTag) return result(delivery, Notice::Kind::Delivered);
      Message& message = network_.messages_[delivery.tag];
      if (message.for_many) {
        settles(delivery.tag);
        return tell({message.tag, network_.clock().time(delivery.delivered, delivery.remainder),
                     Notice::Kind::Delivered, delivery.destination});
      }
      // One that leaves its last router earlier may be there later: remainders of its hops add up.
      message.arrived =
          std::max(message.arrived, network_.clock().time(delivery.delivered, delivery.remainder));
      if (settles(delivery.tag) && !message.lost.load(std::memory_order_relaxed))
        tell({message.tag, message.arrived, Notice::Kind::Delivered});
    }
    void lost(const Delivery& report) override {
      if (report.tag & kResultTag) return result(report, Notice::Kind::Lost);
      Message& message = network_.messages_[report.tag];
      if (message.round != kNoRound) {
        // No tree joins the members of its reduction any more.
        if (message.leaving > 0) leave(message);
        return result({report.source, report.source, report.flits, report.message_class, 0, report.created, 0,
                       report.delivered, kResultTag | message.round},
                      Notice::Kind::Lost);
      }
      if (network_.ranks_) {
        losses.push_back(static_cast<std::uint32_t>(report.tag));
      } else {
        message.lost.store(true, std::memory_order_relaxed);
        settles(report.tag);
      }
      tell({message.tag, network_.clock().time(report.delivered), Notice::Kind::Lost,
            message.for_many ? report.destination : topology::kNone});
    }
    void departed(Tag number, Cycle cycle) override {
      Message& message = network_.messages_[number];
      if (--message.leaving > 0) return;
      if (message.round != kNoRound) ++left;
      if (message.last_flits < kFewFlits) ++short_ends_left[message.last_flits];
      tell({message.tag, network_.clock().time(cycle + 1), Notice::Kind::Departed});
    }

    std::vector<Notice> notices;
    std::vector<std::uint32_t> settled;                          // messages that are no longer under way
    std::vector<std::uint32_t> losses;                           // on ranks: by packet, the message it was of
    std::uint64_t left = 0;                                      // contributions that have departed
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ended;  // of them, with their rounds: all is told
    std::array<std::uint64_t, kFewFlits> short_ends_left = {};   // by flits: last packets that have started

   private:
    /// What a round has made has come to a member, or will not: its own contribution is what is told of.
    void result(const Delivery& delivery, Notice::Kind kind) {
      const auto index = static_cast<std::uint32_t>(delivery.tag & ~kResultTag);
      ReductionRound& round = network_.engine_.reduction_rounds()[index];
      ReductionRound::Given& given =
          round.given[network_.engine_.reductions().index_of(round.reduction, delivery.destination)];
      given.delivered = true;
      ended.push_back({static_cast<std::uint32_t>(given.tag), index});
      tell({network_.messages_[given.tag].tag, network_.clock().time(delivery.delivered, delivery.remainder),
            kind});
    }
    void leave(Message& message) {
      message.leaving = 0;
      ++left;
      if (message.last_flits < kFewFlits) ++short_ends_left[message.last_flits];
    }
    /// The caller may answer a reaction time later: no cycle runs that the answer could change.
    void tell(const Notice& notice) {
      notices.push_back(notice);
      network_.engine_.stop_by(network_.clock().cycles(later(notice.at, network_.reaction_time())));
    }
    /// One packet fewer to arrive: was it the last of its message?
    bool settles(Tag number) {
      if (network_.messages_[number].arriving.fetch_sub(1, std::memory_order_acq_rel) > 1) return false;
      settled.push_back(static_cast<std::uint32_t>(number));
      return true;
    }
    FlitNetwork& network_;
  };

  void gather(Listener& listener) {
    for (const Notice& notice : listener.notices) notices_.push(notice);
    listener.notices.clear();
    under_way_ -= listener.settled.size();
    // A message that lost packets keeps its number: some of it may never leave.
    for (std::uint32_t number : listener.settled)
      if (messages_[number].leaving == 0) free_numbers_.push_back(number);
    listener.settled.clear();
    under_way_ -= std::exchange(listener.left, 0);
    for (const auto& [number, round] : listener.ended) {
      under_way_ -= complete_[round];
      free_numbers_.push_back(number);
      if (--awaited_[round] == 0) {
        ReductionRound& over = engine_.reduction_rounds()[round];
        auto& open = open_[over.reduction];
        open[over.number % open.size()] = kNoRound;
        over.reduction = kNoReduction;
        free_rounds_.push_back(round);
      }
    }
    listener.ended.clear();
    for (unsigned flits = 1; flits < kFewFlits; ++flits)
      short_ends_[flits] -= std::exchange(listener.short_ends_left[flits], 0);
  }

  /// The same where ranks share the network: each tells the others, with every exchange of the engines, what
  /// its listeners have heard.
  void give(Ranks::Bytes& out) override {
    Told counts = {};
    for (auto& listener : listeners_) {
      for (unsigned flits = 1; flits < kFewFlits; ++flits)
        counts.short_ends[flits] += std::exchange(listener->short_ends_left[flits], 0);
      counts.settled += listener->settled.size();
      counts.losses += listener->losses.size();
    }
    put(out, counts);
    const auto give_all = [&](auto Listener::*list) {
      for (auto& listener : listeners_) {
        for (const auto& one : (*listener).*list) put(out, one);
        ((*listener).*list).clear();
      }
    };
    give_all(&Listener::settled);
    give_all(&Listener::losses);
    give_all(&Listener::notices);
  }

  /// All hear the same in the same order, and so know the same of all messages. Numbers of messages that lost
  /// packets are not used again.
  void take(RankReader reader) override {
    const auto they = reader.take<Told>();
    for (unsigned flits = 1; flits < kFewFlits; ++flits) short_ends_[flits] -= they.short_ends[flits];
    for (std::uint64_t i = 0; i < they.settled; ++i) settle(reader.take<std::uint32_t>());
    for (std::uint64_t i = 0; i < they.losses; ++i) {
      const auto number = reader.take<std::uint32_t>();
      Message& message = messages_[number];
      message.lost.store(true, std::memory_order_relaxed);
      lost_any_ = true;
      // Only where the message's destination is, all that arrived of it has been counted.
      if (message.arriving.fetch_sub(1, std::memory_order_relaxed) == 1) settled_late_.push_back(number);
    }
    while (reader.more()) notices_.push(reader.take<Notice>());
  }

  /// Messages whose last packet to be settled was a lost one, after a run.
  void settle_late() {
    if (!std::exchange(lost_any_, false)) return;
    Ranks::Bytes mine;
    put_all(mine, std::span<const std::uint32_t>(settled_late_));
    settled_late_.clear();
    std::vector<std::uint32_t> all;
    each_rank(*ranks_, mine, [&](const Ranks::Bytes& theirs) {
      for (RankReader reader(theirs); reader.more();) all.push_back(reader.take<std::uint32_t>());
    });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (std::uint32_t number : all) settle(number);
  }

  void settle(std::uint32_t number) {
    --under_way_;
    if (!messages_[number].lost.load(std::memory_order_relaxed)) free_numbers_.push_back(number);
  }

  /// A message handed over, up to its end. Its source's thread counts what leaves, its destination's what
  /// arrives; what is lost may be told of by either.
  struct Message {
    Tag tag = 0;
    std::uint32_t leaving = 0;       // packets
    unsigned last_flits = 0;         // of the last packet
    bool for_many = false;           // a packet for a group: each member's arrival is told
    std::uint32_t round = kNoRound;  // of a reduction it contributes to
    Time arrived{0};                 // the latest of its packets so far
    std::atomic<std::uint32_t> arriving = 0;
    std::atomic<bool> lost = false;
  };
  /// What of a message its source has not made packets of.
  struct Due {
    std::uint32_t number;
    EndpointId destination;
    std::uint8_t message_class;
    GroupNumber group;
    ReductionNumber reduction;
    std::uint32_t round;
    std::uint64_t left;  // flits
    Remainder remainder;
    Cycle at;
  };
  const topology::Graph& graph_;
  Ranks* const ranks_;  // who share the network, or null
  const Part part_;     // of it that is here
  std::uint64_t flit_;
  std::uint64_t largest_flits_;
  std::unique_ptr<LinkLayer> links_;
  Engine engine_;
  unsigned message_classes_;
  std::vector<std::deque<Due>> waiting_;  // by traffic class and source here
  std::vector<std::uint8_t> last_asked_;  // by source here: the class that had the last turn, of several
  std::deque<Message> messages_;          // by number; they stay where they are
  std::vector<std::uint32_t> free_numbers_;
  std::array<std::uint64_t, kFewFlits> short_ends_ = {};  // by flits: last packets that have not started
  std::vector<std::unique_ptr<Listener>> listeners_;      // by thread
  std::vector<Observer*> observers_;                      // the same
  std::priority_queue<Notice, std::vector<Notice>, std::greater<>> notices_;  // the first on top
  std::uint64_t under_way_ = 0;                                               // messages
  std::vector<std::uint32_t> settled_late_;       // on ranks: by a loss, as far as is known here
  bool lost_any_ = false;                         // the same, since the last run
  std::vector<std::vector<std::uint32_t>> open_;  // by reduction and number, going round: its rounds
  std::vector<std::uint32_t> awaited_;            // by round: members that have not been told of its end
  std::vector<bool> complete_;                    // by round: all have contributed
  std::vector<std::uint32_t> free_rounds_;
};

WEFT_REGISTER(EngineKind,
              {"flit", "every flit, buffer and credit, cycle by cycle: the reference",
               [](const machine::Machine& machine, const EngineOptions& options) -> std::unique_ptr<Network> {
                 return std::make_unique<FlitNetwork>(machine, options);
               },
               true, true});

}  // namespace

}  // namespace weft::network::flit
