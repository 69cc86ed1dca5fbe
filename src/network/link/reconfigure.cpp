#include "network/link/reconfigure.hpp"

#include "base/check.hpp"

namespace weft::network::link {

Reconfigurer::Reconfigurer(const routing::RoutingKind& kind, const void* parameters,
                           const topology::Graph& graph, const topology::Faults& at_start,
                           const routing::VerifyOptions& how, const ReconfigureSettings& settings)
    : kind_(kind),
      parameters_(parameters),
      graph_(graph),
      at_start_(at_start),
      how_(how),
      settings_(settings),
      dead_(graph.cables()),
      applied_(graph.cables()),
      current_faults_(std::make_unique<topology::Faults>(at_start)) {
  // A machine starts with the routing it is described with, even where that leaves pairs without a way.
  current_.routing = kind.make(parameters, graph, *current_faults_);
  current_.name = kind.name;
}

void Reconfigurer::report(topology::CableId cable, bool dead, Cycle now) {
  if (dead_[cable] == dead) return;  // the other end has said so
  dead_[cable] = dead;
  fresh_ = true;
  if (phase_ != Phase::Steady) return;
  phase_ = Phase::Collecting;
  until_ = now + settings_.report;
}

void Reconfigurer::ask_for_routes(Cycle now) {
  asked_ = fresh_ = true;
  if (phase_ != Phase::Steady) return;
  phase_ = Phase::Collecting;
  until_ = now + settings_.report;
}

void Reconfigurer::compute() {
  fresh_ = asked_ = false;
  next_faults_ = std::make_unique<topology::Faults>(at_start_);
  for (topology::CableId c = 0; c < graph_.cables(); ++c)
    if (dead_[c]) next_faults_->kill_cable(c);
  next_ = routing::reroute(kind_, parameters_, graph_, *next_faults_, how_);
  applied_ = dead_;
}

Reconfigurer::Action Reconfigurer::step(Cycle now, bool empty, bool moved) {
  if (moved) moved_at_ = now;
  switch (phase_) {
    case Phase::Steady:
      return Action::None;
    case Phase::Collecting:
      if (now < until_) return Action::None;
      if (dead_ == applied_ && !asked_) {  // it came back while its report was under way
        phase_ = Phase::Steady;
        fresh_ = false;
        return Action::None;
      }
      phase_ = Phase::Draining;
      drain_since_ = moved_at_ = now;
      return Action::StopSending;
    case Phase::Draining: {
      bool stuck = now - moved_at_ >= settings_.quiet || now - drain_since_ >= settings_.longest_drain;
      if (!empty && !stuck) return Action::None;
      compute();
      phase_ = Phase::Writing;
      written_in_ =
          settings_.write ? settings_.write(*next_faults_) : settings_.write_per_router * graph_.routers();
      until_ = now + settings_.compute + settings_.prove + written_in_;
      return empty ? Action::None : Action::TakeBack;
    }
    case Phase::Writing:
      WEFT_CHECK(empty, "no packet is in the network while tables are written");
      if (now < until_) return Action::None;
      current_ = std::move(next_);
      current_faults_ = std::move(next_faults_);
      // What was reported meanwhile is the next round's.
      phase_ = fresh_ ? Phase::Collecting : Phase::Steady;
      until_ = now + settings_.report;
      return Action::Switch;
  }
  return Action::None;
}

}  // namespace weft::network::link
