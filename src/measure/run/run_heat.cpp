#include "measure/run/run_heat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/diagnostics.hpp"

namespace weft::measure {

namespace {

double seconds_of(Time t) { return static_cast<double>(t.value) * 1e-12; }

bool computes(power::Role role) { return role == power::Role::Processor || role == power::Role::Accelerator; }

constexpr std::size_t kMoments = 1024;

}  // namespace

JobHeat::JobHeat(const power::Body& body, const HeatOptions& options, std::vector<unsigned> nodes)
    : body_(body),
      options_(options),
      nodes_of_ranks_(std::move(nodes)),
      interval_(options.interval),
      lost_(nodes_of_ranks_.size(), 0) {
  using power::operate::Operation;
  power::operate::OperationOptions operation;
  operation.duration = options_.before + Time{86'400'000'000'000'000};  // nobody looks at its samples
  operation.load = options_.load;
  operation.samples = 60;
  operation.events = options_.events;
  eventful_ = !operation.events.empty() && operation.events.back().at >= options_.before;
  const bool undisturbed = operation.events.empty() || operation.events.front().at >= options_.before;
  if (undisturbed) operation.calm_until = options_.before;
  for (std::size_t i = 0; i < body.parts.size(); ++i)
    if (computes(body.parts[i].role)) parts_.push_back(i);
  operation_ = std::make_unique<Operation>(body_, operation);
  if (undisturbed) {
    power::Body one_bank = body_;
    one_bank.supply.shared = true;
    Operation alike(one_bank, operation);
    alike.advance(options_.before);
    // What shuts down all by itself does so supply by supply.
    if (!alike.result().shutdown) operation_->continue_from(alike);
  }
  operation_->advance(options_.before);
  log_at_start_ = operation_->log().size();
  add_nodes();
  if (const std::string why = stopped(); !why.empty())
    throw UserError(fmt::format("--power: the job cannot start: {}", why));
  out_.before_seconds = seconds_of(options_.before);
  out_.before_load = options_.load;
  out_.start_c = -1e9;
  look(0);
  out_.start_c = out_.hottest_c;
}

/// Chips start as those of their zone are.
void JobHeat::add_nodes() {
  std::map<unsigned, std::size_t> at;
  for (unsigned node : nodes_of_ranks_) {
    const auto [found, fresh] = at.emplace(node, nodes_.size());
    if (fresh) {
      JobNode added;
      added.node = node;
      added.zone = operation_->plant().zone_of(node);
      for (std::size_t part : parts_) added.chips.push_back(operation_->plant().chip(added.zone, part));
      nodes_.push_back(std::move(added));
    }
    ++nodes_[found->second].ranks;
    place_.push_back(found->second);
  }
}

void JobHeat::begin(std::span<double> slow) {
  for (std::size_t rank = 0; rank < slow.size(); ++rank) slow[rank] = 1 / nodes_[place_[rank]].speed;
}

/// What the ranks did becomes the load of their nodes, and of the zones those are in.
void JobHeat::load_nodes(std::span<const double> busy) {
  for (JobNode& node : nodes_) node.busy = 0;
  for (std::size_t rank = 0; rank < busy.size(); ++rank) nodes_[place_[rank]].busy += busy[rank];
  std::vector<double> zone_load(operation_->plant().zones(), 0), zone_nodes(zone_load.size(), 0);
  for (JobNode& node : nodes_) {
    node.busy /= node.ranks;
    zone_load[node.zone] += node.busy;
    ++zone_nodes[node.zone];
  }
  for (std::size_t zone = 0; zone < zone_load.size(); ++zone)
    if (zone_nodes[zone] > 0)
      operation_->set_job(zone, std::min(1.0, zone_nodes[zone] / operation_->plant().nodes_of_zone()),
                          zone_load[zone] / zone_nodes[zone]);
}

/// Of the interval that is over, at the speeds that held in it.
void JobHeat::account(double from, double until, std::span<const double> busy) {
  const double length = until - from;
  double work = 0, done = 0;
  for (std::size_t rank = 0; rank < busy.size(); ++rank) {
    const double speed = nodes_[place_[rank]].speed;
    work += busy[rank] * length;
    done += busy[rank] * length * speed;
    lost_[rank] += busy[rank] * length * (1 - speed);
  }
  out_.work_seconds += work;
  done_seconds_ += done;
  double least = 1;
  for (JobNode& node : nodes_) {
    least = std::min(least, node.speed);
    if (node.speed >= 1 || node.busy <= 0) continue;
    node.throttled = true;
    if (out_.throttled_from < 0) out_.throttled_from = from;
    out_.throttled_until = until;
    out_.least_speed = std::min(out_.least_speed, node.speed);
  }
  const RunHeat::Moment moment{until, out_.hottest_c, least, work > 0 ? done / work : least};
  if (in_last_ % merged_ == 0) {
    out_.moments.push_back(moment);
  } else {
    RunHeat::Moment& last = out_.moments.back();
    last.mean_speed += (moment.mean_speed - last.mean_speed) / (in_last_ % merged_ + 1);
    last.least_speed = std::min(last.least_speed, moment.least_speed);
    last.seconds = until;
  }
  ++in_last_;
}

void JobHeat::warm(double seconds) {
  power::thermal::Plant& plant = operation_->plant();
  plant.look_at_coolant();
  for (JobNode& node : nodes_)
    for (std::size_t i = 0; i < parts_.size(); ++i)
      node.chips[i] = plant.chip_after(node.chips[i], parts_[i], node.busy, seconds);
}

/// How warm the job's chips are, and how fast.
void JobHeat::look(double now) {
  double hottest = parts_.empty() ? operation_->plant().chip(0, 0).junction_c : -1e9;
  for (JobNode& node : nodes_) {
    node.speed = 1;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const power::Part& part = body_.parts[parts_[i]];
      node.speed = std::min(node.speed, part.speed(node.chips[i].junction_c));
      if (node.chips[i].junction_c > hottest) {
        hottest = node.chips[i].junction_c;
        if (hottest > out_.hottest_c || now == 0) out_.limit_c = part.limit_c;
      }
    }
  }
  if (hottest > out_.hottest_c || now == 0) {
    out_.hottest_c = hottest;
    out_.hottest_seconds = now;
  }
  if (!out_.moments.empty()) out_.moments.back().hottest_c = hottest;
  choose_interval();
}

/// While no chip can become too warm, whatever its node does, speeds stay as they are: intervals are longer
/// then, up to the controller's, which may find a reason to shut down.
void JobHeat::choose_interval() {
  double longest = eventful_ ? 0 : seconds_of(body_.controller.poll);
  for (const JobNode& node : nodes_)
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const power::Part& part = body_.parts[parts_[i]];
      const double kelvin_a_second = std::max(part.full_watts() / part.die_heat, 1e-6);
      longest = std::min(longest, (part.throttle_c - node.chips[i].junction_c) / kelvin_a_second);
    }
  const double steps = std::clamp(longest / seconds_of(options_.interval), 1.0, 1000.0);
  interval_ = Time{options_.interval.value * static_cast<std::int64_t>(steps)};
}

/// Why a node of the job does not run; empty where all do.
std::string JobHeat::stopped() const {
  for (const JobNode& node : nodes_) {
    if (operation_->node_computes(node.node)) continue;
    const power::operate::OperationResult result = operation_->result();
    const bool powered = operation_->plant().zone_inputs()[node.zone].powered;
    return fmt::format("node {} {}{}", node.node, powered ? "is held in reset" : "has no power",
                       result.shutdown ? ": " + result.shutdown_cause : "");
  }
  return "";
}

std::string JobHeat::pass(Time from, Time until, std::span<const double> busy, std::span<double> slow) {
  const double begin = seconds_of(from), end = seconds_of(until);
  load_nodes(busy);
  account(begin, end, busy);
  operation_->advance(options_.before + until);
  warm(end - begin);
  look(end);
  this->begin(slow);
  if (out_.moments.size() >= kMoments) {  // pairs of them become one, so that long runs need no more
    std::vector<RunHeat::Moment> half;
    for (std::size_t i = 0; i + 1 < out_.moments.size(); i += 2) {
      RunHeat::Moment m = out_.moments[i + 1];
      m.hottest_c = std::max(m.hottest_c, out_.moments[i].hottest_c);
      m.least_speed = std::min(m.least_speed, out_.moments[i].least_speed);
      m.mean_speed = (m.mean_speed + out_.moments[i].mean_speed) / 2;
      half.push_back(m);
    }
    out_.moments = std::move(half);
    merged_ *= 2;
  }
  return stopped();
}

RunHeat JobHeat::result() const {
  RunHeat out = out_;
  out.mean_speed = out.work_seconds > 0 ? done_seconds_ / out.work_seconds : 1;
  out.lost_seconds = out.work_seconds - done_seconds_;
  for (const JobNode& node : nodes_) out.throttled_nodes += node.throttled;
  for (std::uint32_t rank = 0; rank < lost_.size(); ++rank)
    if (lost_[rank] > out.most_lost_seconds) out.most_lost_seconds = lost_[rank], out.most_lost_rank = rank;
  const auto& log = operation_->log();
  for (std::size_t i = log_at_start_; i < log.size(); ++i) {
    out.log.push_back(log[i]);
    out.log.back().at = log[i].at - options_.before;
  }
  return out;
}

}  // namespace weft::measure
