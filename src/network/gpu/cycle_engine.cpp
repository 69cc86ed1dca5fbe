// The GPU engine as one of those that go cycle by cycle: on a device, or its host build.
#include "network/cycle_engine.hpp"

#include <algorithm>
#include <future>

#include "network/gpu/build.hpp"
#include "network/gpu/packets.hpp"

namespace weft::network::gpu {

namespace {

flit::Settings settings_of(const machine::Machine& m, const CycleOptions& options) {
  flit::Settings s = flit::settings_for(m, options.largest_packet_flits);
  s.seed = options.seed;
  s.source_queue = options.source_queue;
  s.threads = 1;
  return s;
}

class GpuEngine final : public CycleEngine {
 public:
  GpuEngine(const machine::Machine& m, const CycleOptions& options, std::unique_ptr<Backend> backend)
      : graph_(*m.graph),
        facts_(cycle_engine(kReferenceEngine).facts(m, options.largest_packet_flits)),
        age_limit_(options.age_limit),
        backend_(std::move(backend)),
        arena_(*backend_),
        network_(build(m, settings_of(m, options), arena_)),
        threads_(std::max(1u, options.threads)),
        packets_(*backend_, arena_, network_, threads_) {}

  const CycleFacts& facts() const override { return facts_; }
  unsigned threads() const override { return threads_; }
  void run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) override;
  Cycle now() const override { return control_.now; }
  bool stalled() const override { return stalled_; }
  std::vector<Waiting> explain_stall() const override { return {}; }
  CycleCounters counters() const override;
  void copy_sent(std::vector<std::uint64_t>& by_port) const override;
  void copy_occupancy(std::vector<std::uint32_t>& by_port) const override;
  LinkReport link_report() const override { return {}; }
  std::uint64_t bytes() const override { return arena_.bytes(); }
  std::uint64_t packet_bytes() const override { return kPacketBytes; }

 private:
  static constexpr std::uint64_t kPacketBytes = 100;  // on both sides

  void look(Cycle patience);
  std::uint64_t in_network() const { return control_.counts[kInjected] - control_.counts[kDelivered]; }

  const topology::Graph& graph_;
  CycleFacts facts_;
  const Cycle age_limit_;
  std::unique_ptr<Backend> backend_;
  Arena arena_;
  Network network_;
  const unsigned threads_;  // of the host
  Packets packets_;
  Control control_;            // as the backend left it
  std::uint64_t settled_ = 0;  // packets delivered or refused
  Cycle next_age_check_ = 0;
  bool started_ = false, stalled_ = false;
};

/// The host draws the packets of the next span, and tells of those of the last, while a device runs one.
void GpuEngine::run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) {
  WEFT_CHECK(observers.size() == threads_);
  if (stalled_) return;
  if (!started_) packets_.start(traffic);
  started_ = true;
  control_.known = true;  // a run begins with a window, whatever happens in it
  const auto draw = [&] {
    const Cycle from = std::max(control_.now, packets_.handed_to());
    if (from < until && !packets_.drawn_ahead())
      packets_.draw(traffic, std::min(until, std::max(packets_.ahead(from), from + network_.window)));
  };
  draw();
  while (control_.now < until && !stalled_) {
    const bool fresh = packets_.hand_in(control_.now);
    const Span span{until, packets_.handed_to(), patience,
                    age_limit_ ? std::max(next_age_check_, control_.now + 1) : kNever, fresh};
    control_.outcomes = 0;
    backend_->write(network_.control, &control_, sizeof control_);
    const Cycle before = control_.now;
    auto running = std::async(backend_->runs_elsewhere() ? std::launch::async : std::launch::deferred,
                              [&] { backend_->run(network_, span); });
    packets_.tell(observers);
    draw();
    running.get();
    backend_->read(&control_, network_.control, sizeof control_);
    settled_ += control_.outcomes;
    packets_.take_outcomes(control_.outcomes, control_.now);
    if (control_.now > before) look(patience);
  }
  packets_.tell(observers);
}

/// Between two windows, as the flit engine looks: is a packet too old, has nothing moved for too long?
void GpuEngine::look(Cycle patience) {
  if (age_limit_ && control_.now >= next_age_check_) {
    next_age_check_ = control_.now + std::max<Cycle>(1, age_limit_ / 4);
    if (packets_.older_than(age_limit_, control_.now)) stalled_ = true;
  }
  if (in_network() == 0)
    control_.moved_at = control_.now;
  else if (control_.now - control_.moved_at > patience)
    stalled_ = true;
}

CycleCounters GpuEngine::counters() const {
  CycleCounters out;
  out.flit_hops = control_.counts[kFlitHops];
  out.flits_injected = control_.counts[kInjected];
  out.flits_delivered = control_.counts[kDelivered];
  out.packets_created = control_.counts[kPacketsCreated];
  out.packets_refused = control_.counts[kPacketsRefused];
  out.flits_refused = control_.counts[kFlitsRefused];
  out.packets_delivered = settled_ - out.packets_refused;
  return out;
}

void GpuEngine::copy_sent(std::vector<std::uint64_t>& by_port) const {
  std::vector<u64> all(network_.all_ports);
  backend_->read(all.data(), network_.sent, all.size() * sizeof(u64));
  by_port.resize(graph_.ports());
  for (topology::PortId p = 0; p < graph_.ports(); ++p)
    by_port[p] = all[network_.port_at(graph_.port_router(p), graph_.port_index(p))];
}

void GpuEngine::copy_occupancy(std::vector<std::uint32_t>& by_port) const {
  std::vector<u32> all;
  backend_->occupancy(network_, all);
  by_port.resize(graph_.ports());
  for (topology::PortId p = 0; p < graph_.ports(); ++p)
    by_port[p] = all[network_.port_at(graph_.port_router(p), graph_.port_index(p))];
}

template <std::unique_ptr<Backend> (*Where)()>
CycleFacts facts_of(const machine::Machine& m, unsigned largest) {
  Where();  // is there a device?
  check(m, flit::settings_for(m, largest), {});
  return cycle_engine(kReferenceEngine).facts(m, largest);
}

template <std::unique_ptr<Backend> (*Where)()>
std::unique_ptr<CycleEngine> make(const machine::Machine& m, const CycleOptions& options) {
  check(m, flit::settings_for(m, options.largest_packet_flits), options);
  return std::make_unique<GpuEngine>(m, options, Where());
}

WEFT_REGISTER(CycleEngineKind, {"gpu-host", "the GPU engine's own code, run by the processor: to compare",
                                facts_of<host_backend>, make<host_backend>});
WEFT_REGISTER(CycleEngineKind, {"gpu", "the same on a CUDA device, for large machines",
                                facts_of<device_backend>, make<device_backend>});

}  // namespace

}  // namespace weft::network::gpu
