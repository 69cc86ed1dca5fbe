// The flit engine as one of those that go cycle by cycle.
#include "network/cycle_engine.hpp"

#include <type_traits>
#include <utility>

#include "base/diagnostics.hpp"
#include "network/flit/engine.hpp"
#include "network/part.hpp"

namespace weft::network::flit {

namespace {

CycleFacts facts_of(const machine::Machine& m, const Settings& s) {
  CycleFacts out;
  out.cycle = s.cycle;
  out.message_classes = s.message_classes;
  out.cable_interval = s.cable_interval;
  out.buffer_flits.reserve(m.graph->ports());
  for (topology::PortId p = 0; p < m.graph->ports(); ++p) {
    topology::CableId cable = m.graph->port_cable(p);
    unsigned own =
        cable == topology::kNone || s.cable_buffer.empty() ? s.buffer_flits : s.cable_buffer[cable];
    out.buffer_flits.push_back(own * s.all_channels() + s.shared_flits);
  }
  return out;
}

Settings settings_of(const machine::Machine& m, const CycleOptions& options) {
  Settings s = settings_for(m, options.largest_packet_flits);
  s.threads = options.threads;
  s.ranks = options.ranks;
  s.seed = options.seed;
  s.most_packets = options.most_packets;
  s.source_queue = options.source_queue;
  s.age_limit = options.age_limit;
  return s;
}

static_assert(std::is_standard_layout_v<CycleCounters> && sizeof(CycleCounters) == 8 * sizeof(std::uint64_t),
              "counters are summed over ranks as a row of numbers");

class FlitCycleEngine final : public CycleEngine {
 public:
  FlitCycleEngine(const machine::Machine& m, const CycleOptions& options, const Settings& settings)
      : facts_(facts_of(m, settings)),
        links_(options.link_layer || LinkLayer::needed(m, options.faults)
                   ? std::make_unique<LinkLayer>(m, settings, options.faults)
                   : nullptr),
        engine_(*m.graph, *m.routing, settings, links_.get()),
        ranks_(settings.ranks),
        ports_(part_of(*m.graph, settings.ranks).ports) {}

  const CycleFacts& facts() const override { return facts_; }
  unsigned threads() const override { return engine_.threads(); }
  void run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) override {
    engine_.run(traffic, observers, until, patience);
  }
  Cycle now() const override { return engine_.now(); }
  bool stalled() const override { return engine_.stalled(); }
  std::vector<Waiting> explain_stall() const override { return engine_.explain_stall(); }
  CycleCounters counters() const override {
    CycleCounters own = engine_.counters();
    if (ranks_) ranks_->sum({&own.flit_hops, sizeof(CycleCounters) / sizeof(std::uint64_t)});
    return own;
  }
  void copy_sent(std::vector<std::uint64_t>& by_port) const override {
    by_port.resize(ports_.size());
    for (std::size_t i = 0; i < ports_.size(); ++i)
      by_port[i] = engine_.sent(static_cast<topology::PortId>(ports_.begin + i));
  }
  void copy_occupancy(std::vector<std::uint32_t>& by_port) const override {
    by_port.resize(ports_.size());
    for (std::size_t i = 0; i < ports_.size(); ++i)
      by_port[i] = engine_.occupancy(static_cast<topology::PortId>(ports_.begin + i));
  }
  LinkReport link_report() const override {
    if (!links_) return {};
    return {true,
            links_->timeline(),
            links_->records(),
            links_->taken_back(),
            links_->corrupted(),
            links_->routing_name(),
            links_->routes_changed()};
  }
  std::uint64_t bytes() const override { return engine_.bytes(); }
  std::uint64_t packet_bytes() const override { return PacketStore::kPacketBytes; }

 private:
  CycleFacts facts_;
  std::unique_ptr<LinkLayer> links_;  // of the cables that can fail
  Engine engine_;
  Ranks* ranks_;
  Run ports_;  // of this process
};

WEFT_REGISTER(CycleEngineKind,
              {"flit", "every flit, buffer and credit, cycle by cycle: the reference",
               [](const machine::Machine& m, unsigned largest) {
                 return facts_of(m, settings_for(m, largest));
               },
               [](const machine::Machine& m, const CycleOptions& options) -> std::unique_ptr<CycleEngine> {
                 return std::make_unique<FlitCycleEngine>(m, options, settings_of(m, options));
               },
               true, true});

}  // namespace

}  // namespace weft::network::flit
