#include "network/flit/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/barrier.hpp"

namespace weft::network::flit {

namespace {

HeaderQueues header_queues(const Fabric& fabric) {
  return {fabric.settings.local_headers, fabric.settings.buffer_flits, fabric.state.channels.size()};
}

}  // namespace

Engine::~Engine() = default;

Engine::Engine(const topology::Graph& graph, const routing::Routing& routing, Settings settings,
               LinkLayer* links)
    : fabric_(graph, std::move(settings), links != nullptr),
      routes_(fabric_, routing),
      sources_(graph.endpoints(), fabric_.part, fabric_.settings.most_packets, header_queues(fabric_),
               fabric_.settings),
      recovery_(fabric_, routes_, sources_, workers_),
      links_(links) {
  limit_window(fabric_.settings.tell_departures ? 1 : fabric_.longest_window);
  Ranks* const ranks = fabric_.settings.ranks;
  for (unsigned t = 0; t < fabric_.own_threads(); ++t)
    workers_.push_back(std::make_unique<Worker>(fabric_.first_thread + t, fabric_.shares[t]));
  if (ranks && ranks->count() > 1) {
    exchange_ = std::make_unique<Exchange>(fabric_, sources_, workers_, links_, *ranks);
    recovery_.join(*exchange_);
  }
  if (!links_) {
    // With a link layer an end of a cable belongs to a thread, and so does the tile it is at.
    for (std::size_t t = 0; t < workers_.size(); ++t)
      for (std::size_t k = 1; k < workers_.size(); ++k)
        workers_[t]->others.push_back(&workers_[(t + k) % workers_.size()]->tiles);
    return;
  }
  const auto ends = static_cast<std::uint32_t>(links_->ports().size());
  for (auto& worker : workers_) worker->ends.emplace(ends);
  const std::vector<unsigned> owners = fabric_.lead_through_links(links_->ports());
  for (EndNumber end = 0; end < ends; ++end)
    if (links_->is_here(end)) workers_[owners[end] - fabric_.first_thread]->ends->timers.set(end, 0);
}

void Engine::ask(EndpointId source, Cycle when) {
  for (auto& worker : workers_)
    if (source >= worker->share.endpoint_begin && source < worker->share.endpoint_end)
      worker->timers.set(source, std::max(when, now_));
}

void Engine::run(Traffic& traffic, const std::vector<Observer*>& observers, Cycle until, Cycle patience) {
  WEFT_CHECK(observers.size() == workers_.size());
  stop_ = false;
  stop_by_ = kNever;
  for (auto& worker : workers_) {
    worker->traffic = &traffic;
    worker->observer = observers[worker->index - workers_.front()->index];
    if (started_) continue;
    for (EndpointId e = worker->share.endpoint_begin; e < worker->share.endpoint_end; ++e)
      worker->timers.set(e, traffic.first(e));
  }
  started_ = true;
  do {
    if (recovery_.take_rerouted()) pipelines_.clear();
    if (pipelines_.empty())
      for (auto& worker : workers_)
        pipelines_.push_back(make_pipeline(fabric_, routes_, sources_, links_, *worker));
    run_threads(until, patience);
  } while (recovery_.rerouted() && now_ < until && !stalled_ && !stop_);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

/// Up to the end, or until routes change.
void Engine::run_threads(Cycle until, Cycle patience) {
  run_end_ = std::min(now_ + window_, until);
  auto going = [&] { return now_ < until && !stalled_ && !stop_ && !recovery_.rerouted(); };
  if (pipelines_.size() == 1) {
    while (going()) {
      pipelines_[0]->run(now_, run_end_);
      move_on(until, patience);
    }
    return;
  }
  Barrier meet(static_cast<std::uint32_t>(pipelines_.size()), [&] { move_on(until, patience); });
  auto work = [&](unsigned t) {
    while (going()) {
      pipelines_[t]->run(now_, run_end_);
      meet.arrive_and_wait();
    }
  };
  if (!team_) team_ = std::make_unique<ThreadTeam>(static_cast<unsigned>(pipelines_.size()));
  team_->run(work);
}

/// Between two cycles, with all threads at rest: the clock moves on, over cycles in which nothing can happen.
void Engine::move_on(Cycle until, Cycle patience) noexcept {
  now_ = run_end_;
  until = std::min(until, stop_by_.load(std::memory_order_relaxed));
  stop_ = now_ >= until;
  const Outlook ahead = agree(until);
  until = ahead.until;  // another rank may have been asked to stop
  stop_ = now_ >= until;
  const bool moved = ahead.moved != std::exchange(moved_, ahead.moved);
  if (ahead.aged) stalled_ = aged_ = true;
  if (links_) return follow_links(ahead, moved, until, patience);
  if (moved || ahead.in_network == 0) {
    moved_at_ = now_;
  } else if (now_ - moved_at_ > patience) {
    stalled_ = true;
  }
#ifndef NDEBUG
  check_conservation();
#endif
  // Who asked for a stop may have something to send from then on, so the clock must not run ahead of it.
  const Cycle next = stop_ ? now_ : std::min(until, ahead.next);
  if (next > now_ && next == until && ahead.in_network > 0 && !ahead.acts) stalled_ = true;
  if (!stalled_) now_ = next;
  stop_ = now_ >= until;
  run_end_ = std::min(now_ + window_, until);
}

/// What lies ahead, as far as all ranks know together; what goes from one to another is sent by it.
Outlook Engine::agree(Cycle until) {
  const Outlook own = outlook(until);
  return exchange_ ? exchange_->meet(now_, own) : own;
}

/// What lies ahead as far as this rank knows.
Outlook Engine::outlook(Cycle until) {
  Outlook out;
  out.until = until;
  for (auto& worker : workers_)
    out.moved +=
        worker->counters.flit_hops + worker->counters.flits_injected + worker->counters.flits_delivered;
  if (fabric_.settings.age_limit && now_ >= next_age_check_) {
    next_age_check_ = now_ + std::max<Cycle>(1, fabric_.settings.age_limit / 4);
    out.aged = look().older_than(fabric_.settings.age_limit, now_);
  }
  if (links_ && !exchange_) return out;  // follow_links() looks for itself
  out.in_network = flits_in_network();
  if (links_) {
    out.sending = links_->may_drain() && !recovery_.nobody_is_sending();
    out.links_busy = links_->links_busy();
  }
  if (stop_) return out;
  out.next = next_work(until);
  out.acts = out.next < until || !nobody_will_act();
  return out;
}

/// The first cycle, from now on to `until`, in which something arrives, goes on or is made. Before it, nobody
/// has anything to do.
Cycle Engine::next_work(Cycle until) const {
  Cycle next = until;
  for (const auto& worker : workers_)
    if (worker->ends) next = worker->ends->timers.next_due(now_, next);
  next = std::min(next, first_marked(now_, std::min<Cycle>(next, now_ + fabric_.state.slots)).value_or(next));
  for (const auto& worker : workers_) next = worker->timers.next_due(now_, next);
  return next;
}

/// The first cycle in which anything arrives or goes on at a tile. The slots of cycles lie behind each other,
/// so that all of them, up to the last slot, are searched at once.
std::optional<Cycle> Engine::first_marked(Cycle from, Cycle before) const {
  const State& state = fabric_.state;
  while (from < before) {
    const Cycle slot = from & (state.slots - 1), count = std::min(before - from, state.slots - slot);
    const Mark* const begin = &state.awake[slot * state.slot_inboxes];
    const void* const found =
        std::memchr(begin, static_cast<int>(Mark::kYes), count * std::size_t{state.slot_inboxes});
    if (found) return from + static_cast<Cycle>(static_cast<const Mark*>(found) - begin) / state.slot_inboxes;
    from += count;
  }
  return std::nullopt;
}

/// Nothing is under way and no endpoint names a time for its next packet.
bool Engine::nobody_will_act() const {
  return !std::memchr(fabric_.state.awake.data(), static_cast<int>(Mark::kYes), fabric_.state.awake.size()) &&
         std::none_of(workers_.begin(), workers_.end(),
                      [](const auto& worker) { return worker->timers.any(); });
}

std::uint64_t Engine::flits_in_network() const {
  std::uint64_t sum = 0;
  for (const auto& worker : workers_) sum += worker->in_network + worker->copied;
  return sum;
}

/// The clock moves on as without links that can fail, but stops wherever something may happen between cycles.
/// Ranks take the same steps: they know the same of all, and agree anew where packets have been moved.
void Engine::follow_links(Outlook ahead, bool moved, Cycle until, Cycle patience) noexcept {
  try {
    for (;;) {
      if (!exchange_) {
        ahead.in_network = flits_in_network();
        ahead.sending = links_->draining() && !recovery_.nobody_is_sending();
      }
      const bool moved_packets =
          links_->between_cycles(recovery_, now_, {moved, ahead.in_network, ahead.sending});
      const std::uint64_t in_network = ahead.in_network;
      if (exchange_ && moved_packets) ahead = agree(until);
      const bool busy =
          moved || in_network == 0 || links_->busy() || (exchange_ ? ahead.links_busy : links_->links_busy());
      if (busy)
        moved_at_ = now_;
      else if (now_ - moved_at_ > patience)
        stalled_ = true;
      if (stalled_ || stop_) break;
      Cycle next = std::min(until, links_->next_step(now_));
      if (in_network > 0 && patience < kNever - moved_at_) next = std::min(next, moved_at_ + patience + 1);
      next = exchange_ ? std::min(next, ahead.next) : next_work(next);
      if (next <= now_) break;
      now_ = next;
      moved = false;
    }
    stop_ = now_ >= until;
  } catch (...) {  // between cycles nobody can catch it; the end of the run can
    failure_ = std::current_exception();
    stop_ = true;
  }
  run_end_ = now_ + 1;
}

Counters Engine::counters() const {
  Counters sum;
  for (const auto& worker : workers_) {
    sum.flit_hops += worker->counters.flit_hops;
    sum.flits_injected += worker->counters.flits_injected;
    sum.flits_delivered += worker->counters.flits_delivered;
    sum.packets_created += worker->counters.packets_created;
    sum.packets_delivered += worker->counters.packets_delivered;
    sum.packets_lost += worker->counters.packets_lost;
    sum.packets_refused += worker->counters.packets_refused;
    sum.flits_refused += worker->counters.flits_refused;
  }
  return sum;
}

std::vector<Waiting> Engine::explain_stall() const {
  if (exchange_) return {};  // who waits for whom crosses ranks, and none of them sees it whole
  if (!aged_) return look().who_waits();
  // Not a standstill: the packet that has been in the network longest.
  Waiting oldest = *oldest_packet();
  oldest.reason += fmt::format("; it has been in the network for {} cycles, more than the {} allowed",
                               now_ - oldest.injected, fabric_.settings.age_limit);
  return {oldest};
}

void Engine::check_conservation() const {
  if (exchange_) return;  // what is between ranks is nobody's
  look().check_conservation(links_ ? std::nullopt : std::optional(flits_in_network()));
}

std::uint64_t Engine::bytes() const {
  return fabric_.bytes() + routes_.bytes() + sources_.senders.own_bytes();
}

}  // namespace weft::network::flit
