#include "measure/run/run_power.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "power/operate/operation.hpp"

namespace weft::measure {

using power::Part;
using power::Role;

namespace {

constexpr unsigned kSlices = 64;

double seconds(Time t) { return static_cast<double>(t.value) * 1e-12; }

/// Bits that crossed interfaces, links and routers.
struct Traffic {
  double interface_bits = 0, link_bits = 0, router_bits = 0, packets = 0;
};

Traffic traffic_of(const ProgramResult& result, const RunDetails& details, const machine::Machine& machine) {
  Traffic out;
  double sent = 0;
  for (const nic::Counters& c : result.nics) {
    out.interface_bits += 8.0 * static_cast<double>(c.bytes_sent + c.bytes_received);
    out.packets += static_cast<double>(c.packets_sent);
    sent += 8.0 * static_cast<double>(c.bytes_sent);
  }
  // How many links a bit crosses is known of the transfers that were kept; those left out are taken for
  // alike.
  LinkLoads loads(machine);
  double bytes = 0, crossed = 0;
  for (const Transfer& transfer : details.transfers.all()) bytes += static_cast<double>(transfer.bytes);
  for (const LinkLoad& load : loads.between(details.transfers.all(), Time{0}, Time{INT64_MAX}))
    if (loads.between_routers(load.link)) crossed += static_cast<double>(load.bytes);
  out.link_bits = bytes > 0 ? sent * crossed / bytes : 0;
  out.router_bits = out.link_bits + sent;  // the first router is entered from an interface
  return out;
}

double bits_for(Role role, const Traffic& traffic) {
  switch (role) {
    case Role::Router:
      return traffic.router_bits;
    case Role::Interface:
      return traffic.interface_bits;
    case Role::Link:
      return traffic.link_bits;
    default:
      return 0;
  }
}

bool computes(Role role) {
  return role == Role::Processor || role == Role::Accelerator || role == Role::Memory;
}

/// Share of a rank's time, from the start to its end, in which it did not wait.
double busy_share(const ProgramResult& result) {
  double busy = 0, all = 0;
  for (const host::RankResult& rank : result.run.ranks) {
    busy += std::max(0.0, seconds(rank.end) - seconds(rank.waited));
    all += seconds(result.run.end);
  }
  return all > 0 ? busy / all : 0;
}

/// Adds an amount evenly from one place to another, both counted in slices; none lies past the last one.
void spread(std::vector<double>& slices, double amount, double from, double to) {
  const auto end = static_cast<double>(slices.size());
  to = std::min(to, end);
  from = std::min(from, to);
  for (auto i = static_cast<std::size_t>(from); i < slices.size() && static_cast<double>(i) < to; ++i) {
    const double overlap = std::min(to, static_cast<double>(i) + 1) - std::max(from, static_cast<double>(i));
    if (overlap > 0) slices[i] += amount * overlap / (to - from);
  }
}

/// The same for each slice of the run.
std::vector<double> busy_slices(const ProgramResult& result, const RankTimes& times) {
  std::vector<double> out(kSlices, 0);
  const double slice = seconds(result.run.end) / kSlices, fine = seconds(times.slice());
  if (times.ranks() == 0 || slice <= 0) return out;
  for (unsigned rank = 0; rank < times.ranks(); ++rank) {
    const double end = seconds(result.run.ranks[rank].end);
    for (unsigned i = 0; i < kSlices; ++i) out[i] += std::clamp((end - i * slice) / slice, 0.0, 1.0);
    for (unsigned i = 0; i < RankTimes::kSlices; ++i) {
      const double waited = seconds(times.in(RankTimes::Idle, rank, i));
      if (waited > 0) spread(out, -waited / slice, i * fine / slice, (i + 1) * fine / slice);
    }
  }
  for (double& share : out) share = std::clamp(share / times.ranks(), 0.0, 1.0);
  return out;
}

/// Share of all bytes that began to move in each slice.
std::vector<double> traffic_slices(const ProgramResult& result, const Transfers& transfers) {
  std::vector<double> out(kSlices, 0);
  double all = 0;
  for (const Transfer& transfer : transfers.all()) {
    const double place = seconds(transfer.begin) / std::max(seconds(result.run.end), 1e-15);
    out[std::min<std::size_t>(kSlices - 1, static_cast<std::size_t>(place * kSlices))] +=
        static_cast<double>(transfer.bytes);
    all += static_cast<double>(transfer.bytes);
  }
  if (all > 0)
    for (double& share : out) share /= all;
  return out;
}

/// How fast chips were in each slice.
std::vector<double> speed_slices(double seconds, const RunHeat& heat) {
  std::vector<double> out(kSlices, 1);
  std::size_t at = 0;
  for (unsigned i = 0; i < kSlices && !heat.moments.empty(); ++i) {
    const double middle = seconds * (i + 0.5) / kSlices;
    while (at + 1 < heat.moments.size() && heat.moments[at].seconds < middle) ++at;
    out[i] = heat.moments[at].mean_speed;
  }
  return out;
}

/// All nodes under the job's load for an hour.
void steady_state(const power::Body& body, RunPower& out) {
  power::operate::OperationOptions options;
  options.load = out.busy_share;
  options.samples = 60;
  options.calm_until = options.duration;
  power::Body one_bank = body;  // all nodes do the same, and need not be followed supply by supply
  one_bank.supply.shared = true;
  const power::operate::OperationResult hour = power::operate::Operation(one_bank, options).run();
  out.steady_chip_c = hour.samples.back().hottest_c;
  out.steady_speed = hour.samples.back().speed;
  out.chip_limit_c = hour.chip_limit_c;
  out.pue = hour.pue;
}

}  // namespace

double RunPower::total() const { return std::accumulate(joules.begin(), joules.end(), conversion); }

RunPower power_of(const ProgramResult& result, const RunDetails& details, const machine::Machine& machine,
                  const RunHeat& heat) {
  const power::Body& body = *machine.description.body;
  RunPower out;
  out.nodes = static_cast<unsigned>(result.nics.size());
  out.seconds = seconds(result.run.end);
  out.busy_share = busy_share(result);
  const Traffic traffic = traffic_of(result, details, machine);
  out.heat = heat;
  const std::vector<double> busy = busy_slices(result, details.times),
                            moved = traffic_slices(result, details.transfers),
                            speed = speed_slices(out.seconds, heat);
  out.slices.resize(kSlices);
  for (unsigned i = 0; i < kSlices; ++i) out.slices[i].seconds = out.seconds * i / kSlices;
  for (const Part& part : body.parts) {
    const auto role = static_cast<std::size_t>(part.role);
    const double count = out.nodes * part.per_node, idle = count * part.idle_watts;
    const double dynamic =
        bits_for(part.role, traffic) * part.pj_per_bit * 1e-12 +
        (bits_for(part.role, traffic) > 0 ? traffic.packets * part.nj_per_packet * 1e-9 : 0);
    const double full = computes(part.role) ? count * part.busy_watts : 0;
    out.joules[role] += (idle + full * out.busy_share * heat.mean_speed) * out.seconds + dynamic;
    for (unsigned i = 0; i < kSlices; ++i)
      out.slices[i].watts[role] += idle + full * busy[i] * speed[i] +
                                   (out.seconds > 0 ? dynamic * moved[i] * kSlices / out.seconds : 0);
  }
  const double parts = out.total();
  const double output = parts / body.supply.converter_efficiency;
  const double rating = body.supply.count * body.supply.watts * out.nodes / std::max(1u, body.nodes());
  const double share = out.seconds > 0 ? output / out.seconds / std::max(rating, 1e-9) : 0;
  out.conversion = output / body.supply.efficiency_at(share) - parts;
  steady_state(body, out);
  return out;
}

}  // namespace weft::measure
